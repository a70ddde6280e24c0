"""feedkeep account import: create many accounts from a file."""

from __future__ import annotations

import sys
from collections import Counter
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
    progress_bar,
    say,
    settings,
    shortened,
    with_service,
)
from feedkeep.formats.account_list import read_accounts
from feedkeep.model.errors import AccountError, NameTaken
from feedkeep.service import Service
from feedkeep.service.accounts import ImportedAccount

_AT_ONCE = 100
"""Number of accounts created per commit."""

_BLOCK_BYTES = 1_048_576


def import_accounts(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV with a header that names the columns, or a JSON object on each line:"
            " name, password or password_hash (argon2id), and is_admin (- for standard input).",
        ),
    ],
    skip_existing: Annotated[
        bool,
        typer.Option(
            "--skip-existing",
            help="Skip existing accounts, such as after an interrupted import; they stay"
            " unchanged.",
        ),
    ] = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Create the accounts listed in a file.

    An account without a password or hash is used with tokens only. Rejected lines are listed with
    their reasons, and the exit status is then 1; the other accounts are created.
    """

    async def create(service: Service) -> Counter[str]:
        counts: Counter[str] = Counter()
        with _opened(file) as lines, progress_bar() as progress:
            task = progress.add_task("Importing", total=_count_lines(file))
            rows = read_accounts(lines)
            while chunk := list(islice(rows, _AT_ONCE)):
                for number, refused in await _create(service, chunk):
                    if skip_existing and isinstance(refused, NameTaken):
                        counts["there already"] += 1
                    elif refused is not None:
                        counts["refused"] += 1
                        say(f"line {number}: {shortened(str(refused))}")
                    else:
                        counts["created"] += 1
                progress.update(task, completed=chunk[-1][0])
        return counts

    counts = with_service(settings(database, config), create)
    kinds = ("created", *(("there already",) if skip_existing else ()), "refused")
    say(f"{', '.join(f'{counts[kind]:,} {kind}' for kind in kinds)}.")
    if counts["refused"]:
        raise typer.Exit(1)


async def _create(
    service: Service, chunk: Sequence[tuple[int, ImportedAccount | AccountError]]
) -> Iterator[tuple[int, AccountError | None]]:
    """Create accounts; return each line's number and error, None if it was created."""
    wanted = [row for _, row in chunk if isinstance(row, ImportedAccount)]
    outcomes = iter(await service.accounts.create_many(wanted))
    return (
        (number, row if isinstance(row, AccountError) else next(outcomes)) for number, row in chunk
    )


def _count_lines(file: str) -> int | None:
    """Return the number of lines; None if the input can be read only once."""
    if not Path(file).is_file():
        return None
    with Path(file).open("rb") as opened:
        return sum(block.count(b"\n") for block in iter(lambda: opened.read(_BLOCK_BYTES), b""))


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
