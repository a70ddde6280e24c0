"""Every store that there is, for the tests that run on each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from forms import in_the_long_form
from postgres_server import drop_database, execute, new_database

from feedkeep.model import Now, Snapshot, replace
from feedkeep.rules.list_limits import MAX_SUBSCRIPTIONS, limits_for
from feedkeep.rules.undo import HISTORY_DAYS
from feedkeep.runtime import wall_clock
from feedkeep.service import Service
from feedkeep.store.base import Store
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.sqlite import SqliteStore

LIMITS = limits_for(MAX_SUBSCRIPTIONS)

service_on = partial(Service, limits=LIMITS, history_days=HISTORY_DAYS)

OpenStore = Callable[..., AbstractAsyncContextManager[Store]]


def limited(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot of a store with limits, as the service gives it to a rule."""
    return replace(snapshot, limits=LIMITS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "feedkeep.db"


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    url = new_database(postgres)
    yield url
    drop_database(postgres, url)


_EMPTY_ALL_TABLES = """
DO $$
DECLARE
    tables text;
BEGIN
    SELECT string_agg(format('feedkeep.%I', relname), ', ') INTO tables FROM pg_class
    WHERE relnamespace = to_regnamespace('feedkeep') AND relkind = 'r'
        AND relname <> 'schema_version';
    IF tables IS NOT NULL THEN
        SET LOCAL lock_timeout = '20s';
        EXECUTE 'TRUNCATE ' || tables || ' RESTART IDENTITY';
    END IF;
END $$
"""


@pytest.fixture(scope="session")
def shared_database(postgres: str) -> Iterator[str]:
    """A PostgreSQL database for one test after the other: to make a new one costs more than most.

    Who changes its schema asks for `database` instead.
    """
    url = new_database(postgres)
    yield url
    drop_database(postgres, url)


@pytest.fixture
def emptied_database(shared_database: str) -> Iterator[str]:
    """The URL of a PostgreSQL database that is up to date, or has no table yet, and has no row."""
    yield shared_database
    execute(shared_database, _EMPTY_ALL_TABLES)


AS_IF_SPLIT = pytest.param("postgres, as on a cluster", marks=in_the_long_form)


@pytest.fixture(params=["sqlite", "postgres", AS_IF_SPLIT])
def open_store(request: pytest.FixtureRequest) -> OpenStore:
    """Opens a store on a database that is empty at first, as often as wanted."""
    return _opener(request)


@pytest.fixture(name="open_store", params=["sqlite"])
def open_store_of_one_kind(request: pytest.FixtureRequest) -> OpenStore:
    """Opens stores of one kind, for tests of other things than storage."""
    return _opener(request)


def _opener(request: pytest.FixtureRequest) -> OpenStore:
    if request.param == "sqlite":
        path: Path = request.getfixturevalue("path")
        return _opening(lambda now: SqliteStore.open(path, now))
    own = "database" in request.fixturenames
    url: str = request.getfixturevalue("database" if own else "emptied_database")
    as_if_split = request.param != "postgres"
    return _opening(lambda now: PostgresStore.open(url, 8, now, as_if_split=as_if_split))


def _opening(open_store: Callable) -> OpenStore:
    @asynccontextmanager
    async def opened(now: Now = wall_clock.now) -> AsyncIterator[Store]:
        store = await open_store(now)
        try:
            yield store
        finally:
            await store.close()

    return opened


@pytest.fixture
async def store(request: pytest.FixtureRequest, open_store: OpenStore) -> AsyncIterator[Store]:
    """A store of each kind, with the accounts that the module lists as `ACCOUNTS`."""
    async with open_store() as store:
        for account in getattr(request.module, "ACCOUNTS", ()):
            await store.accounts.create(account, account.name.lower())
        yield store
