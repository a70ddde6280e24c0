"""Helpers of all commands: common options, opening the service, input and output."""

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
from feedkeep.runtime.tasks import stop_signals
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
"""Number of feeds added per commit, for which other writers wait a tenth of a second.

Smaller commits rewrite the same pages: with 1,000, an import of 100,000 took a third longer.
"""

INPUT_SECONDS = 1.0
"""Timeout of a program that may write a password to standard input."""

MAX_SHOWN_CHARACTERS = 200
_WIDE = 200


def metrics_url(listener: socket.socket) -> str:
    """Return the URL of the metrics served on a socket."""
    host, port = listener.getsockname()[:2]
    return f"{plain_url(host, port)}/metrics"


class FileError(FeedkeepError):
    """A file cannot be read or written; `str()` gives the reason."""


def settings(database: str | None, config: Path | None, **flags: object) -> Settings:
    """Load the settings; the command's flags override environment and file."""
    return load_settings({"database": database, **flags}, config, os.environ)


def end_at_a_signal() -> None:
    """Exit immediately on SIGTERM, SIGHUP or Ctrl-C, while a server starts.

    No request was accepted yet, and the store survives it.
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

    Few commands may create a database: after a typo, or without FEEDKEEP_DATABASE, a command would
    report success on an empty one. Few may migrate: an older service may be using the database.
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
    """Return the author of changes made by a command."""
    return Author(CredentialKind.COMMAND, name=name, request=secrets.token_hex(8))


def _program() -> str:
    """Return the command that runs this program: its path, unless the shell finds `feedkeep`."""
    found = shutil.which("feedkeep")
    with suppress(OSError):
        if found and Path(found).samefile(sys.argv[0]):
            return "feedkeep"
    return sys.argv[0]


def say(text: str) -> None:
    """Print a line on standard output, with commands as the user can run them."""
    typer.echo(printable(_as_called(text)))


def warn(text: str) -> None:
    """Print a message on standard error, with commands as the user can run them."""
    typer.echo(f"feedkeep: {printable(_as_called(text))}", err=True)


def _as_called(text: str) -> str:
    return text.replace("`feedkeep ", f"`{_program()} ") if "`feedkeep " in text else text


def printable(text: str) -> str:
    """Replace control characters: untrusted text must not control the terminal."""
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "\ufffd" for letter in text
    )


def shortened(text: str) -> str:
    """Truncate text to `MAX_SHOWN_CHARACTERS`."""
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}..."


def show_table(columns: list[str], rows: list[list[str]]) -> None:
    """Print a table without borders, as wide as the terminal, or 200 columns without one."""
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*map(printable, row))
    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = _WIDE
    console.print(table)


class StreamedTable:
    """A table that prints rows as they are added, and widens columns as needed.

    The head is printed with the first rows.
    """

    def __init__(self, *columns: str) -> None:
        self._head = [columns]
        self._widths = [0] * len(columns)

    def add(self, rows: Sequence[Sequence[str]]) -> None:
        """Print more rows."""
        printed = [[printable(cell) for cell in row] for row in (*self._head, *rows)]
        self._head = []
        self._widths = grown(self._widths, printed)
        for row in printed:
            typer.echo(aligned(row, self._widths))


def grown(widths: Sequence[int], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return column widths that fit these rows, too."""
    return [
        max([width, *map(cell_len, cells)]) for width, *cells in zip(widths, *rows, strict=True)
    ]


def aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    """Format a row as a line; a character may be two terminal columns wide."""
    cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
    return "  ".join(cells).rstrip()


class _SpeedColumn(ProgressColumn):
    """Items per second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f}/s")


def progress_bar() -> Progress:
    """Return a progress bar on standard error, shown on a terminal only.

    It shows the number of items, the speed and the remaining time.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _SpeedColumn(),
        TimeRemainingColumn(),
    )
    # Output to a file or pipe must not be redirected to the bar's terminal.
    return Progress(
        *columns,
        console=console,
        disable=not console.is_terminal,
        redirect_stdout=sys.stdout.isatty(),
    )


def moment(stamp: Stamp | None) -> str:
    """Format a stamp to the second; None as a dash."""
    return "-" if stamp is None else write_stamp(stamp)[:19] + "Z"


def day(stamp: Stamp | None) -> str:
    """Format the day of a stamp; None as a dash."""
    return "-" if stamp is None else write_stamp(stamp)[:10]


def ask_password(from_stdin: bool) -> str | None:
    """Return a new password from standard input, or from two prompts on a terminal.

    Returns None without a terminal, or if the person enters none.

    Raises:
        AccountError: Standard input is empty with `from_stdin`, or holds text without it.
    """
    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
        if not password:
            raise AccountError("Standard input has no password.")
        return password
    if not sys.stdin.isatty():
        if _has_input():
            raise AccountError(
                "Standard input has text. Give --password-stdin if it is the password, otherwise"
                " < /dev/null."
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
    """Whether standard input holds anything; silent but open input, as over SSH, is empty."""
    readable, _, _ = select.select([sys.stdin], [], [], INPUT_SECONDS)
    return bool(readable) and sys.stdin.buffer.read(1) != b""
