"""feedkeep migrate, backup, restore, copy, database and version: maintain the database."""

from __future__ import annotations

import asyncio
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import apsw
import typer

from feedkeep import __version__
from feedkeep.assembly import (
    back_up,
    back_up_into,
    open_postgres,
    open_store,
    pending_migrations_of,
    refuse_if_in_use,
    refusing_to_migrate,
    restore,
)
from feedkeep.cli.common import (
    ConfigOption,
    DatabaseOption,
    moment,
    progress_bar,
    say,
    settings,
    warn,
    with_service,
)
from feedkeep.config.settings import InvalidSettings, Settings, is_postgres, shown
from feedkeep.runtime.logs import configure_logs
from feedkeep.service import Service
from feedkeep.store.copying import copy
from feedkeep.store.migrate import PendingMigrations

app = typer.Typer(no_args_is_help=True, help="Maintain the database in special cases.")

_DAYS_KEPT, _WEEKS_KEPT = 7, 4

_TIME_OF_THIS_MACHINE = "This machine's clock says {now:%Y-%m-%d %H:%M} UTC."

_AFTER_RESTORING = (
    _TIME_OF_THIS_MACHINE + " If that is wrong, set the clock, and restore again.",
    "Changes after the backup are lost. Feeds added since are still on people's devices, and come"
    ' back once each app sends its list: in AntennaPod, choose "Force full synchronization"; from'
    " gPodder, export an OPML file, and `feedkeep import` it; in other apps, log out and in again.",
    'See "After a restore" in docs/backup.md.',
)


@app.command()
def distribute(database: DatabaseOption = None, config: ConfigOption = None) -> None:
    """Distribute the tables of a PostgreSQL database with Citus over its machines, by account.

    Stop the service first, and start it afterwards: it checks only when it starts whether the
    tables are distributed. The command is safe to repeat.
    """
    chosen = settings(database, config)
    if not is_postgres(chosen.database):
        raise InvalidSettings("Only a PostgreSQL database with Citus can be distributed.")
    steps = asyncio.run(_distribute(chosen))
    for sentence in steps or ["All tables are already distributed; there was nothing to do."]:
        say(sentence)


@app.command()
def restored(database: DatabaseOption = None, config: ConfigOption = None) -> None:
    """Advance all accounts' clocks after a restore by other means than `restore`.

    Such means are pg_restore, point-in-time recovery, or a machine's snapshot. Run it once after
    each such restore, before the service starts; otherwise apps would miss changes.
    """
    chosen = settings(database, config)
    refuse_if_in_use(chosen)
    with_service(chosen, lambda service: service.accounts.note_restored())
    say(f"Advanced the clocks of all accounts of {shown(chosen.database)}.")
    _tell_what_to_do_now()


@app.command("repair-clocks")
def repair_clocks(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Repair the clocks of accounts that a machine's wrong clock has moved far ahead.

    Stop the service first. `check` reports such accounts. Entries with future timestamps get new
    ones, starting at the current time and in the same order. Apps get the whole list once.
    """
    chosen = settings(database, config)
    refuse_if_in_use(chosen)
    say(_TIME_OF_THIS_MACHINE.format(now=datetime.now(UTC)))
    if not yes and not sys.stdin.isatty():
        warn("Nothing was done: there is no terminal to confirm on; give --yes.")
        raise typer.Exit(1)
    if not yes:
        typer.confirm("Is that right?", abort=True)

    async def repair(service: Service) -> int:
        repaired = 0
        async for account in service.clock_repair.repair():
            ahead = max(account.last_stamp, account.last_action_stamp)
            say(f"{account.name}: clock corrected; it was at {moment(ahead)}.")
            repaired += 1
        return repaired

    if not with_service(chosen, repair):
        say("No clock is far ahead; there was nothing to do.")


def _tell_what_to_do_now() -> None:
    for sentence in _AFTER_RESTORING:
        say(sentence.format(now=datetime.now(UTC)))


async def _distribute(chosen: Settings) -> list[str]:
    store = await open_postgres(chosen, before_migrating=refusing_to_migrate(chosen))
    try:
        return [step async for step in store.distribute()]
    finally:
        await store.close()


def migrate(
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only print what would change, and whether older processes can continue.",
        ),
    ] = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Migrate the database to this version's schema; create it if it does not exist.

    `serve` and `fetch` migrate, too; other commands refuse an older database. Stop the service
    first, unless --dry-run says that older processes can continue. The log shows the current step.
    """
    chosen: Settings = settings(database, config)
    configure_logs(chosen.log_level)
    if dry_run:
        _tell_pending(chosen, asyncio.run(pending_migrations_of(chosen)))
        return

    async def nothing(_: Service) -> None:
        """Opening has migrated the database."""

    with_service(chosen, nothing, may_create=True, may_migrate=True)
    say(f"{shown(chosen.database)} is up to date.")


def _tell_pending(chosen: Settings, pending: PendingMigrations) -> None:
    if not pending.steps:
        say(f"{shown(chosen.database)} is up to date; there is nothing to change.")
        return
    if pending.found == 0:
        say(f"{shown(chosen.database)} has no tables yet: `feedkeep migrate` creates them.")
        return
    newest = pending.steps[-1].number
    say(f"{shown(chosen.database)} has schema version {pending.found} of {newest}. Pending:")
    for step in pending.steps:
        say(f"{step.name}: {step.summary}")
    if pending.older_programs_work:
        say("Older processes can continue meanwhile, and can be restarted.")
    else:
        say("Back up first: going back to an older version requires a backup that it can read.")
        say("Stop all older processes first: they cannot use the new schema.")


def back_up_to(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="The copy; it must not exist yet.", show_default=False
        ),
    ] = None,
    database: DatabaseOption = None,
    config: ConfigOption = None,
    ignore_checksums: Annotated[
        bool,
        typer.Option(
            "--ignore-checksums",
            help="Also copy pages whose checksum is wrong because another program wrote them.",
        ),
    ] = False,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            metavar="FOLDER",
            help="Instead of FILE: a folder. The backup is named by its time, and old ones are"
            " removed.",
            show_default=False,
        ),
    ] = None,
    keep_daily: Annotated[
        int | None,
        typer.Option(
            "--keep-daily",
            metavar="N",
            min=1,
            help=f"In FOLDER, keep the last backup of each of N days. Default: {_DAYS_KEPT}.",
            show_default=False,
        ),
    ] = None,
    keep_weekly: Annotated[
        int | None,
        typer.Option(
            "--keep-weekly",
            metavar="N",
            min=0,
            help=f"In FOLDER, keep the last backup of each of N weeks. Default: {_WEEKS_KEPT}.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Copy a SQLite database to a file, even while the service runs.

    The copy contains all writes from before the command started. It gets its name once it is
    checked and on disk. Then old backups are removed, but only backups that `--into` created.
    """
    if (file is None) == (into is None):
        raise typer.BadParameter("Name either a file, or a folder with --into.")
    if into is None and (keep_daily, keep_weekly) != (None, None):
        raise typer.BadParameter("--keep-daily and --keep-weekly are for a folder: give --into.")
    chosen = settings(database, config)
    is_believed = not ignore_checksums
    if file is not None:
        back_up(chosen, file.absolute(), believe_checksums=is_believed)
        say(f"Backed up to {file}.")
    if into is not None:
        days = _DAYS_KEPT if keep_daily is None else keep_daily
        weeks = _WEEKS_KEPT if keep_weekly is None else keep_weekly
        target, removed = back_up_into(
            chosen, into.absolute(), days, weeks, believe_checksums=is_believed
        )
        say(f"Backed up to {into / target.name}.")
        for old in removed:
            say(f"Removed {into / old.name}.")


def restore_from(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `backup` created.")],
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Restore a backup as the database, which must not exist yet.

    To replace a database, stop the service and move its file away first.
    """
    chosen = settings(database, config)
    restore(chosen, file.absolute())
    say(f"{shown(chosen.database)} is restored.")
    _tell_what_to_do_now()


def version() -> None:
    """Print the versions of feedkeep, SQLite and Python."""
    say(
        f"feedkeep {__version__} (SQLite {apsw.sqlite_lib_version()},"
        f" Python {platform.python_version()})"
    )


SourceArgument = Annotated[str, typer.Argument(metavar="FROM-URL", help="The database to copy.")]
TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TO-URL",
        help="An empty database. A SQLite file is created; create a PostgreSQL one with createdb.",
    ),
]


def copy_all(source: SourceArgument, target: TargetArgument, config: ConfigOption = None) -> None:
    """Copy all accounts from one database to another, such as from SQLite to PostgreSQL.

    Stop the service first: later writes are not copied. Accounts, tokens, passwords, lists, guids,
    timestamps and tombstones stay the same, so clients notice no difference. The copy is atomic.
    Before its commit, both databases are read again and compared, account by account.
    """
    chosen = settings(source, config)
    counts = asyncio.run(_copy(chosen, settings(target, config)))
    copied = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    say(f"Copied and compared: {copied}." if counts else "Copied nothing: there is no account.")


async def _copy(source: Settings, target: Settings) -> dict[str, int]:
    origin = await open_store(source, may_create=False)
    try:
        copied = await open_store(target)
        try:
            async with origin.archive() as archive:
                with progress_bar() as progress:
                    task = progress.add_task("Copying", total=2 * await archive.count())
                    return await copy(archive, copied, lambda count: progress.advance(task, count))
        finally:
            await copied.close()
    finally:
        await origin.close()
