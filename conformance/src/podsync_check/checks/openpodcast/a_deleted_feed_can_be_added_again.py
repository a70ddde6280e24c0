from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.KEPT,
    why="A user cannot subscribe again to a deleted podcast.",
    seen="OpenPodcastAPI/api-specs, subscriptions/add-new.mdx",
    spec="Draft A: `deleted` is cleared when a deleted feed is added.",
)
def a_deleted_feed_can_be_added_again(server: OpenPodcast) -> None:
    """Adding a deleted feed subscribes to it again."""
    guid = server.add_one(server.feed())["guid"]
    server.delete(guid)
    again = server.add_one(server.feed())["guid"]
    got = server.get(again)
    expect(got["is_subscribed"] is True, "It is not subscribed to.")
    expect("deleted" not in got or got["deleted"] is None, "It is still returned as deleted.")
