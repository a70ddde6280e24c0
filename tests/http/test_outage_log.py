"""What the log tells of an outage of the store: when it began, and when it ended."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from feedkeep.http import error_responses as module
from feedkeep.http.error_responses import Outages
from feedkeep.model.errors import StoreUnavailable

AWAY = StoreUnavailable("It is away.")
WRITE, READ, POLL = ("POST", "/lists"), ("GET", "/lists"), ("GET", "/readyz")


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(module, "QUIET_SECONDS", 0)


def logged(*steps: str) -> list[MutableMapping[str, Any]]:
    """Return the log of requests that failed (-) or succeeded (+); `...` lets time pass."""

    async def work() -> None:
        outages = Outages()
        kinds = {"write": WRITE, "read": READ, "poll": POLL}
        for step in steps:
            if step == "...":
                await asyncio.sleep(0.001)
            elif step[0] == "-":
                outages.failed(kinds[step[1:]], AWAY, is_poll=step == "-poll")
            else:
                outages.succeeded(kinds[step[1:]])

    with capture_logs() as lines:
        asyncio.run(work())
    return lines


def events(*steps: str) -> list[str]:
    return [line["event"].rpartition(" ")[2] for line in logged(*steps)]


def test_outage_that_ended_is_logged_with_its_reason_and_failed_requests():
    began, ended = logged("-poll", "-write", "-read", "+write", "...")
    assert (began["event"], began["reason"]) == ("store outage began", "It is away.")
    assert (ended["event"], ended["failed_requests"]) == ("store outage ended", 2)
    assert ended["duration_seconds"] >= 0


def test_outage_does_not_end_by_requests_of_other_kinds():
    assert events("-write", "+read", "+poll", "...") == ["began"]


def test_outage_does_not_end_while_other_requests_fail_soon_after_a_success():
    assert events("-write", "+write", "-read", "...") == ["began"]
    assert events("-write", "+write", "-write", "+write", "...") == ["began", "ended"]


def test_failure_after_the_end_begins_another_outage():
    assert events("-write", "+write", "...", "+write", "...", "-write") == [
        "began", "ended", "began",
    ]  # fmt: skip
    assert logged("-write", "+write", "...", "-read", "+read", "...")[3]["failed_requests"] == 1
