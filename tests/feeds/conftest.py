"""What tests of feeds share: a web of hosts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from web_of_hosts import WebOfHosts


@pytest.fixture
def web() -> Iterator[WebOfHosts]:
    with WebOfHosts() as web:
        yield web
