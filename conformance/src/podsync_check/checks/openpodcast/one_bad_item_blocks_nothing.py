from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.TOLERANT,
    why="One bad line in a file, and nothing of it is imported.",
    seen="OpenPodcastAPI/api-specs, subscriptions/add-new.mdx",
    spec="Draft A: each item is handled on its own; `failure` has the URL and a message.",
)
def one_bad_item_blocks_nothing(server: OpenPodcast) -> None:
    """A good URL is under `success`, a bad one beside it under `failure` with a message."""
    bad = server.feed("bad").removeprefix("https://")
    added = server.add({"feed_url": bad}, {"feed_url": server.feed()})
    good = [item["feed_url"] for item in added.success]
    expect(good == [server.feed()], f"`success` has {good}.")
    refused = [item["feed_url"] for item in added.failure]
    expect(refused == [bad], f"`failure` has {refused}.")
    expect(bool(added.failure[0]["message"]), "The failure has no message.")
