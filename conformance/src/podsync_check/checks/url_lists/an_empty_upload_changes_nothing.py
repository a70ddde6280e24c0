from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="A new app without changes empties the list on every device.",
    seen="madeofpendletonwool/PinePods#502",
    spec="gpodder.net, Subscriptions API: the upload has the changes, not the list.",
)
def an_empty_upload_changes_nothing(server: UrlLists) -> None:
    """An empty upload changes nothing."""
    phone, laptop = server.apps(2)
    phone.upload(add=server.feeds(3))
    laptop.upload()
    got = server.mine(phone.changes().add)
    expect(got == sorted(server.feeds(3)), f"Of three feeds, {len(got)} are left.")
