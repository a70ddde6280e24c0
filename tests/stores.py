"""Every store that there is, for the tests that run on each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from postgres_server import drop_database, new_database

from feedkeep import wall_clock
from feedkeep.model import Now
from feedkeep.store.base import Store
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.sqlite import SqliteStore

OpenStore = Callable[..., AbstractAsyncContextManager[Store]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "feedkeep.db"


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    url = new_database(postgres)
    yield url
    drop_database(postgres, url)


@pytest.fixture(params=["sqlite", "postgres", "postgres, one account a statement"])
def open_store(request: pytest.FixtureRequest) -> OpenStore:
    """Opens a store on a database that is empty at first, as often as wanted."""
    if request.param == "sqlite":
        path: Path = request.getfixturevalue("path")
        return _opening(lambda now: SqliteStore.open(path, now))
    url: str = request.getfixturevalue("database")
    one_account = request.param != "postgres"
    return _opening(lambda now: PostgresStore.open(url, 8, now, one_account=one_account))


def _opening(open_store: Callable) -> OpenStore:
    @asynccontextmanager
    async def opened(now: Now = wall_clock.now) -> AsyncIterator[Store]:
        store = await open_store(now)
        try:
            yield store
        finally:
            await store.close()

    return opened
