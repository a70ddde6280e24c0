"""What a check is, and what it says with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar, get_type_hints

from podsync_check.messages import Wrong

F = TypeVar("F", bound=Callable[..., None])


class Level(StrEnum):
    """What happens to people where checks of a level fail."""

    KEPT = "kept"
    AGREED = "agreed"
    TOLERANT = "tolerant"
    COMPLETE = "complete"
    SAFE = "safe"
    FAST = "fast"


MEANING = {
    Level.KEPT: "nothing that the server acknowledged is lost",
    Level.AGREED: "every kind of app ends with the same list",
    Level.TOLERANT: "what real apps send is understood",
    Level.COMPLETE: "all of the protocol is there",
    Level.SAFE: "strangers and other accounts get nothing",
    Level.FAST: "a first sync takes seconds",
}
"""What each level says of a server that has all of it."""

BY_DEFAULT = (Level.KEPT, Level.AGREED, Level.TOLERANT, Level.COMPLETE)
"""The levels that are checked unless others are asked for: the rest costs the server more."""


class NotApplicable(Exception):
    """A check does not apply to this server; the text says why."""


@dataclass(frozen=True)
class Check:
    """A sentence that is true of a good server, and how to find out.

    Attributes:
        name: The name of its file.
        sentence: What is so on a good server.
        why: What happens to a person where it is not so.
        seen: The client, or the public report (repository#number), that it comes from.
        spec: What the protocol's text says about it, or that it says nothing.
        asks_for: The class of what `run` takes: it says to which protocols the check applies.
        only_reads: Whether it changes nothing on the server.
        is_decision: Whether the public text leaves it open, and feedkeep decided it: a server that
            differs is not scored lower.
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
    is_decision: bool


def check(
    level: Level,
    *,
    why: str,
    seen: str,
    spec: str,
    only_reads: bool = False,
    is_decision: bool = False,
) -> Callable[[F], F]:
    """Make a check of a function; its docstring is the sentence, its module's file the name."""

    def made(function: F) -> F:
        hints = get_type_hints(function)
        hints.pop("return", None)
        (asks_for,) = hints.values()
        # A function has no such attribute for the type checker; the catalogue looks for it.
        function.__check__ = Check(  # type: ignore[attr-defined]
            name=function.__module__.rpartition(".")[2],
            level=level,
            sentence=(function.__doc__ or "").strip(),
            why=why,
            seen=seen,
            spec=spec,
            run=function,
            asks_for=asks_for,
            only_reads=only_reads,
            is_decision=is_decision,
        )
        return function

    return made


def expect(is_so: bool, otherwise: str) -> None:
    """Fail the check unless something is so.

    Raises:
        Wrong: It is not; the text is `otherwise`.
    """
    if not is_so:
        raise Wrong(otherwise)
