from podsync_check.messages import Wrong
from podsync_check.watching.faults import Fault
from podsync_check.watching.hard_cases import Elsewhere, Play, a_poll, hard_case


@hard_case(
    asks="Let the app sync twice.",
    why="The app never requests the missing half again.",
    seen="feedkeep's own tests of lost replies",
    spec="RFC 9110, 8.6: a body that is shorter than Content-Length is incomplete.",
)
def a_reply_that_breaks_off_is_not_believed(_: Elsewhere) -> Play:
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
