"""The store suite runs on every store that there is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from feedkeep.store.base import Store
from feedkeep.store.sqlite import SqliteStore

OpenStore = Callable[[], AbstractAsyncContextManager[Store]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "feedkeep.db"


@pytest.fixture
def open_store(path: Path) -> OpenStore:
    """Opens a store on a database that is empty at first, as often as wanted."""

    @asynccontextmanager
    async def open_it() -> AsyncIterator[Store]:
        store = await SqliteStore.open(path)
        try:
            yield store
        finally:
            await store.close()

    return open_it
