from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.AGREED,
    why="A podcast that was just added vanishes from the phone with its downloads.",
    seen="madeofpendletonwool/PinePods#502",
    spec="gpodder.net, Subscriptions API: only what was removed since is in `remove`.",
)
def what_was_uploaded_is_not_taken_back(server: UrlLists) -> None:
    """A feed that a device removed long ago and adds now is not returned as removed."""
    phone, laptop = server.apps(2)
    phone.upload(add=[server.feed()])
    phone.upload(remove=[server.feed()])
    since = laptop.changes().timestamp
    server.wait_for_the_next_second()
    laptop.upload(add=[server.feed()])
    for app, name in ((laptop, "it"), (phone, "the other device")):
        told = app.changes(since)
        expect(server.feed() not in told.remove, f"{name} receives the feed as removed.")
