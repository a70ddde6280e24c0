"""What the tests of signing in with a provider share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fake_provider import FakeProvider, settings_for
from feedkeep_process import FeedkeepProcess


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as fake:
        yield fake


@pytest.fixture
def service(provider: FakeProvider, tmp_path: Path) -> Iterator[FeedkeepProcess]:
    with FeedkeepProcess(tmp_path, **settings_for(provider)) as process:
        process.new_account()  # the first one is not what is looked at here
        yield process


@pytest.fixture
def browser(service: FeedkeepProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.base_url) as client:
        yield client
