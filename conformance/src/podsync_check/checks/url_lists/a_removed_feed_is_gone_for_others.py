from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="A podcast removed on the phone stays on the laptop, or comes back.",
    seen="AntennaPod/AntennaPod#1116",
    spec="gpodder.net, Subscriptions API: `remove` has the feeds that were removed since.",
)
def a_removed_feed_is_gone_for_others(server: UrlLists) -> None:
    """A feed that one device removes is a removal for another, and in no list afterwards."""
    phone, laptop = server.apps(2)
    phone.upload(add=[server.feed()])
    server.wait_for_the_next_second()
    since = laptop.changes().timestamp
    server.wait_for_the_next_second()
    phone.upload(remove=[server.feed()])
    told = laptop.changes(since)
    expect(server.feed() in told.remove, "The other device does not receive the removal.")
    expect(server.feed() not in told.add, "The other device receives the removed feed as added.")
    expect(server.feed() not in laptop.changes().add, "A new device receives it as added.")
