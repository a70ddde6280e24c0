from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="A podcast that a user adds again is on the phone, but on no other device.",
    seen="thrillfall/nextcloud-gpodder, whose table of subscriptions keeps removed ones",
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
    expect(server.feed() in told.add, "The other device does not receive the feed again.")
    expect(server.feed() not in told.remove, "The other device also receives it as removed.")
