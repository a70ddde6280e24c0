"""Assembly of the service from settings; the only module that names concrete stores."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import structlog

from feedkeep.config.settings import Settings, is_postgres, shown, sqlite_path
from feedkeep.feeds.fetcher_process import FetcherProcess
from feedkeep.feeds.first_looks import FirstLooks
from feedkeep.feeds.scheduler import FetchScheduler, noting_new
from feedkeep.feeds.sweep import SubscriptionSweep
from feedkeep.http.error_responses import MIGRATING, WAITING
from feedkeep.http.responses import Refusal
from feedkeep.http.serving import serving_metrics
from feedkeep.model import Fetch, Now
from feedkeep.model.errors import StoreDamaged, StoreMisconfigured, StoreUnavailable, StoreUnusable
from feedkeep.rules.database_restores import restored
from feedkeep.rules.fetch_order import FetchLimits
from feedkeep.rules.list_limits import limits_for
from feedkeep.runtime import wall_clock
from feedkeep.runtime.recorder import Recorder
from feedkeep.security.tokens import new_epoch
from feedkeep.service import Service
from feedkeep.service.backup_rotation import superseded
from feedkeep.store.backups import backup_name, backups_in, remove
from feedkeep.store.base import Store
from feedkeep.store.migrate import (
    BeforeMigrating,
    PendingMigrations,
    migrate_at_once,
    pending_migrations,
)
from feedkeep.store.sqlite import (
    SqliteStore,
    assert_there,
    assert_unused,
    copy_file,
    note_backup,
    pending_in,
    restore_file,
)

if TYPE_CHECKING:
    from feedkeep.store.postgres import PostgresStore

_MAX_LEFT = 500
"""Maximum number of new feeds that a command records before it exits; a hundred take a second."""

RETRY_SECONDS = 0.5
"""Interval between attempts to reach an unavailable database."""

Meanwhile: TypeAlias = Callable[[Refusal], AbstractAsyncContextManager[None]]
"""Returns a context manager for waiting or migrating, in which requests get the refusal."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


def _unanswered(_: Refusal) -> AbstractAsyncContextManager[None]:
    return nullcontext()


@asynccontextmanager
async def open_service(
    settings: Settings,
    *,
    may_create: bool = True,
    waits: bool = False,
    meanwhile: Meanwhile = _unanswered,
    before_migrating: BeforeMigrating = migrate_at_once,
    now: Now = wall_clock.now,
    recorder: Recorder | None = None,
) -> AsyncIterator[Service]:
    """Context manager: open the configured database, migrate it, and run a service on it.

    With `waits`, waits for an unavailable PostgreSQL database; that wait and a migration run inside
    the context manager that `meanwhile` returns. Raises as `open_store`.
    """
    if waits:
        store = await open_store_once_there(
            settings, meanwhile, before_migrating=before_migrating, now=now, recorder=recorder
        )
    else:
        store = await open_store(
            settings,
            may_create=may_create,
            before_migrating=before_migrating,
            now=now,
            recorder=recorder,
        )
    service = Service(
        store,
        now,
        limits_for(settings.max_subscriptions),
        settings.history_days,
        settings.workers,
        settings.registration,
        recorder,
        f"{settings.public_url.rstrip('/')}/apps/connect"
        if settings.app_passwords_only or not settings.password_login
        else "",
    )
    try:
        yield service
    finally:
        await service.close()


@asynccontextmanager
async def open_backup(source: Path) -> AsyncIterator[Service]:
    """Context manager: run a service on a migrated, temporary copy of a backup.

    Raises:
        StoreUnusable: The file is not a backup, is damaged, or was made by a newer version.
        StoreUnavailable: The disk has no space for the copy.
    """
    with TemporaryDirectory(prefix="feedkeep-") as folder:
        copy = Path(folder) / "backup.db"
        try:
            copy_file(source, copy)
        except StoreDamaged as error:
            raise StoreUnusable(f"{source} is damaged; take another backup.") from error
        async with open_service(Settings(database=f"sqlite:///{copy}")) as service:
            yield service


@asynccontextmanager
async def telling_metrics(
    service: Service,
    recorder: Recorder | None,
    listener: socket.socket | None,
    *,
    counts_what_is_stored: bool,
) -> AsyncIterator[None]:
    """Context manager: serve the counts of `recorder` as metrics, if both arguments are given.

    One of several processes `counts_what_is_stored` for all.
    """
    if recorder is None or listener is None:
        yield
        return
    # Imported late: a process without metrics starts sooner.
    from feedkeep.metrics.counting import Counting, Readiness  # noqa: PLC0415
    from feedkeep.metrics.exposition import MetricsPage, register  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        counting = None
        if counts_what_is_stored:
            counting = await stack.enter_async_context(Counting(service.store, service.now))
        readiness = Readiness(service.store)
        register(recorder, service.store, readiness, counting)
        page = MetricsPage(recorder.registry, readiness.ask)
        await stack.enter_async_context(serving_metrics(page, listener))
        yield


@asynccontextmanager
async def fetching(
    service: Service,
    settings: Settings,
    recorder: Recorder | None = None,
    *,
    is_first: bool = True,
) -> AsyncIterator[FirstLooks]:
    """Context manager: fetch the feeds of a service, and look at addresses for its pages.

    Of several processes that share a file, the first one fetches for all; each one looks.
    """
    store, now, fetch = service.store, service.now, settings.fetch
    fetcher, limits = FetcherProcess(settings), FetchLimits()
    sweep = SubscriptionSweep(store, service.new_feeds, service.followed_moves, now, fetch)
    shares_file = settings.workers > 1 and not is_postgres(settings.database)
    fetches: AbstractAsyncContextManager[object]
    if shares_file and not is_first:
        fetches = noting_new(store, sweep, fetch)
    else:
        fetches = FetchScheduler(
            store,
            sweep,
            fetcher,
            now,
            fetch,
            settings.fetch_connections,
            recorder,
            is_for_others=shares_file,
            limits=limits,
        )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(fetcher.close)
        await stack.enter_async_context(fetches)
        yield await stack.enter_async_context(FirstLooks(fetcher, limits, now, fetch))


@asynccontextmanager
async def leaving_new_feeds(service: Service, settings: Settings) -> AsyncIterator[None]:
    """Context manager: at its end, record feeds that a command has added, for the serving process.

    That process fetches them within half a minute. Feeds beyond `_MAX_LEFT`, or all feeds if the
    store is unavailable, are found by its next sweep.
    """
    if settings.fetch is Fetch.OFF:
        yield
        return
    new, moves = service.new_feeds, service.followed_moves
    new.keep()
    yield
    sweep = SubscriptionSweep(service.store, new, moves, service.now, settings.fetch)
    with suppress(StoreUnavailable):
        await sweep.note_now(_MAX_LEFT)


async def open_store(
    settings: Settings,
    *,
    may_create: bool = True,
    before_migrating: BeforeMigrating = migrate_at_once,
    now: Now = wall_clock.now,
    recorder: Recorder | None = None,
) -> Store:
    """Open the configured database and migrate it; raises what `before_migrating` raises.

    Raises:
        InvalidSettings: The URL does not name a database.
        StoreUnusable: The database cannot be opened, belongs to another program, was written by a
            newer feedkeep, or does not exist and may not be created.
        StoreUnavailable: The database is locked, full or unreachable.
    """
    if is_postgres(settings.database):
        return await open_postgres(
            settings,
            may_create=may_create,
            before_migrating=before_migrating,
            now=now,
            recorder=recorder,
        )
    return await SqliteStore.open(
        sqlite_path(settings.database),
        now,
        may_create=may_create,
        before_migrating=before_migrating,
        recorder=recorder,
    )


async def pending_migrations_of(settings: Settings) -> PendingMigrations:
    """Return the pending migrations without running them; raises as `open_store` does.

    A missing database is not created.
    """
    if is_postgres(settings.database):
        return pending_migrations("postgres", await _postgres().version(settings.database))
    path = sqlite_path(settings.database)
    assert_there(path)
    return await asyncio.to_thread(pending_in, path)


def refusing_to_migrate(settings: Settings) -> BeforeMigrating:
    """Return a hook that refuses to migrate: it raises `StoreUnusable` with instructions."""

    async def refuse(pending: PendingMigrations) -> None:
        first = "Run" if pending.older_programs_work else "Stop the service, and run"
        raise StoreUnusable(
            f"{shown(settings.database)} has version {pending.found} of the schema, and this"
            f" feedkeep needs version {pending.steps[-1].number}. {first} `feedkeep migrate`, or"
            " restart the service, which does the same."
        )

    return refuse


def refuse_if_in_use(settings: Settings) -> None:
    """Raise if the configured SQLite file is in use; PostgreSQL is not checked.

    Raises:
        StoreUnusable: The file is missing or in use.
    """
    if not is_postgres(settings.database):
        path = sqlite_path(settings.database)
        assert_there(path)
        assert_unused(path)


async def open_store_once_there(
    settings: Settings,
    meanwhile: Meanwhile,
    *,
    before_migrating: BeforeMigrating = migrate_at_once,
    now: Now = wall_clock.now,
    recorder: Recorder | None = None,
) -> Store:
    """Open the store, and wait while a PostgreSQL database is unavailable.

    Each reason for waiting is logged once, and the total time at the end.

    Raises as `open_store` for errors that waiting does not resolve, such as a wrong password.
    """
    began = time.monotonic()
    told: set[str] = set()
    answered: Refusal | None = None
    async with AsyncExitStack() as waiting:

        async def answer(refusal: Refusal) -> None:
            nonlocal answered
            if refusal is not answered:
                answered = refusal
                await waiting.aclose()
                await waiting.enter_async_context(meanwhile(refusal))

        async def migrating(pending: PendingMigrations) -> None:
            await before_migrating(pending)
            await answer(MIGRATING)

        while True:
            try:
                store = await open_store(
                    settings, before_migrating=migrating, now=now, recorder=recorder
                )
            except StoreMisconfigured:
                raise
            except StoreUnavailable as error:
                if not is_postgres(settings.database):
                    raise
                await answer(WAITING)
                if (reason := str(error)) not in told:
                    told.add(reason)
                    _log.warning("waiting for the database", reason=reason)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                if told:
                    seconds = round(time.monotonic() - began, 1)
                    _log.warning("database available", duration_seconds=seconds)
                return store


def back_up(
    settings: Settings,
    target: Path,
    *,
    believe_checksums: bool = True,
    now: Now = wall_clock.now,
) -> None:
    """Copy the database to a file, also while it is in use; arguments as for `copy_file`.

    The start time is recorded beside the database, for administrators.

    Raises:
        StoreUnusable: The database is not a SQLite file, is damaged, or `target` exists or cannot
            be created.
        StoreUnavailable: The disk is full, or the database is locked.
    """
    source = _sqlite_file(settings, "pg_dump backs it up")
    assert_there(source)
    began = now()
    copy_file(source, target, believe_checksums=believe_checksums)
    note_backup(source, began)


def back_up_into(
    settings: Settings,
    folder: Path,
    keep_daily: int,
    keep_weekly: int,
    *,
    believe_checksums: bool = True,
) -> tuple[Path, list[Path]]:
    """Back up into an existing folder, as `back_up`, then delete superseded backups.

    Returns the new backup and the deleted ones. Nothing is deleted if the backup fails.

    Raises:
        StoreUnusable: Also if a backup cannot be deleted.
    """
    if not folder.is_dir():
        raise StoreUnusable(f"There is no folder {folder}; make it first.")
    newest = wall_clock.now()
    target = folder / backup_name(newest)
    back_up(settings, target, believe_checksums=believe_checksums, now=lambda: newest)
    there = backups_in(folder)
    removed = [there[stamp] for stamp in superseded(there, newest, keep_daily, keep_weekly)]
    for backup in sorted(removed):
        remove(backup)
    return target, sorted(removed)


def restore(settings: Settings, source: Path, now: Now = wall_clock.now) -> None:
    """Copy a backup to the configured database file, and record the restore in each account.

    Raises as `back_up`.

    Raises:
        StoreUnusable: Also if the database exists or is in use.
    """
    target = _sqlite_file(settings, "pg_restore fills it")
    moment, epoch = now(), new_epoch()
    restore_file(source, target, lambda account, newest: restored(account, newest, moment, epoch))


def _sqlite_file(settings: Settings, otherwise: str) -> Path:
    if is_postgres(settings.database):
        raise StoreUnusable(f"That is a PostgreSQL database: {otherwise}; see docs/backup.md.")
    return sqlite_path(settings.database)


async def open_postgres(
    settings: Settings,
    *,
    may_create: bool = True,
    before_migrating: BeforeMigrating = migrate_at_once,
    now: Now = wall_clock.now,
    recorder: Recorder | None = None,
) -> PostgresStore:
    return await _postgres().open(
        settings.database,
        settings.postgres_connections,
        now,
        may_create=may_create,
        before_migrating=before_migrating,
        recorder=recorder,
    )


def _postgres() -> type[PostgresStore]:
    try:
        from feedkeep.store.postgres import PostgresStore  # noqa: PLC0415 - an optional extra
    except ModuleNotFoundError as error:
        raise StoreUnusable(
            f"PostgreSQL needs one more package: {sys.executable} -m pip install"
            ' "feedkeep[postgres]".'
        ) from error
    return PostgresStore
