"""The next `since`, as each kind of app chooses it."""

from __future__ import annotations

from datetime import UTC, datetime

from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.messages import Wrong
from podsync_check.servers import UrlLists
from podsync_check.simulated.interleavings import expect_no_loss

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


@check(
    Level.AGREED,
    why="A podcast added in the second of a poll never reaches Kasts.",
    seen="KDE/kasts stores timestamp + 1",
    spec="Silent about whether `since` includes its second.",
)
def since_the_timestamp_and_one_misses_nothing(server: UrlLists) -> None:
    """An app whose next `since` is the timestamp plus one misses no change."""
    missed = changes_missed(server, plus=1)
    expect(missed == 0, f"Of {TRIES} feeds added right after a poll, {missed} are lost.")


@check(
    Level.AGREED,
    why="What the laptop added between a phone's poll and its upload never reaches the phone.",
    seen="AntennaPod continues from the timestamp of its upload",
    spec="gpodder.net, Subscriptions API: the upload's timestamp is the next `since`, too.",
)
def since_its_own_upload_misses_nothing(server: UrlLists) -> None:
    """An app whose next `since` is its upload's timestamp receives earlier changes of others."""
    phone, laptop = server.apps(2)
    first, second = server.feeds(2)
    phone.changes()
    laptop.upload(add=[first])
    server.wait_for_the_next_second()
    since = phone.upload(add=[second]).timestamp
    if since is None:
        raise NotApplicable("Uploads are answered without a timestamp.")
    told = phone.changes(since)
    expect(first in told.add, "The uploading device misses what the other device added before.")


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


@check(
    Level.AGREED,
    why="An old tablet receives the changes of the last week, and lacks the rest forever.",
    seen="thrillfall/nextcloud-gpodder#17",
    spec="gpodder.net, Subscriptions API: all changes since, however long ago that is.",
)
def a_year_away_misses_nothing(server: UrlLists) -> None:
    """A poll since a year ago returns exactly the current feeds as added."""
    phone, tablet = server.apps(2)
    stays, goes = server.feeds(2)
    phone.upload(add=[stays, goes])
    since = tablet.changes().timestamp - 365 * 24 * 3600
    server.wait_for_the_next_second()
    phone.upload(remove=[goes])
    told = tablet.changes(since)
    expect(stays in told.add, "It does not receive the added feed.")
    expect(goes not in told.add, "It receives the removed feed as added.")
    if goes not in told.remove:  # the device did not have it a year ago
        server.note("Feeds added and removed since then are not returned as removed.")


@check(
    Level.AGREED,
    why="Phone, laptop and player each show another list, and plays are lost.",
    seen="madeofpendletonwool/PinePods#526",
    spec="gpodder.net and Nextcloud: devices of one account have one list.",
    runs_last=True,
)
def random_interleavings_lose_nothing(server: UrlLists) -> None:
    """Apps that behave like real ones end with the same list, whatever the order of requests."""
    try:
        expect_no_loss(server)
    except Wrong:
        server.app().expect_any_action()  # if it has none, that is the cause
        raise
