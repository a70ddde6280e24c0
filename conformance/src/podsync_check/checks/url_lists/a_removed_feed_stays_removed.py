from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="A removed podcast is back the next morning.",
    seen="AntennaPod/AntennaPod#6709",
    spec="Silent: an upload does not concern feeds that it does not name.",
)
def a_removed_feed_stays_removed(server: UrlLists) -> None:
    """A removed feed stays removed when a device unaware of it uploads another feed."""
    phone, laptop = server.apps(2)
    first, second = server.feeds(2)
    phone.upload(add=[first])
    laptop.changes()
    phone.upload(remove=[first])
    laptop.upload(add=[second])
    got = server.mine(phone.changes().add)
    expect(got == [second], f"The list is {got}; it should be only the second feed.")
