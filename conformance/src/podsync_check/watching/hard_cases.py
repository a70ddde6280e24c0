"""Hard cases for apps, run in sequence: each injects faults into requests, and judges the app.

A case is a generator in `checks/apps/`. It yields conditions to wait for, and receives
the matching exchange; in between, another device changes the list.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from podsync_check.checking import Tested, expect
from podsync_check.messages import Wrong
from podsync_check.reference.server import OtherDevice
from podsync_check.watching.exchanges import OPEN_PODCAST, URL_LISTS, Fault, Kind, WatchedExchange

PATIENCE_POLLS = 3
"""Number of polls within which an app must react."""

ADD_ONE = "Add one new feed in the app, and leave it alone; let it sync until this is over."
"""Instruction of the cases about an app's own changes."""

_PROTOCOLS = frozenset({*URL_LISTS, OPEN_PODCAST})
_DONE = {200, 202}


@dataclass(frozen=True)
class Wait:
    """Condition that a case waits for.

    Attributes:
        fits: Whether a request matches, judged before its reply.
        fault: Fault to inject into that request.
        within_polls: Maximum number of polls of the list until then; a sync has one. None waits for
            a person.
        otherwise: Error text if no request matches in time; "" if that is acceptable.
        watch: Called for each other exchange; raises `Wrong` for a wrong one.
    """

    fits: Callable[[WatchedExchange], bool]
    fault: Fault | None = None
    within_polls: int | None = None
    otherwise: str = ""
    watch: Callable[[WatchedExchange], None] = lambda _: None


Play: TypeAlias = Generator[Wait, WatchedExchange | None, None]
"""A running case; receives None if no request matched in time and that is acceptable."""


@dataclass(frozen=True)
class HardCase(Tested):
    """A property of good apps, and its test.

    Attributes:
        asks: Instruction to the person with the app.
        protocols: Protocols that it applies to.
    """

    play: Callable[[OtherDevice], Play]
    asks: str
    protocols: frozenset[str]


F = TypeVar("F", bound=Callable[[OtherDevice], Play])


def hard_case(
    *, asks: str, why: str, seen: str, spec: str, protocols: frozenset[str] = _PROTOCOLS
) -> Callable[[F], F]:
    """Decorator: make a hard case of a generator; the docstring is the sentence."""

    def made(function: F) -> F:
        told = (function.__name__, (function.__doc__ or "").strip(), why, seen, spec)
        # Type checkers do not know this attribute of a function; the catalogue reads it.
        function.__hard_case__ = HardCase(  # type: ignore[attr-defined]
            *told, function, asks, protocols
        )
        return function

    return made


class Verdict(StrEnum):
    """Result of a hard case."""

    HELD = "held"
    WRONG = "wrong"
    NOT_APPLICABLE = "not applicable"
    OPEN = "not reached"


@dataclass
class Standing:
    """Progress of a case.

    Attributes:
        said: The app's wrong behaviour.
        request: Number of the request that ended the case.
    """

    case: HardCase
    verdict: Verdict = Verdict.OPEN
    said: str = ""
    request: int = 0


@dataclass
class Course:
    """Runs hard cases with one app, in sequence.

    A case judges only the device whose request started it.

    Attributes:
        standings: Cases with their results.
    """

    cases: Sequence[HardCase]
    elsewhere: OtherDevice | None
    standings: Sequence[Standing] = field(init=False)
    _play: Play | None = None
    _wait: Wait | None = None
    _subject: WatchedExchange | None = None
    _polls: int = 0

    def __post_init__(self) -> None:
        self.standings = [Standing(case) for case in self.cases]

    @property
    def current(self) -> Standing | None:
        """The case in progress; None if all have ended."""
        return next((one for one in self.standings if one.verdict is Verdict.OPEN), None)

    def fault_of(self, exchange: WatchedExchange) -> Fault | None:
        """Return the fault for a request; starts the next case if none is in progress."""
        if self._wait is None:
            self._begin(exchange)
        is_it = self._wait and self._is_judged(exchange) and self._wait.fits(exchange)
        return self._wait.fault if self._wait and is_it else None

    def go_on(self, exchange: WatchedExchange) -> None:
        """Pass a completed exchange to the case in progress."""
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
        if self._play:
            self._play.close()  # it may have limited the server
        self._play = self._wait = None

    def told(self) -> dict[str, Any]:
        """Return the state for programs."""
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
    """Return a feed URL that is unique to a case."""
    return f"https://feeds.example/podsync-check-{secrets.token_hex(4)}"


def is_poll(exchange: WatchedExchange) -> bool:
    """Whether the request polls for changes of the list; further pages do not count."""
    return exchange.kind is Kind.POLL and exchange.is_first_page


def is_change(exchange: WatchedExchange) -> bool:
    """Whether the request uploads an added or removed feed."""
    return bool(exchange.changes)


def a_poll(fault: Fault | None = None) -> Wait:
    """Wait for a poll, without a time limit."""
    return Wait(is_poll, fault)


def is_accepted(exchange: WatchedExchange | None) -> bool:
    """Whether a request was carried out and answered."""
    return exchange is not None and exchange.status in _DONE


def some_polls(watch: Callable[[WatchedExchange], None]) -> Play:
    """Wait for a few polls, while `watch` sees all exchanges."""
    yield Wait(lambda _: False, within_polls=PATIENCE_POLLS, watch=watch)


def until_told(*urls: str) -> Play:
    """Wait until replies have sent the app some feeds, on any page."""
    missing = set(urls)
    while missing:
        exchange = yield Wait(lambda one: one.kind is Kind.POLL)
        if exchange and is_accepted(exchange):
            missing.difference_update(exchange.told)


def never(
    added: str = "", removed: str = "", because: str = ""
) -> Callable[[WatchedExchange], None]:
    """Return a function that objects to uploads that add or remove the given feeds."""

    def look(exchange: WatchedExchange) -> None:
        if {(added, True), (removed, False)} & exchange.changes:
            did = f"adds {added}" if added in exchange.added else f"removes {removed}"
            raise Wrong(f"Request {exchange.number} {did}{because}.")

    return look
