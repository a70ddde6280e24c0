"""Fixtures shared by the tests of requests to other hosts: a web, and two of its hosts."""

import pytest
from web_of_hosts import web

__all__ = ["web"]


@pytest.fixture
def a(web):
    return web.host("a.example")


@pytest.fixture
def b(web):
    return web.host("b.example")
