"""Files of accounts to create: CSV with a header, or a JSON object on each line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from feedkeep.model.errors import AccountError
from feedkeep.service.accounts import ImportedAccount

MAX_LINE_BYTES = 16_384
COLUMNS = ("name", "password", "password_hash", "is_admin")

_BOOLS = {"": False, "false": False, "no": False, "0": False, "true": True, "yes": True, "1": True}


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """Account as a JSON object."""

    name: str
    password: str | None = None
    password_hash: str | None = None
    is_admin: bool = False


def read_accounts(file: BinaryIO) -> Iterator[tuple[int, ImportedAccount | AccountError]]:
    """Yield each account of a file with its line number, or the error of the line.

    Reads at most `MAX_LINE_BYTES` of one line at a time. Empty lines are ignored.

    Raises:
        AccountError: The header of a CSV file is not valid.
    """
    read: Callable[[str], ImportedAccount] | None = None
    for number, line in _lines(file):
        if line is None:
            yield number, AccountError(f"A line has at most {MAX_LINE_BYTES:,} bytes of UTF-8.")
        elif read is None and not line.startswith("{"):
            read = _csv_reader(line)
        else:
            read = read or _from_json
            try:
                yield number, read(line)
            except AccountError as error:
                yield number, error


def _lines(file: BinaryIO) -> Iterator[tuple[int, str | None]]:
    """Yield the lines that are not empty; None for a line that is too long or not UTF-8."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        is_whole = len(line) <= MAX_LINE_BYTES
        while not line.endswith(b"\n") and (rest := file.readline(MAX_LINE_BYTES)):
            line = rest  # skip an overlong line piece by piece
            is_whole = False
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
        except UnicodeDecodeError:
            is_whole, text = False, ""
        if not is_whole:
            yield number, None
        elif text.strip():
            yield number, text


def _csv_reader(header: str) -> Callable[[str], ImportedAccount]:
    names = [name.strip().lower() for name in _cells(header)]
    if "name" not in names or len(set(names)) < len(names) or not set(names) <= set(COLUMNS):
        raise AccountError(
            f"The first line has to name the columns: name, and any of {', '.join(COLUMNS[1:])}."
        )

    def read(line: str) -> ImportedAccount:
        cells = _cells(line)
        if len(cells) != len(names):
            raise AccountError(
                f"There are {len(cells)} columns, and the header has {len(names)}; what has commas,"
                ' as each password_hash has, stands between quotation marks (").'
            )
        row = dict(zip(names, cells, strict=True))
        is_admin = _BOOLS.get(row.get("is_admin", "").strip().lower())
        if is_admin is None:
            raise AccountError("is_admin has to be true, false or empty.")
        secrets = (row.get("password") or None, row.get("password_hash") or None)
        return ImportedAccount(row["name"], *secrets, is_admin)

    return read


def _cells(line: str) -> list[str]:
    try:
        (cells,) = csv.reader([line], strict=True)
    except csv.Error as error:
        raise AccountError(f"The line is not valid CSV: {error}.") from None
    return cells


def _from_json(line: str) -> ImportedAccount:
    try:
        found = msgspec.json.decode(line, type=_Line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise AccountError(f"The line is not valid JSON: {error}.") from None
    return ImportedAccount(found.name, found.password, found.password_hash, found.is_admin)
