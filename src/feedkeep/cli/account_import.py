"""feedkeep account import: many accounts at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from feedkeep.cli.common import (
    ConfigOption,
    DatabaseOption,
    FileError,
    say,
    settings,
    shortened,
    with_service,
)
from feedkeep.errors import AccountError
from feedkeep.formats.account_list import read_accounts
from feedkeep.service import Service
from feedkeep.service.accounts import ImportedAccount

_AT_ONCE = 100
"""How many accounts are created in one commit."""


def import_accounts(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV with a header that names the columns, or an object of JSON on each line:"
            " name, and password or password_hash (argon2id), and is_admin; - for standard input.",
        ),
    ],
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Create the accounts of a file.

    An account without a password and without a hash is used with tokens only. Refused lines are
    listed, each with the reason; then this ends with 1, and the other accounts are created all the
    same.
    """

    async def create(service: Service) -> tuple[int, int]:
        counts = [0, 0]
        with _opened(file) as lines:
            rows = read_accounts(lines)
            while chunk := list(islice(rows, _AT_ONCE)):
                for number, refused in await _create(service, chunk):
                    counts[refused is not None] += 1
                    if refused is not None:
                        say(f"line {number}: {shortened(str(refused))}")
        return counts[0], counts[1]

    created, refused = with_service(settings(database, config), create)
    say(f"{created:,} created, {refused:,} refused.")
    if refused:
        raise typer.Exit(1)


async def _create(
    service: Service, chunk: Sequence[tuple[int, ImportedAccount | AccountError]]
) -> Iterator[tuple[int, AccountError | None]]:
    """Create accounts; return for each line why it was refused, or None."""
    wanted = [row for _, row in chunk if isinstance(row, ImportedAccount)]
    outcomes = iter(await service.accounts.create_many(wanted))
    return (
        (number, row if isinstance(row, AccountError) else next(outcomes)) for number, row in chunk
    )


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as opened:
            yield opened
    except OSError as error:
        raise FileError(f"Cannot read {file}: {error.strerror}.") from error
