"""What the tests of the pages share."""

from __future__ import annotations

from collections.abc import Iterator

import page_client
import pytest


@pytest.fixture(autouse=True)
def _all_browsers_are_closed() -> Iterator[None]:
    yield
    page_client.close_all()
