"""Building a service from settings: the one place that names a concrete store."""

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
from feedkeep.feeds.scheduler import FetchScheduler, noting_new
from feedkeep.feeds.sweep import SubscriptionSweep
from feedkeep.http.error_responses import MIGRATING, WAITING
from feedkeep.http.refusal import Refusal
from feedkeep.http.serving import serving_metrics
from feedkeep.model import Fetch, Now
from feedkeep.model.errors import StoreDamaged, StoreMisconfigured, StoreUnavailable, StoreUnusable
from feedkeep.rules.database_restores import restored
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
"""How many new feeds a command notes before it ends: a hundred take a second."""

RETRY_SECONDS = 0.5
"""How soon a database that is away is asked again."""

Meanwhile: TypeAlias = Callable[[Refusal], AbstractAsyncContextManager[None]]
"""Returns the context in which a database is waited for or migrated; requests get the refusal."""

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
    """Open the database that the settings name, bring it up to date, and give a service on it.

    If this `waits`, it waits for a PostgreSQL that is away, and that and a migration are in the
    context that `meanwhile` returns. `recorder` counts what they do, if it is given. Raises as
    `open_store` does.
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
        settings.workers,
        settings.max_subscriptions,
        settings.registration,
        settings.history_days,
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
    """Give a service on a copy of a backup, which is brought up to date and removed afterwards.

    The backup itself stays as it is.

    Raises:
        StoreUnusable: It is no backup, is damaged, or was made by a newer version.
        StoreUnavailable: The disk has no room for a copy of it.
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
    """Serve within this context what `recorder` has counted, where metrics are wanted.

    Of several processes, one `counts_what_is_stored`, too.
    """
    if recorder is None or listener is None:
        yield
        return
    # Prometheus' client is imported late: who has no metrics starts sooner.
    from feedkeep.metrics.counting import Counting  # noqa: PLC0415
    from feedkeep.metrics.exposition import register  # noqa: PLC0415
    from feedkeep.metrics.page import MetricsPage  # noqa: PLC0415
    from feedkeep.metrics.readiness import Readiness  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        counting = None
        if counts_what_is_stored:
            counting = await stack.enter_async_context(Counting(service.store, service.now))
        readiness = Readiness(service.store)
        register(recorder, service.store, readiness, counting)
        page = MetricsPage(recorder.registry, readiness.ask)
        await stack.enter_async_context(serving_metrics(page, listener))
        yield


def fetching(
    service: Service,
    settings: Settings,
    recorder: Recorder | None = None,
    *,
    is_first: bool = True,
) -> AbstractAsyncContextManager[object]:
    """Return the context in which the feeds of a service are looked at.

    Of several processes that share a file, the first one does so for all of them.
    """
    store, now, fetch = service.store, service.now, settings.fetch
    sweep = SubscriptionSweep(store, service.new_feeds, service.followed_moves, now, fetch)
    shares_file = settings.workers > 1 and not is_postgres(settings.database)
    if shares_file and not is_first:
        return noting_new(store, sweep, fetch)
    return FetchScheduler(
        store,
        sweep,
        FetcherProcess(settings),
        now,
        fetch,
        settings.fetch_connections,
        recorder,
        is_for_others=shares_file,
    )


@asynccontextmanager
async def leaving_new_feeds(service: Service, settings: Settings) -> AsyncIterator[None]:
    """Note at the end of this context which feeds a command has added, for the serving process.

    That looks at them within half a minute. Those beyond `_MAX_LEFT`, and all of them if the store
    is away by then, it finds on its next round.
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
    """Open the database that the settings name, and bring it up to date.

    Raises what `before_migrating` raises.

    Raises:
        InvalidSettings: The URL is not that of a database.
        StoreUnusable: The database cannot be opened, is not feedkeep's, was written by a newer
            feedkeep, or does not exist and may not be created.
        StoreUnavailable: It is locked, full or away.
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
    """Return the pending migrations without running them.

    Raises as `open_store` does for a database that may not be created.
    """
    if is_postgres(settings.database):
        return pending_migrations("postgres", await _postgres().version(settings.database))
    path = sqlite_path(settings.database)
    assert_there(path)
    return await asyncio.to_thread(pending_in, path)


def refusing_to_migrate(settings: Settings) -> BeforeMigrating:
    """Return what keeps an older database as it is: it raises `StoreUnusable`, with what to do."""

    async def refuse(pending: PendingMigrations) -> None:
        first = "Run" if pending.older_programs_work else "Stop the service, and run"
        raise StoreUnusable(
            f"{shown(settings.database)} has version {pending.found} of the schema, and this"
            f" feedkeep needs version {pending.steps[-1].number}. {first} `feedkeep migrate`, or"
            " restart the service, which does the same."
        )

    return refuse


def refuse_if_in_use(settings: Settings) -> None:
    """Return if nothing uses the SQLite file that the settings name; PostgreSQL is not asked.

    Raises:
        StoreUnusable: There is no such file, or something uses it.
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
    """Do what `open_store` does, and wait for as long as a PostgreSQL database is away.

    The log tells each reason once, and at the end how long it took.

    Raises as `open_store` does, for what waiting does not mend: a wrong password among them.
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
                    _log.warning("the database is there", duration_seconds=seconds)
                return store


def back_up(
    settings: Settings,
    target: Path,
    *,
    believe_checksums: bool = True,
    now: Now = wall_clock.now,
) -> None:
    """Copy the database to a file, also while it is used; the arguments are those of `copy_file`.

    When it began is noted beside the database, for administrators.

    Raises:
        StoreUnusable: It is not a SQLite file, is damaged, or `target` exists or cannot be created.
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
    now: Now = wall_clock.now,
) -> tuple[Path, list[Path]]:
    """Do what `back_up` does, to a file in a folder that is there; then remove what it replaces.

    Returns the new backup, and those that `superseded` named, which are gone.

    Raises as `back_up` does, and then removes nothing.

    Raises:
        StoreUnusable: Also if a backup cannot be removed.
    """
    if not folder.is_dir():
        raise StoreUnusable(f"There is no folder {folder}; make it first.")
    newest = now()
    target = folder / backup_name(newest)
    back_up(settings, target, believe_checksums=believe_checksums, now=lambda: newest)
    there = backups_in(folder)
    removed = [there[stamp] for stamp in superseded(there, newest, keep_daily, keep_weekly)]
    for backup in sorted(removed):
        remove(backup)
    return target, sorted(removed)


def restore(settings: Settings, source: Path, now: Now = wall_clock.now) -> None:
    """Copy a backup to where the settings name a database, and note that in each account.

    Raises as `back_up` does.

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
    """Open the PostgreSQL database that the settings name; raises as `open_store` does."""
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
