from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast

STAMPS = ("subscription_changed", "guid_changed", "deleted")


@check(
    Level.AGREED,
    why="A podcast added in the second of a sync never reaches the other device.",
    seen="OpenPodcastAPI/api-specs, subscriptions/get-all.mdx",
    spec="Draft A: `since` returns later changes.",
)
def following_the_list_misses_nothing(server: OpenPodcast) -> None:
    """A device whose next `since` is the greatest timestamp it received misses no change."""
    known, since = set[str](), ""
    feeds = server.feeds(12)
    for feed in feeds:
        server.add_one(feed)
        entries = server.entries(since)
        known |= {entry["feed_url"] for entry in entries}
        stamps = [str(entry[name]) for entry in entries for name in STAMPS if entry.get(name)]
        since = max([*stamps, since])
    missed = set(feeds) - known
    expect(not missed, f"Of {len(feeds)} feeds, {len(missed)} were not returned.")
    expect(not server.listed(since), "A poll since the last timestamp returns an entry again.")
