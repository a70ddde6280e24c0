from podsync_check.messages import Wrong
from podsync_check.watching.exchanges import Kind, WatchedExchange
from podsync_check.watching.faults import Fault
from podsync_check.watching.hard_cases import (
    Elsewhere,
    Play,
    Wait,
    hard_case,
    is_change,
    some_polls,
)


@hard_case(
    asks="Add one new feed in the app, and leave it alone; let it sync until this is over.",
    why="The train enters a tunnel, and the podcast just removed is back.",
    seen="feedkeep's own tests of lost replies",
    spec="RFC 9110, 9.2.2: if a reply is lost, the request's outcome is unknown.",
)
def a_change_whose_reply_is_lost_is_not_reverted(_: Elsewhere) -> Play:
    """A change whose reply is lost is sent again or left alone, never reverted."""
    first = yield Wait(is_change, Fault.LOST)
    assert first is not None
    added, removed, number = first.added, first.removed, first.number

    def look(exchange: WatchedExchange) -> None:
        if exchange.kind is Kind.UPLOAD and (added & exchange.removed or removed & exchange.added):
            raise Wrong(
                f"Request {exchange.number} reverts request {number}, which had taken effect."
            )

    yield from some_polls(look)
