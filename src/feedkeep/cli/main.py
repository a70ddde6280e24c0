"""Registers all commands, and reports their errors in one sentence, without a traceback."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from feedkeep.cli import (
    accounts,
    checking,
    database,
    doctor,
    feeds,
    health,
    history,
    migrate_from,
    serve,
    sessions,
    tokens,
    trial,
)
from feedkeep.cli.common import warn
from feedkeep.model.errors import FeedkeepError
from feedkeep.runtime.logs import configure_logs

DEBUG_VARIABLE = "FEEDKEEP_DEBUG"

_HELP = """Keep, for every user, the list of feeds they are subscribed to.

Start the service with **feedkeep serve**. All other commands work on the same database, even while
the service runs. The database is a SQLite file in your data directory, unless **--database** or
**FEEDKEEP_DATABASE** names another one, or a PostgreSQL database. **account create** and **serve**
create a missing database.

A first account, with a token for its app and its feeds:

    feedkeep account create alice --admin
    feedkeep token create alice --label phone
    feedkeep import alice feeds.opml
"""


def _tell_version(is_asked_for: bool) -> None:
    if is_asked_for:
        database.version()
        raise typer.Exit


app = typer.Typer(
    name="feedkeep",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    help=_HELP,
)


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Print the version, and exit."
        ),
    ] = False,
) -> None:
    """Handle the options before a command; the help of the program is `_HELP`."""


app.command("serve")(serve.serve)
app.command("try")(trial.try_out)
app.command("health")(health.health)
app.command("doctor")(doctor.doctor)
app.command("fetch")(feeds.fetch)
app.add_typer(accounts.app, name="account")
app.add_typer(tokens.app, name="token")
app.add_typer(sessions.app, name="session")
app.command("list")(feeds.list_feeds)
app.command("import")(feeds.import_feeds)
app.command("export")(feeds.export_feeds)
app.command("move")(feeds.move_feed)
app.command("history")(history.show_history)
app.command("undo")(history.undo)
app.command("restore-list")(history.restore_list)
app.command("migrate-from")(migrate_from.migrate_from)
app.command("backup")(database.back_up_to)
app.command("restore")(database.restore_from)
app.command("copy")(database.copy_all)
app.add_typer(database.app, name="database")
app.command("migrate")(database.migrate)
app.command("check")(checking.check)
app.command("version")(database.version)


def main() -> None:
    """Run a command; exit with 1 after a failure and 2 after a usage error."""
    if sys.stderr is None:  # closed: a database could get its descriptor
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until exit
    if any(not _is_text(argument) for argument in sys.argv):
        _fail("An argument is not UTF-8 text.")
    configure_logs("warning")  # on standard error: standard output may be an export
    try:
        app()
    except FeedkeepError as error:
        _fail(str(error))
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        _fail(f"A defect in feedkeep: {error!r}. Set {DEBUG_VARIABLE}=1 for a traceback.")


def _is_text(argument: str) -> bool:
    """Whether the argument has no lone surrogates, which stand for invalid bytes."""
    return argument.encode(errors="replace").decode() == argument


def _fail(message: str) -> None:
    warn(message)
    sys.exit(1)
