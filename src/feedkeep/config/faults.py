"""Describe an invalid setting and its valid values in a sentence. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import get_type_hints

import msgspec
from msgspec import inspect

_CLOSE = 0.75
"""Minimum similarity of two names for one to be a misspelling of the other."""

_MAX_SHOWN = 100


def close_to(name: str, known: Collection[str]) -> str | None:
    """Return the known name that `name` misspells or abbreviates; None without one."""
    similar = difflib.get_close_matches(name, known, 1, _CLOSE)
    return next(iter(similar or (one for one in known if _abbreviates(name, one))), None)


def _abbreviates(name: str, whole: str) -> bool:
    """Whether `whole` begins with the same letter and has all letters of `name` in this order."""
    rest = iter(whole)
    return name[:1] == whole[:1] and all(letter in rest for letter in name)


def fault(
    settings: type,
    values: Mapping[str, object],
    places: Mapping[str, str],
    unshown: Collection[str] = (),
) -> str | None:
    """Describe the first value that is not valid for the record `settings`; None if all are valid.

    `places` holds the source of each value, by name, such as "FEEDKEEP_PORT". Values that may be
    secrets are not shown: texts without a pattern, and the names in `unshown`.
    """
    kinds = get_type_hints(settings, include_extras=True)
    for name, value in values.items():
        if name not in kinds:
            meant = close_to(name, kinds)
            return f"{places[name]} is no setting{f'; {meant} is one' if meant else ''}."
        try:
            msgspec.convert(value, kinds[name], strict=False)
        except (msgspec.ValidationError, UnicodeEncodeError):
            kind = inspect.type_info(kinds[name])
            is_any_text = isinstance(kind, inspect.StrType) and kind.pattern is None
            is_secret = is_any_text or name in unshown
            shown = "" if is_secret else f"is {_shown(value)}, and "
            return f"{places[name]} {shown}has to be {_wanted(kind)}."
    return None


def _shown(value: object) -> str:
    if isinstance(value, list):
        text = f"[{', '.join(map(_shown, value[:_MAX_SHOWN]))}]"
    else:
        text = f'"{value}"' if isinstance(value, str) else str(value).lower()
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _wanted(kind: inspect.Type) -> str:
    """Describe the valid values of this type, to follow "has to be"."""
    match kind:
        case inspect.Metadata(extra_json_schema={"description": str(described)}):
            return described
        case inspect.UnionType(types=kinds):  # optional
            return _wanted(kinds[0])
        case inspect.EnumType(cls=choices):
            *others, last = (str(choice.value) for choice in choices)
            return f"{', '.join(others)} or {last}"
        case inspect.VarTupleType(item_type=item, max_length=most):
            return f"a list of at most {most:,} values, each {_wanted(item)}"
        case inspect.IntType(ge=lowest, le=highest):
            return f"a whole number{_between(lowest, highest)}"
        case inspect.FloatType(ge=lowest, le=highest):
            return f"a number{_between(lowest, highest)}"
    return "a text"


def _between(lowest: float | None, highest: float | None) -> str:
    if highest is None:
        return "" if lowest is None else f" of at least {lowest}"
    return f" from {lowest} to {highest}"
