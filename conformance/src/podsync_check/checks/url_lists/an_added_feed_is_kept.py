from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="A podcast added on the phone never shows up on the laptop.",
    seen="SamTV12345/PodFetch#453",
    spec="gpodder.net, Subscriptions API: other devices receive uploaded changes.",
)
def an_added_feed_is_kept(server: UrlLists) -> None:
    """A feed that one device adds is in the list of another."""
    phone, laptop = server.apps(2)
    phone.upload(add=[server.feed()])
    got = server.mine(laptop.changes().add)
    expect(got == [server.feed()], f"The other device receives {got} instead of the added feed.")
