"""Run checks against a server, and record the results."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from podsync_check.checking import Check, Level, NotApplicable
from podsync_check.connection import Connection, Credential, Exchange, Session, Spent
from podsync_check.discovery import Found
from podsync_check.messages import Wrong
from podsync_check.servers import (
    DEVICES,
    MARK,
    Gpodder,
    Nextcloud,
    OpenPodcast,
    Server,
)


class Outcome(StrEnum):
    """Result of a check.

    Attributes:
        DIFFERS: The server decides otherwise than feedkeep where public texts are open.
        NOT_APPLICABLE: The server lacks the feature under test.
        NOT_RUN: The request or time limit was used up.
    """

    PASSED = "passed"
    FAILED = "failed"
    DIFFERS = "differs"
    NOT_APPLICABLE = "not applicable"
    NOT_RUN = "not run"


BAD = (Outcome.FAILED, Outcome.DIFFERS)
"""Outcomes that show a fault of the server."""


@dataclass(frozen=True)
class Result:
    """Result of one check in one protocol.

    Attributes:
        said: The server's wrong behaviour, or the reason why the check did not run.
        cause: The fault behind it, or the check; results with the same cause belong together.
        exchanges: Exchanges that reproduce a failure; empty if the check passed.
    """

    check: Check
    protocol: str
    outcome: Outcome
    said: str
    cause: str
    notes: Sequence[str]
    exchanges: Sequence[Exchange]
    seconds: float


@dataclass
class Report:
    """Results of a run.

    Attributes:
        left_behind: Data that the run could not remove.
    """

    address: str
    protocols: Sequence[str]
    version: str
    began: str
    seed: int
    results: list[Result] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)
    requests: int = 0
    seconds: float = 0.0

    def score(self, level: Level, protocol: str = "") -> tuple[int, int]:
        """Return the number of passed checks of a level, and of applicable ones."""
        counted = [
            result.outcome
            for result in self.results
            if result.check.level is level and protocol in {"", result.protocol}
        ]
        passed = counted.count(Outcome.PASSED)
        return passed, passed + sum(map(counted.count, BAD))

    @property
    def is_complete(self) -> bool:
        """Whether every check was run and none failed."""
        bad = {Outcome.FAILED, Outcome.NOT_RUN}
        return not any(result.outcome in bad for result in self.results)


@dataclass
class Run:
    """One run of checks against one server.

    Attributes:
        begin: Called with the number of each check, from 1, the count of all, and its path.
        tell: Called with each result.
        is_strict: Whether a decision otherwise than feedkeep's is a failure.
        allowed: Checks whose differences are no failures.
        is_thorough: Whether random interleavings are played for long.
    """

    connection: Connection
    credential: Credential
    found: Found
    report: Report
    begin: Callable[[int, int, str], None]
    tell: Callable[[Result], None]
    is_strict: bool = False
    allowed: Collection[Check] = ()
    is_thorough: bool = False
    _sessions: dict[int, Session] = field(default_factory=dict)

    def go(self, checks: Sequence[Check]) -> None:
        """Run checks in all protocols that they apply to, then remove the feeds."""
        began = time.monotonic()
        run = secrets.token_hex(3)
        todo = [
            (check, protocol)
            for check in sorted(checks, key=lambda check: check.runs_last)
            for protocol in self.found.protocols
            if issubclass(protocol, check.asks_for)
        ]
        for number, (check, protocol) in enumerate(todo, 1):
            self.begin(number, len(todo), f"{check.path} ({protocol.protocol})")
            result = self._run(check, self._server(protocol, f"{MARK}{run}-{number}"))
            self.report.results.append(result)
            self.tell(result)
        self._clear_away(f"{MARK}{run}-")
        self.report.requests = len(self.connection.exchanges)
        self.report.seconds = time.monotonic() - began

    def _server(self, protocol: type[Server], mark: str) -> Server:
        spoken, seed = self.found.protocols, self.report.seed
        server = protocol(self.connection, self.credential, mark, spoken=spoken, seed=seed)
        server.is_thorough = self.is_thorough
        if isinstance(server, OpenPodcast):
            server.prefix = self.found.prefix
        elif isinstance(server, Gpodder):
            server.sessions = self._sessions
            server.devices = self.found.devices
            server.takes_passwords = self.found.takes_passwords
        return server

    def _run(self, check: Check, server: Server) -> Result:
        began, first = time.monotonic(), len(self.connection.exchanges)
        outcome, said, cause, shown = Outcome.PASSED, "", "", None
        try:
            check.run(server)
        except Wrong as wrong:
            outcome, said, cause = Outcome.FAILED, str(wrong), wrong.cause
            shown = wrong.exchanges
        except NotApplicable as reason:
            outcome, said = Outcome.NOT_APPLICABLE, str(reason)
        except Spent:
            outcome = Outcome.NOT_RUN
            said = cause = "The run's requests or time ran out."
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            # The reply is JSON of an unexpected shape.
            outcome, said = Outcome.FAILED, f"The reply has another shape: {error!r}."
        is_open = check.level is Level.FEEDKEEP and not self.is_strict
        if outcome is Outcome.FAILED and (is_open or check in self.allowed):
            outcome = Outcome.DIFFERS
        exchanges = (shown or self.connection.exchanges[first:]) if outcome in BAD else []
        seconds = time.monotonic() - began
        cause = cause or f"{check.path} {outcome}"
        notes = list(server.notes)
        return Result(check, server.protocol, outcome, said, cause, notes, exchanges, seconds)

    def _clear_away(self, marked: str) -> None:
        """Remove the feeds that checks added, and report leftovers."""
        left = self.report.left_behind
        self.connection.limits.requests += 50  # always enough for the cleanup
        self.connection.limits.ends_at_seconds += 30
        for protocol in self.found.protocols:
            server = self._server(protocol, marked)
            with suppress(Wrong, Spent, LookupError, TypeError):
                server.clear_away()
        if Gpodder in self.found.protocols:
            left.append(f"the devices {DEVICES[0]} to {DEVICES[-1]}: the API cannot delete them")
        if {Gpodder, Nextcloud} & set(self.found.protocols):
            left.append("episode actions of feeds whose host ends in .example")
