"""What all commands share: the options for database and settings, and running a use case."""

from __future__ import annotations

import asyncio
import os
import secrets
import select
import shutil
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from feedkeep.assembly import leaving_new_feeds, open_service, refusing_to_migrate
from feedkeep.config.settings import Settings, load_settings, plain_url
from feedkeep.model import Author, CredentialKind, Stamp, T
from feedkeep.model.errors import AccountError, FeedkeepError
from feedkeep.model.stamps import write_stamp
from feedkeep.runtime.stopping import stop_signals
from feedkeep.service import Service
from feedkeep.store.migrate import migrate_at_once

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="The database: sqlite:///relative/path, sqlite:////absolute/path or"
        " postgresql://user:password@host/name. Also FEEDKEEP_DATABASE. Default: a SQLite file in"
        " your data directory.",
        show_default=False,
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A TOML file with settings. Also FEEDKEEP_CONFIG.",
        envvar="FEEDKEEP_CONFIG",
        show_envvar=False,
        show_default=False,
    ),
]
PasswordStdinOption = Annotated[
    bool,
    typer.Option("--password-stdin", help="Read the password from standard input, one line."),
]

FEEDS_AT_ONCE = 5_000
"""How many feeds are added in one commit; other writers wait for a tenth of a second meanwhile.

Smaller commits write the same pages again: with 1,000, an import of 100,000 took a third longer.
"""

INPUT_SECONDS = 1.0
"""Timeout of a program that may write a password to standard input."""

MAX_SHOWN_CHARACTERS = 200
_WIDE = 200


def metrics_url(listener: socket.socket) -> str:
    """Return where the metrics are that are served on a socket."""
    host, port = listener.getsockname()[:2]
    return f"{plain_url(host, port)}/metrics"


class FileError(FeedkeepError):
    """A file that cannot be read or written; `str()` of it says why."""


def settings(database: str | None, config: Path | None, **flags: object) -> Settings:
    """Return the settings for a command."""
    return load_settings({"database": database, **flags}, config, os.environ)


def end_at_a_signal() -> None:
    """End at once at SIGTERM, SIGHUP or Ctrl-C from now on: for the start of what serves.

    Nothing was accepted, and the store survives it.
    """
    for number in stop_signals():
        signal.signal(number, lambda *_: os._exit(0))


def with_service(
    settings: Settings,
    use: Callable[[Service], Awaitable[T]],
    *,
    may_create: bool = False,
    may_migrate: bool = False,
) -> T:
    """Open the service, run `use` with it, close it, and return the result.

    Few commands may create a database. After a typing error, or if FEEDKEEP_DATABASE was forgotten,
    any other command would find a new, empty one, and report that all is well. Few may migrate one:
    an older service may use it.
    """
    before_migrating = migrate_at_once if may_migrate else refusing_to_migrate(settings)

    async def run() -> T:
        async with (
            open_service(
                settings, may_create=may_create, before_migrating=before_migrating
            ) as service,
            leaving_new_feeds(service, settings),
        ):
            return await use(service)

    return asyncio.run(run())


def command_author(name: str) -> Author:
    """Return who changes a list by a command."""
    return Author(CredentialKind.COMMAND, name=name, request=secrets.token_hex(8))


def _program() -> str:
    """Return how the program is called again: by its path, unless the shell finds it."""
    found = shutil.which("feedkeep")
    with suppress(OSError):
        if found and Path(found).samefile(sys.argv[0]):
            return "feedkeep"
    return sys.argv[0]


def say(text: str) -> None:
    """Print a line on standard output; commands in it are written as they can be called."""
    typer.echo(printable(_as_called(text)))


def warn(text: str) -> None:
    """Print a message on standard error; commands in it are written as they can be called."""
    typer.echo(f"feedkeep: {printable(_as_called(text))}", err=True)


def _as_called(text: str) -> str:
    return text.replace("`feedkeep ", f"`{_program()} ") if "`feedkeep " in text else text


def printable(text: str) -> str:
    """Return text without control characters: who wrote it must not command the terminal."""
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "\ufffd" for letter in text
    )


def shortened(text: str) -> str:
    """Return text that may be long, so that it does not fill the terminal."""
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}..."


def show_table(columns: list[str], rows: list[list[str]]) -> None:
    """Print a table without lines, never cut where the output is not a terminal."""
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*map(printable, row))
    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = _WIDE
    console.print(table)


class StreamedTable:
    """A table whose rows are printed as they come; columns grow where a row needs it."""

    def __init__(self, *columns: str) -> None:
        """Begin a table; its head is printed with the first rows."""
        self._head = [columns]
        self._widths = [0] * len(columns)

    def add(self, rows: Sequence[Sequence[str]]) -> None:
        """Print further rows."""
        printed = [[printable(cell) for cell in row] for row in (*self._head, *rows)]
        self._head = []
        self._widths = grown(self._widths, printed)
        for row in printed:
            typer.echo(aligned(row, self._widths))


def grown(widths: Sequence[int], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the widths of columns that also hold these rows."""
    return [
        max([width, *map(cell_len, cells)]) for width, *cells in zip(widths, *rows, strict=True)
    ]


def aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    """Return a row as a line; a letter may be as wide as two columns of the terminal."""
    cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
    return "  ".join(cells).rstrip()


class _SpeedColumn(ProgressColumn):
    """How many are done in a second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f}/s")


def progress_bar() -> Progress:
    """Return a bar on standard error, which shows on a terminal only.

    It shows how many are done of all, how many a second, and the time left.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _SpeedColumn(),
        TimeRemainingColumn(),
    )
    # What a command prints into a file or a pipe must not be moved to the terminal of the bar.
    return Progress(
        *columns,
        console=console,
        disable=not console.is_terminal,
        redirect_stdout=sys.stdout.isatty(),
    )


def moment(stamp: Stamp | None) -> str:
    """Return a stamp to the second, or a dash."""
    return "-" if stamp is None else write_stamp(stamp)[:19] + "Z"


def day(stamp: Stamp | None) -> str:
    """Return the day of a stamp, or a dash."""
    return "-" if stamp is None else write_stamp(stamp)[:10]


def ask_password(from_stdin: bool) -> str | None:
    """Return a new password: read from standard input, or asked for twice on a terminal.

    Returns None without a terminal to ask on, or if the person gives none.

    Raises:
        AccountError: `from_stdin` is set, and standard input is empty; or it is not set, and
            standard input holds something.
    """
    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
        if not password:
            raise AccountError("Standard input holds no password.")
        return password
    if not sys.stdin.isatty():
        if _has_input():
            raise AccountError(
                "Standard input holds text, and only --password-stdin takes a password from it."
                " Give that, or < /dev/null if this is no password."
            )
        return None
    entered: str = typer.prompt(
        "Password (empty: none, tokens only)",
        default="",
        show_default=False,
        hide_input=True,
        confirmation_prompt=True,
    )
    return entered or None


def _has_input() -> bool:
    """Whether standard input holds anything; what stays silent and open, as over SSH, does not."""
    readable, _, _ = select.select([sys.stdin], [], [], INPUT_SECONDS)
    return bool(readable) and sys.stdin.buffer.read(1) != b""
