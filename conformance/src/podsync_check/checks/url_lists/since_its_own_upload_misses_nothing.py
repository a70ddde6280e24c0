from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.servers import UrlLists


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
