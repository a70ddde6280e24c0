"""Definition of checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar, get_type_hints

from podsync_check.messages import Wrong

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
class Check:
    """A property of good servers, and its test.

    Attributes:
        name: Name of the function.
        sentence: The property, as a sentence about a good server.
        why: Consequence for a person where it does not hold.
        seen: Client or public report (repository#number) that it is based on.
        spec: Statement of the protocol's text, or its silence.
        asks_for: Class of `run`'s argument, which determines the protocols that the check applies
            to.
        only_reads: Whether the check changes nothing on the server.
        runs_last: Whether the check may break or fill the server, as by devices at once: what later
            checks find would have that cause.
    """

    name: str
    level: Level
    sentence: str
    why: str
    seen: str
    spec: str
    run: Callable[[Any], None]
    asks_for: type
    only_reads: bool
    runs_last: bool

    @property
    def path(self) -> str:
        """Level and name, as reports show them."""
        return f"{self.level}/{self.name}"


def check(
    level: Level,
    *,
    why: str,
    seen: str,
    spec: str,
    only_reads: bool = False,
    runs_last: bool = False,
) -> Callable[[F], F]:
    """Decorator: make a check of a function; the docstring is the sentence."""

    def made(function: F) -> F:
        hints = get_type_hints(function)
        hints.pop("return", None)
        (asks_for,) = hints.values()
        # Type checkers do not know this attribute of a function; the catalogue reads it.
        function.__check__ = Check(  # type: ignore[attr-defined]
            name=function.__name__,
            level=level,
            sentence=(function.__doc__ or "").strip(),
            why=why,
            seen=seen,
            spec=spec,
            run=function,
            asks_for=asks_for,
            only_reads=only_reads,
            runs_last=runs_last,
        )
        return function

    return made


def expect(is_so: bool, otherwise: str) -> None:
    """Fail the check unless `is_so`.

    Raises:
        Wrong: The condition is false; the text is `otherwise`.
    """
    if not is_so:
        raise Wrong(otherwise)
