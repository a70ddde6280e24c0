"""feedkeep copy: copy all data from one database to another."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from feedkeep.assembly import open_store
from feedkeep.cli.common import ConfigOption, progress_bar, say, settings
from feedkeep.config.settings import Settings
from feedkeep.store.copying import copy

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
