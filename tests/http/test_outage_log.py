"""What the log tells of an outage of the store: when it began, and when it ended."""

import asyncio

import pytest
from structlog.testing import capture_logs

from feedkeep.http import error_responses as module
from feedkeep.http.error_responses import Outages
from feedkeep.model.errors import StoreUnavailable

AWAY = StoreUnavailable("It is away.")
KINDS = {"write": ("POST", "/lists"), "read": ("GET", "/lists"), "poll": ("GET", "/readyz")}


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(module, "QUIET_SECONDS", 0)


async def logged(*steps):
    """Return the log of requests that failed (-) or succeeded (+); `...` lets time pass."""
    outages = Outages()
    with capture_logs() as lines:
        for step in steps:
            if step == "...":
                await asyncio.sleep(0.001)
            elif step[0] == "-":
                outages.failed(KINDS[step[1:]], AWAY, is_poll=step == "-poll")
            else:
                outages.succeeded(KINDS[step[1:]])
    return lines


async def test_outage_that_ended_is_logged_with_its_reason_and_failed_requests():
    began, ended = await logged("-poll", "-write", "-read", "+write", "...")
    assert (began["event"], began["reason"]) == ("store outage began", "It is away.")
    assert (ended["event"], ended["failed_requests"]) == ("store outage ended", 2)
    assert ended["duration_seconds"] >= 0


@pytest.mark.parametrize(
    ("steps", "events", "failed"),
    [
        ("-write +read +poll ...", "began", []),  # requests of other kinds
        ("-write +write -read ...", "began", []),  # others fail soon after a success
        ("-write +write -write +write ...", "began ended", [2]),
        ("-write +write ... +write ... -write", "began ended began", [1]),
        ("-write +write ... -read +read ...", "began ended began ended", [1, 1]),
    ],
)
async def test_outage_ends_once_requests_succeed_that_failed_before(steps, events, failed):
    lines = await logged(*steps.split())
    assert [line["event"] for line in lines] == [f"store outage {one}" for one in events.split()]
    assert [line["failed_requests"] for line in lines if "failed_requests" in line] == failed
