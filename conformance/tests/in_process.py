"""Runs checks against a server in the same process, by a clock that waits for nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from draft_c import WithDraftC

from podsync_check.checking import Check
from podsync_check.checks import all_checks
from podsync_check.connection import Address, Connection, Credential, Limits
from podsync_check.discovery import discover, linked
from podsync_check.messages import Reply, Request
from podsync_check.reference.server import Reference
from podsync_check.running import Report, Run

ADDRESS = Address("http", "reference.invalid", 80, "")
NAME, PASSWORD = "anna", "correct hörse~~battery???"


class Clock:
    """Goes on by a little with each look, and at once by as much as somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def __call__(self) -> float:
        self.seconds += 0.01
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class DirectConnection(Connection):
    """Hands requests to a server without a network."""

    server: Reference

    def exchange(self, request: Request, headers: Mapping[str, str]) -> Reply:
        lower = {name.lower(): text for name, text in headers.items()}
        lower["host"] = "reference.invalid"
        return self.server.answer(request.method, request.target, lower, request.body)


def run(
    server: Reference,
    clock: Clock,
    checks: Sequence[Check] | None = None,
    *,
    seed: int = 1,
    is_thorough: bool = False,
) -> Report:
    """Run checks, all by default; return the report."""
    limits = Limits(requests=100_000, ends_at_seconds=float("inf"))
    connection = DirectConnection(ADDRESS, limits, clock=clock, sleep=clock.sleep)
    connection.server = server
    credential = Credential(NAME, PASSWORD)
    found = linked(connection, credential, discover(connection, credential))
    protocols = [protocol.protocol for protocol in found.protocols]
    report = Report(str(ADDRESS), protocols, "0", "", seed=seed)
    run = Run(connection, credential, found, report, lambda *_: None, lambda _: None)
    run.is_thorough = is_thorough
    run.go(all_checks() if checks is None else checks)
    return report


def new_server() -> tuple[Reference, Clock]:
    clock = Clock()
    return WithDraftC(NAME, PASSWORD, clock), clock
