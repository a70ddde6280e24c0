"""Functions that make values of rows, compiled from the names of their columns.

Each request reads an account, a token and entries, so this is as fast as a function that is written
by hand. Such a one would name all columns in an order of its own, which nothing checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, TypeAlias, get_args

from msgspec.structs import fields

from feedkeep.model import Guid, Value
from feedkeep.store.tables import is_value, type_of

Row: TypeAlias = Sequence[Any]

_READ = {bool: "bool({})", Guid: "read_guid({})"}
"""What makes a field of what a column has, by the field's type; others are as they are stored."""


def places(columns: Iterable[str], first: int = 0) -> dict[str, str]:
    """Return where a row has its columns, of which `first` is the number of the first one."""
    return {name: f"row[{number}]" for number, name in enumerate(columns, first)}


def expression(
    value: type[Value],
    columns: Mapping[str, str],
    special: Mapping[str, str] = {},
    prefix: str = "",
) -> str:
    """Return Python that makes a value of the columns with its fields' names.

    The columns of a value in a field have that field's name before their own; where the first one
    is null, there is none. `special` has other Python by column, in which names of columns stand
    in braces.

    Raises:
        KeyError: A field has no column.
    """
    arguments = []
    for field in fields(value):
        column, kind = f"{prefix}{field.name}", type_of(field.type)
        if column in special:
            made = special[column].format_map(columns)
        elif is_value(kind):
            made = expression(kind, columns, special, f"{column}_")
            if NoneType in get_args(field.type):
                made = (
                    f"(None if {columns[f'{column}_{fields(kind)[0].name}']} is None else {made})"
                )
        else:
            made = _READ.get(kind, "{}").format(columns[column])
        arguments.append(made)
    return f"{value.__name__}({', '.join(arguments)})"


def compiled(made: str, *values: type[Value], **names: object) -> Callable[[Row], Any]:
    """Return a function of a row that returns what an expression makes of it."""
    known = {value.__name__: value for value in values} | names
    function: Callable[[Row], Any] = eval(f"lambda row: {made}", known)  # noqa: S307 - all our own
    return function
