"""What all tests share: a real service in a process of its own, and clients that talk to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess


@pytest.fixture(scope="session")
def feedkeep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeedkeepProcess]:
    """One service that all tests share; each test has accounts of its own."""
    with FeedkeepProcess(tmp_path_factory.mktemp("feedkeep")) as process:
        yield process


@pytest.fixture
def api(feedkeep: FeedkeepProcess) -> Iterator[httpx.Client]:
    """A client of a fresh account."""
    with feedkeep.client(feedkeep.new_account()) as client:
        yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
