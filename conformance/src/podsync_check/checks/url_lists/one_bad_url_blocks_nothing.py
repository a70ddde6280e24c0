from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists

BAD = ("antennapod_local:content://tree/primary%3AMusic", "feed", "", "ftp://example.com/feed")


@check(
    Level.TOLERANT,
    why="One local folder among the podcasts, and sync fails from then on.",
    seen="AntennaPod/AntennaPod#7209",
    spec="gpodder.net, Subscriptions API: the reply has an empty URL for an unusable one.",
)
def one_bad_url_blocks_nothing(server: UrlLists) -> None:
    """An unusable URL in an upload does not prevent the others from being accepted."""
    phone, laptop = server.apps(2)
    for number, bad in enumerate(BAD):
        feed = server.feed(f"{number}")
        phone.upload(add=[bad, feed])
        expect(feed in laptop.changes().add, f"Together with {bad!r}, the good URL is not kept.")
    left = [bad for bad in BAD if bad in laptop.changes().add]
    if left:
        server.note(f"It keeps {left} as feeds.")
        phone.upload(remove=left)
