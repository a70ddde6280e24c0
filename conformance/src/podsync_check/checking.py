"""Definition of checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar, get_type_hints

from podsync_check.messages import CannotRun, Wrong

F = TypeVar("F", bound=Callable[..., None])


class Level(StrEnum):
    """Kind of promise that a check tests, the gravest first."""

    KEPT = "kept"
    AGREED = "agreed"
    TOLERANT = "tolerant"
    COMPLETE = "complete"
    SAFE = "safe"
    FAST = "fast"
    FEEDKEEP = "feedkeep"


MEANING = {
    Level.KEPT: "nothing that the server acknowledged is lost",
    Level.AGREED: "every kind of app ends with the same list",
    Level.TOLERANT: "what real apps send is understood",
    Level.COMPLETE: "all of the protocol is there",
    Level.SAFE: "strangers and other accounts get nothing",
    Level.FAST: "a first sync takes seconds",
    Level.FEEDKEEP: "it decides as feedkeep where public texts are open",
}
"""Meaning of each level for a server that passes all of it."""

BY_DEFAULT = (Level.KEPT, Level.AGREED, Level.TOLERANT, Level.COMPLETE)
"""Levels checked by default; the others cost the server more, or are feedkeep's own."""


class NotApplicable(Exception):
    """The check does not apply to this server; the text gives the reason."""


@dataclass(frozen=True)
class Tested:
    """A property of good servers or apps.

    Attributes:
        name: Name of the function that tests it.
        sentence: The property, as a sentence about a good server or app.
        why: Consequence for a person where it does not hold.
        seen: Client or public report (repository#number) that it is based on.
        spec: Statement of the protocol's text, or its silence.
    """

    name: str
    sentence: str
    why: str
    seen: str
    spec: str

    @property
    def path(self) -> str:
        """Name, as reports and options have it."""
        return self.name


T = TypeVar("T", bound=Tested)


@dataclass(frozen=True)
class Check(Tested):
    """A property of good servers, and its test.

    Attributes:
        asks_for: Class of `run`'s argument, which determines the protocols that the check applies
            to.
        only_reads: Whether the check changes nothing on the server.
        runs_last: Whether the check may break or fill the server, as by devices at once: what later
            checks find would have that cause.
    """

    run: Callable[[Any], None]
    asks_for: type
    level: Level
    only_reads: bool = False
    runs_last: bool = False

    @property
    def path(self) -> str:
        """Level and name."""
        return f"{self.level}/{self.name}"


def check(
    level: Level,
    *,
    why: str,
    seen: str,
    spec: str = "Silent.",
    only_reads: bool = False,
    runs_last: bool = False,
) -> Callable[[F], F]:
    """Decorator: make a check of a function; the docstring is the sentence."""

    def made(function: F) -> F:
        (asks_for,) = (kind for name, kind in get_type_hints(function).items() if name != "return")
        told = (function.__name__, (function.__doc__ or "").strip(), why, seen, spec)
        # Type checkers do not know this attribute of a function; the catalogue reads it.
        function.__check__ = Check(  # type: ignore[attr-defined]
            *told, function, asks_for, level, only_reads, runs_last
        )
        return function

    return made


def chosen(all_of_them: Iterable[T], paths: Collection[str], kind: str = "check") -> list[T]:
    """Return the checks or cases of some names, with or without their level; all for no names.

    Raises:
        CannotRun: A name is unknown.
    """
    known = list(all_of_them)
    if unknown := sorted(set(paths) - {text for one in known for text in (one.name, one.path)}):
        raise CannotRun(f"There is no {kind} {', '.join(unknown)}; --list shows all.")
    return [one for one in known if not paths or {one.name, one.path} & set(paths)]


def as_list(tested: Iterable[Tested]) -> str:
    """Return the text that `--list` shows."""
    return "\n".join(
        f"{one.path}\n    {one.sentence}\n    {one.why} ({one.seen})" for one in tested
    )


def expect(is_so: bool, otherwise: str) -> None:
    """Fail the check unless `is_so`: raise `Wrong` with the text `otherwise`."""
    if not is_so:
        raise Wrong(otherwise)
