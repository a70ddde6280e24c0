"""Fixtures shared by the tests of Nextcloud's interface."""

from contextlib import ExitStack

import httpx
import pytest
from browser import Owner
from feedkeep_process import from_elsewhere

PASSWORD = "a good passphrase"


@pytest.fixture(scope="session")
def password_name(feedkeep):
    """An account with a password, which all tests of a store share: each hash takes its time."""
    return feedkeep.new_account(PASSWORD)


@pytest.fixture
def owner(feedkeep, password_name):
    return Owner(feedkeep, password_name, PASSWORD)


@pytest.fixture
def app(feedkeep):
    """An app that has no credentials yet; it keeps no cookies and is no browser."""
    headers = {"User-Agent": "AntennaPod/3.9.0", **from_elsewhere()}
    with httpx.Client(base_url=feedkeep.base_url, headers=headers, timeout=30) as client:
        yield client


@pytest.fixture
def browser(feedkeep):
    with httpx.Client(base_url=feedkeep.base_url, headers=from_elsewhere(), timeout=30) as client:
        yield client


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack
