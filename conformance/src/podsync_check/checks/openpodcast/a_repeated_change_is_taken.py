from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.KEPT,
    why="The phone's queue stops at a change that was already made.",
    seen="clients of the API repeat requests without a reply",
    spec="Draft A: PATCH sets values.",
)
def a_repeated_change_is_taken(server: OpenPodcast) -> None:
    """A change sent twice is accepted twice, and applied once."""
    guid = server.add_one(server.feed("old"))["guid"]
    for _ in range(2):
        server.patch(guid, new_feed_url=server.feed("new"), is_subscribed=False)
    got = server.get(guid)
    told = (got["feed_url"], got["is_subscribed"])
    expect(told == (server.feed("new"), False), f"It is {told}.")
