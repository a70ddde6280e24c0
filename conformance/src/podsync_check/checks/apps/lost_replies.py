"""Requests whose reply is lost, truncated or late: their outcome is unknown to the app."""

from __future__ import annotations

from podsync_check.messages import Wrong
from podsync_check.reference.elsewhere import OtherDevice
from podsync_check.watching.exchanges import WatchedExchange
from podsync_check.watching.faults import SLOW_SECONDS, Fault
from podsync_check.watching.hard_cases import (
    ADD_ONE,
    Play,
    Wait,
    a_poll,
    hard_case,
    is_change,
    some_polls,
)


def _not_reverted(fault: Fault) -> Play:
    """Inject a fault into a change, and require that nothing opposite is sent."""
    first = yield Wait(is_change, fault)
    assert first is not None
    opposite = {(url, not is_added) for url, is_added in first.changes}

    def look(exchange: WatchedExchange) -> None:
        if opposite & exchange.changes:
            raise Wrong(
                f"Request {exchange.number} reverts request {first.number}, which had taken effect."
            )

    yield from some_polls(look)


@hard_case(
    asks=ADD_ONE,
    why="The train enters a tunnel, and the podcast just removed is back.",
    seen="feedkeep's own tests of lost replies",
    spec="RFC 9110, 9.2.2: if a reply is lost, the request's outcome is unknown.",
)
def a_change_whose_reply_is_lost_is_not_reverted(_: OtherDevice) -> Play:
    """A change whose reply is lost is sent again or left alone, never reverted."""
    yield from _not_reverted(Fault.LOST)


@hard_case(
    asks=ADD_ONE,
    why="On a slow evening, each sync undoes what the one before has done.",
    seen=f"OkHttp, of AntennaPod, gives up after 10 seconds; this reply takes {SLOW_SECONDS:.0f}",
    spec="RFC 9110, 9.2.2: if no reply came in time, the request's outcome is unknown.",
)
def a_change_whose_reply_is_slow_is_not_reverted(_: OtherDevice) -> Play:
    """A change whose reply comes late is sent again or left alone, never reverted."""
    yield from _not_reverted(Fault.SLOW)


@hard_case(
    asks="Let the app sync twice.",
    why="The app never requests the missing half again.",
    seen="feedkeep's own tests of lost replies",
    spec="RFC 9110, 8.6: a body that is shorter than Content-Length is incomplete.",
)
def a_reply_that_breaks_off_is_not_believed(_: OtherDevice) -> Play:
    """After a truncated reply, the app repeats the request."""
    first = yield a_poll(Fault.TORN)
    assert first is not None
    later = yield a_poll()
    assert later is not None
    before, after = first.asked.get("since", ""), later.asked.get("since", "")
    # Compare seconds as numbers, and date-times as texts.
    if (later.since, after) > (first.since, before):
        raise Wrong(
            f"The reply to request {first.number}, since={before}, was truncated, and request"
            f" {later.number} polls since {after}."
        )
