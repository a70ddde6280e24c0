from datetime import UTC, datetime

from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists

TRIES = 8


@check(
    Level.AGREED,
    why="A position uploaded in the second of a poll never reaches the other device.",
    seen="KDE/kasts stores timestamp + 1; gPodder stores it unchanged",
    spec="gpodder.net, Episode Actions API: `timestamp` is the `since` of the next poll.",
)
def actions_since_the_timestamp_miss_nothing(server: UrlLists) -> None:
    """Apps whose next `since` is the timestamp, or one more, receive all actions."""
    for plus in (0, 1):
        missed = _missed(server, plus, server.feed(f"plus-{plus}"))
        asked = "the timestamp" if plus == 0 else "the timestamp + 1"
        expect(missed == 0, f"With a poll since {asked}, {missed} of {TRIES} episodes are lost.")


def _missed(server: UrlLists, plus: int, feed: str) -> int:
    phone, laptop = server.apps(2)
    known = set[str]()
    since = laptop.actions().timestamp
    for number in range(TRIES):
        now = datetime.fromtimestamp(server.connection.clock(), UTC)
        time = now.strftime("%Y-%m-%dT%H:%M:%S")
        phone.upload_actions(server.play(feed, number, timestamp=time))
        told = laptop.actions(since)
        known.update(one["episode"] for one in told.actions if one["podcast"] == feed)
        since = told.timestamp + plus
    server.wait_for_the_next_second()
    known.update(one["episode"] for one in laptop.played(feed, since))
    return TRIES - len(known)
