from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists

TRIES = 8


@check(
    Level.AGREED,
    why="A podcast added in the second of a poll never reaches the other device.",
    seen="gPodder continues from `timestamp` unchanged",
    spec="gpodder.net, Subscriptions API: `timestamp` is the `since` of the next poll.",
)
def since_the_timestamp_misses_nothing(server: UrlLists) -> None:
    """An app whose next `since` is the last timestamp misses no change in that second."""
    missed = changes_missed(server, plus=0)
    expect(missed == 0, f"Of {TRIES} feeds added right after a poll, {missed} are lost.")


def changes_missed(server: UrlLists, plus: int) -> int:
    """Count the feeds missed by a device whose `since` is the timestamp and `plus` seconds."""
    phone, laptop = server.apps(2)
    known = set[str]()
    since = laptop.changes().timestamp
    for feed in server.feeds(TRIES):
        phone.upload(add=[feed])
        told = laptop.changes(since)
        known.update(told.add)
        since = told.timestamp + plus
    server.wait_for_the_next_second()
    known.update(laptop.changes(since).add)
    return len(set(server.feeds(TRIES)) - known)
