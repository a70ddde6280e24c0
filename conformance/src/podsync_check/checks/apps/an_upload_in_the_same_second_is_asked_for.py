from podsync_check.messages import Wrong
from podsync_check.watching.exchanges import URL_LISTS
from podsync_check.watching.hard_cases import Elsewhere, Play, a_poll, hard_case, is_accepted


@hard_case(
    asks="Let the app sync twice.",
    why="Two devices of a family sync in the same second, and one never learns of the podcast.",
    seen="KDE/kasts stores timestamp + 1",
    spec="gpodder.net, Subscriptions API: clients send the timestamp as the next `since`.",
    protocols=URL_LISTS,
)
def an_upload_in_the_same_second_is_asked_for(_: Elsewhere) -> Play:
    """The next poll's `since` is at most the last timestamp, to include its second."""
    first, told = None, None
    while first is None or told is None:
        first = yield a_poll()
        told = first.timestamp if first and is_accepted(first) else None
    later = yield a_poll()
    if later and later.since > told:
        raise Wrong(
            f"Request {first.number} received {told}, and request {later.number} polls since"
            f" {later.since}: it misses later uploads of the same second."
        )
