"""feedkeep migrate, check and version: the state of the database and the program."""

from __future__ import annotations

import platform

import apsw
import typer

from feedkeep import __version__
from feedkeep.cli.common import ConfigOption, DatabaseOption, say, settings, with_service
from feedkeep.service import Service
from feedkeep.settings import Settings


def migrate(database: DatabaseOption = None, config: ConfigOption = None) -> None:
    """Bring the database up to date.

    Every command does so first; this one does nothing else.
    """
    chosen: Settings = settings(database, config)

    async def nothing(_: Service) -> None:
        """Opening brought it up to date."""

    with_service(chosen, nothing)
    say(f"{chosen.database} is up to date.")


def check(database: DatabaseOption = None, config: ConfigOption = None) -> None:
    """Look whether everything that is stored is whole, and tell all that is not.

    Checks the database's own structure, and that every account's list is as the contract says.
    """
    chosen = settings(database, config)

    async def damages(service: Service) -> list[str]:
        return [damage async for damage in service.damages()]

    found = with_service(chosen, damages)
    for damage in found:
        typer.echo(f"feedkeep: {damage}", err=True)
    if found:
        raise typer.Exit(1)
    say(f"{chosen.database} is whole.")


def version() -> None:
    """Print the versions of feedkeep, SQLite and Python."""
    say(
        f"feedkeep {__version__} (SQLite {apsw.sqlite_lib_version()},"
        f" Python {platform.python_version()})"
    )
