from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


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
