"""Hard cases for apps, one after the other: each decides what the next requests get, and judges.

A case is a generator, one small file in `checks/apps/`. It yields what it waits for, and gets the
exchange that came; between, it lets another device change the list.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, TypeVar

from podsync_check.checking import expect
from podsync_check.messages import Wrong
from podsync_check.watching.exchanges import OPEN_PODCAST, URL_LISTS, Kind, WatchedExchange
from podsync_check.watching.faults import Fault

PATIENCE_POLLS = 3
"""Within how many polls an app has to have done what it should."""

_PROTOCOLS = frozenset({*URL_LISTS, OPEN_PODCAST})
_DONE = {200, 202}


@dataclass(frozen=True)
class Wait:
    """What a case waits for.

    Attributes:
        fits: Whether it is this request; it sees what was sent, and no reply.
        fault: What that request gets.
        within_polls: How many polls of the list may pass meanwhile: a sync has one. None if it
            waits for a person.
        otherwise: What was wrong if it did not come in time; "" if that is well.
        watch: Looks at each exchange that passes meanwhile; raises `Wrong` if one is.
    """

    fits: Callable[[WatchedExchange], bool]
    fault: Fault | None = None
    within_polls: int | None = None
    otherwise: str = ""
    watch: Callable[[WatchedExchange], None] = lambda _: None


Play: TypeAlias = Generator[Wait, WatchedExchange | None, None]
"""A case as it is played; it gets None where what it waited for did not come, and that is well."""


class Elsewhere(Protocol):
    """Another device of the same account, in every protocol."""

    def add(self, url: str) -> None:
        """Subscribe to a feed."""

    def remove(self, url: str) -> None:
        """Unsubscribe from it."""

    def move(self, old: str, new: str) -> None:
        """Give a feed another URL."""

    def correct(self, url: str, to: str) -> None:
        """Have the server take one URL for another when it is uploaded, and say so."""

    def end_sessions(self) -> None:
        """End all sessions, so that apps have to sign in again."""


@dataclass(frozen=True)
class HardCase:
    """A sentence that is true of a good app, and how to find out.

    Attributes:
        name: The name of its file.
        sentence: What a good app does.
        asks: What the person is to do with the app meanwhile.
        why: What happens to a person whose app does not.
        seen: The client, or the public report (repository#number), that it comes from.
        spec: What the protocol's text says about it, or that it says nothing.
        protocols: The protocols that it applies to.
    """

    name: str
    sentence: str
    asks: str
    why: str
    seen: str
    spec: str
    protocols: frozenset[str]
    play: Callable[[Elsewhere], Play]


F = TypeVar("F", bound=Callable[[Elsewhere], Play])


def hard_case(
    *, asks: str, why: str, seen: str, spec: str, protocols: frozenset[str] = _PROTOCOLS
) -> Callable[[F], F]:
    """Make a hard case of a generator; its docstring is the sentence, its file the name."""

    def made(function: F) -> F:
        name = function.__module__.rpartition(".")[2]
        sentence = (function.__doc__ or "").strip()
        case = HardCase(name, sentence, asks, why, seen, spec, protocols, function)
        # A function has no such attribute for the type checker; the catalogue looks for it.
        function.__hard_case__ = case  # type: ignore[attr-defined]
        return function

    return made


class Verdict(StrEnum):
    """How a hard case ended, or that it has not."""

    HELD = "held"
    WRONG = "wrong"
    NOT_APPLICABLE = "not applicable"
    OPEN = "not reached"


@dataclass
class Standing:
    """How far a case is.

    Attributes:
        said: What the app did instead.
        request: The number of the request that ended it.
    """

    case: HardCase
    verdict: Verdict = Verdict.OPEN
    said: str = ""
    request: int = 0


@dataclass
class Course:
    """Goes through hard cases with one app.

    A case is about the device whose request it began with: those of others neither count nor are
    judged.

    Attributes:
        standings: The cases, and how each ended.
    """

    cases: Sequence[HardCase]
    elsewhere: Elsewhere | None
    standings: Sequence[Standing] = field(init=False)
    _play: Play | None = None
    _wait: Wait | None = None
    _subject: WatchedExchange | None = None
    _polls: int = 0

    def __post_init__(self) -> None:
        self.standings = [Standing(case) for case in self.cases]

    @property
    def current(self) -> Standing | None:
        """The case that is under way; None if all have ended."""
        return next((one for one in self.standings if one.verdict is Verdict.OPEN), None)

    def fault_of(self, exchange: WatchedExchange) -> Fault | None:
        """Return what a request gets that has come; begin the next case if it is a first one."""
        if self._wait is None:
            self._begin(exchange)
        is_it = self._wait and self._is_judged(exchange) and self._wait.fits(exchange)
        return self._wait.fault if self._wait and is_it else None

    def go_on(self, exchange: WatchedExchange) -> None:
        """Let the case that is under way see an exchange that has ended."""
        if (wait := self._wait) is None or not self._is_judged(exchange):
            return
        try:
            if wait.fits(exchange) and exchange.fault is wait.fault:
                self._resume(exchange)
                return
            wait.watch(exchange)
            self._polls += is_poll(exchange)
            if wait.within_polls is not None and self._polls >= wait.within_polls:
                expect(not wait.otherwise, wait.otherwise)
                self._resume(None)
        except Wrong as wrong:
            self._end(Verdict.WRONG, exchange.number, str(wrong))

    def _is_judged(self, exchange: WatchedExchange) -> bool:
        return self._subject is not None and exchange.may_be_of(self._subject)

    def _begin(self, exchange: WatchedExchange) -> None:
        if exchange.kind is Kind.OTHER or self.elsewhere is None:
            return
        while (current := self.current) and exchange.protocol not in current.case.protocols:
            current.verdict = Verdict.NOT_APPLICABLE
        if current:
            self._play = current.case.play(self.elsewhere)
            self._subject = exchange
            self._polls, self._wait = 0, next(self._play)

    def _resume(self, exchange: WatchedExchange | None) -> None:
        assert self._play is not None
        self._polls = 0
        try:
            self._wait = self._play.send(exchange)
        except StopIteration:
            self._end(Verdict.HELD, exchange.number if exchange else 0, "")

    def _end(self, verdict: Verdict, request: int, said: str) -> None:
        current = self.current
        assert current is not None
        current.verdict, current.said, current.request = verdict, said, request
        self._play = self._wait = None

    def told(self) -> dict[str, Any]:
        """Return all of it for a program."""
        cases = [
            {
                "name": one.case.name,
                "sentence": one.case.sentence,
                "verdict": one.verdict,
                "said": one.said,
                "request": one.request,
            }
            for one in self.standings
        ]
        current = self.current
        return {"cases": cases, "asks": current.case.asks} if current else {"cases": cases}


def feed() -> str:
    """Return the URL of a feed that no other case uses."""
    return f"https://feeds.example/podsync-check-{secrets.token_hex(4)}"


def is_poll(exchange: WatchedExchange) -> bool:
    """Whether it asks what changed in the list; further pages of that are no polls."""
    return exchange.kind is Kind.POLL and exchange.is_first_page


def is_change(exchange: WatchedExchange) -> bool:
    """Whether it tells of a feed that was added or removed."""
    return exchange.kind is Kind.UPLOAD and bool(exchange.added | exchange.removed)


def a_poll(fault: Fault | None = None) -> Wait:
    """Wait for a poll, however long that takes."""
    return Wait(is_poll, fault)


def is_accepted(exchange: WatchedExchange | None) -> bool:
    """Whether a request was carried out, and its reply sent."""
    return exchange is not None and exchange.status in _DONE


def some_polls(watch: Callable[[WatchedExchange], None]) -> Play:
    """Wait for a few polls, and let `watch` look at all that is sent meanwhile."""
    yield Wait(lambda _: False, within_polls=PATIENCE_POLLS, watch=watch)


def until_told(url: str) -> Play:
    """Wait until a reply told the app of a feed, on whichever page."""
    while True:
        exchange = yield Wait(lambda one: one.kind is Kind.POLL)
        if exchange and is_accepted(exchange) and url in exchange.told:
            break


def never(
    added: str = "", removed: str = "", because: str = ""
) -> Callable[[WatchedExchange], None]:
    """Return what objects to an upload that adds the one feed, or removes the other."""

    def look(exchange: WatchedExchange) -> None:
        if exchange.kind is Kind.UPLOAD and (
            added in exchange.added or removed in exchange.removed
        ):
            did = f"adds {added}" if added in exchange.added else f"removes {removed}"
            raise Wrong(f"Request {exchange.number} {did}{because}.")

    return look
