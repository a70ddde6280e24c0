"""Log of outages of the store: their beginning and their end."""

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


@pytest.mark.parametrize(
    ("steps", "events", "failed"),
    [
        ("-poll -write -read +write ...", "began ended", [2]),
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
    began, ended = lines[::2], lines[1::2]
    assert {line["reason"] for line in began} == {"It is away."}
    assert [line["failed_requests"] for line in ended] == failed
    assert all(line["duration_seconds"] >= 0 for line in ended)
