from podsync_check.watching.exchanges import Kind, WatchedExchange
from podsync_check.watching.faults import Fault
from podsync_check.watching.hard_cases import (
    PATIENCE_POLLS,
    Elsewhere,
    Play,
    Wait,
    hard_case,
    is_change,
)


@hard_case(
    asks="Add one new feed in the app, and leave it alone; let it sync until this is over.",
    why="A podcast added while the server was down stays on that phone only, forever.",
    seen="AntennaPod/AntennaPod#569: 502 and timeouts, every day",
    spec="RFC 9110, 15.6.4: the service is unable to handle the request now.",
)
def a_change_that_meets_503_is_sent_again(_: Elsewhere) -> Play:
    """A change answered with 503 is sent again."""
    first = yield Wait(is_change, Fault.UNAVAILABLE)
    assert first is not None
    added, removed = set(first.added), set(first.removed)

    def completes(later: WatchedExchange) -> bool:
        if later.kind is Kind.UPLOAD and later is not first:
            added.difference_update(later.added)
            removed.difference_update(later.removed)
        return not added | removed

    yield Wait(
        completes,
        within_polls=PATIENCE_POLLS,
        otherwise=f"Request {first.number} got 503, and its content was not sent again.",
    )
