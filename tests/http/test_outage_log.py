"""What the log tells of an outage of the store: when it began, and when it ended."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from feedkeep.http import outage_log as module
from feedkeep.http.outage_log import Outages
from feedkeep.model.errors import StoreUnavailable

AWAY = StoreUnavailable("It is away.")


def test_an_outage_lasts_until_the_store_is_ready_and_no_request_fails_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        looks = iter(["away", "one machine is away", "ready"])

        async def assert_ready() -> None:
            match next(looks):
                case "away":
                    raise AWAY
                case "one machine is away":
                    outages.note(AWAY, is_poll=False)

        outages = Outages(assert_ready)
        for is_poll in (True, False, False):
            outages.note(AWAY, is_poll=is_poll)
        assert outages._watching is not None
        await outages._watching
        assert list(looks) == []
        assert outages._watching is None  # the next failure begins another one

    monkeypatch.setattr(module, "LOOK_SECONDS", 0)
    with capture_logs() as lines:
        asyncio.run(work())
    began, ended = lines
    assert (began["event"], began["reason"]) == ("store outage began", "It is away.")
    assert (ended["event"], ended["failed_requests"]) == ("store outage ended", 3)
    assert ended["duration_seconds"] >= 0
