from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.KEPT,
    why="A podcast that moved to another host is listed twice, or missing.",
    seen="AntennaPod/AntennaPod#2214",
    spec="Draft A: `new_feed_url` replaces the URL; the old one stays linked to the subscription.",
)
def a_moved_feed_is_one_subscription(server: OpenPodcast) -> None:
    """A subscription with a new URL keeps its guid, and its old URL redirects to it."""
    old, new = server.feed("old"), server.feed("new")
    guid = server.add_one(old)["guid"]
    changed = server.patch(guid, new_feed_url=new)
    expect(changed.get("new_feed_url") == new, f"The reply is {changed}.")
    expect(server.get(guid)["feed_url"] == new, "It still has its old URL.")
    again = server.add_one(old)["guid"]
    expect(again == guid, "An app unaware of the move creates a second subscription.")
