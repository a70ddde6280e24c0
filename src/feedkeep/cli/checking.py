"""feedkeep check: check all stored data, with several processes for the lists."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Annotated

import typer

from feedkeep.cli.common import (
    ConfigOption,
    DatabaseOption,
    progress_bar,
    say,
    settings,
    warn,
    with_service,
)
from feedkeep.config.settings import Settings, shown
from feedkeep.model import AccountId, replace
from feedkeep.model.errors import FeedkeepError, StoreUnavailable
from feedkeep.rules.credentials import MAX_ACCOUNT_ID
from feedkeep.runtime.processors import count_processors
from feedkeep.service import Checked, Service

ACCOUNTS_AT_ONCE = 1_024
"""Number of accounts that a process checks before it reports: about a second's work."""

MOST_PROCESSES = 8
"""Maximum number of processes without `--processes`."""

_CONNECTIONS = 4
"""PostgreSQL connections of each process, besides the service's own."""


def check(
    after: Annotated[
        int,
        typer.Option(
            "--after",
            metavar="ID",
            min=0,
            max=MAX_ACCOUNT_ID,
            help="Continue after the account with this id, which an interrupted check prints.",
            show_default=False,
        ),
    ] = 0,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes",
            metavar="N",
            min=1,
            help="How many processes check lists. Default: one for each processor, at most"
            f" {MOST_PROCESSES}. Few accounts need only one.",
            show_default=False,
        ),
    ] = None,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Check that all stored data is intact, and report every fault.

    Checks the structure of the database, then each account's list against the contract. If
    interrupted, it prints the command that continues, which checks the structure again, and the
    remaining lists.
    """
    chosen = settings(database, config)
    at_once = processes or min(count_processors(), MOST_PROCESSES)

    async def tell_damages(service: Service) -> bool:
        is_whole, last = True, AccountId(after)
        accounts = await service.accounts.count(last)
        is_long = at_once > 1 and accounts > ACCOUNTS_AT_ONCE
        found = _found(service, chosen, last, at_once) if is_long else service.check(last)
        with progress_bar() as progress:
            task = progress.add_task("Checking", total=accounts)
            try:
                async for checked in found:
                    for damage in checked.faults:
                        warn(damage)
                    is_whole = is_whole and not checked.faults
                    last = checked.last
                    progress.advance(task, checked.accounts)
            except (asyncio.CancelledError, FeedkeepError):
                warn(f"The check is not complete: `feedkeep check --after {last}` continues it.")
                raise
        return is_whole

    if not with_service(chosen, tell_damages):
        warn('"Damage" in docs/backup.md says how to repair this.')
        raise typer.Exit(1)
    say(f"{shown(chosen.database)} is intact{f' after account {after}' if after else ''}.")


async def _found(
    service: Service, chosen: Settings, after: AccountId, processes: int
) -> AsyncIterator[Checked]:
    """Yield the results of `Service.check` in the same order, with lists checked in parallel.

    Raises:
        StoreUnavailable: A process was killed, or cannot read the database.
    """
    yield Checked(after, 0, await service.store.faults())
    chosen = replace(chosen, postgres_connections=_CONNECTIONS)
    loop = asyncio.get_running_loop()
    spawn = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(processes, spawn, signal.signal, (signal.SIGINT, signal.SIG_IGN))
    under_way: deque[asyncio.Future[Checked]] = deque()
    try:
        async for first, last in _parts(service, after):
            if len(under_way) == 2 * processes:
                yield await under_way.popleft()
            under_way.append(loop.run_in_executor(pool, check_part, chosen, first, last))
        while under_way:
            yield await under_way.popleft()
    except BaseException as error:
        for process in multiprocessing.active_children():
            if process not in others:
                # Safe, since they only read. SIGTERM could hang in a handler, such as coverage's,
                # and block the pool.
                process.kill()
        await asyncio.gather(*under_way, return_exceptions=True)
        if isinstance(error, BrokenProcessPool):
            raise StoreUnavailable("A process that looked for faults was killed.") from error
        raise
    finally:
        pool.shutdown(cancel_futures=True)


async def _parts(service: Service, after: AccountId) -> AsyncIterator[tuple[AccountId, AccountId]]:
    """Split the accounts into parts; yield the id before each part, and the part's last id."""
    first, accounts = after, 0
    async for page in service.accounts.by_id(after):
        last, accounts = page[-1].id, accounts + len(page)
        if accounts >= ACCOUNTS_AT_ONCE:
            yield first, last
            first, accounts = last, 0
    if accounts:
        yield first, last


def check_part(chosen: Settings, after: AccountId, until: AccountId) -> Checked:
    """Check the accounts up to `until`, in a separate process."""

    async def look(service: Service) -> Checked:
        parts = [part async for part in service.check_lists(after, until)]
        faults = [damage for part in parts for damage in part.faults]
        return Checked(until, sum(part.accounts for part in parts), faults)

    return with_service(chosen, look)
