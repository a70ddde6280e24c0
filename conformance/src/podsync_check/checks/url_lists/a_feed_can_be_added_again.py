from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="A podcast that somebody comes back to is on the phone, and on no other device.",
    seen="thrillfall/nextcloud-gpodder, its table of subscriptions keeps removed ones",
    spec="gpodder.net, Subscriptions API: each upload changes the list of the device.",
)
def a_feed_can_be_added_again(server: UrlLists) -> None:
    """A feed that is removed and added again is in the list of another device."""
    phone, laptop = server.apps(2)
    phone.upload(add=[server.feed()])
    phone.upload(remove=[server.feed()])
    since = laptop.changes().timestamp
    server.wait_for_the_next_second()
    phone.upload(add=[server.feed()])
    told = laptop.changes(since)
    expect(server.feed() in told.add, "The other device is not told that the feed is back.")
    expect(server.feed() not in told.remove, "The other device is told to remove it as well.")
