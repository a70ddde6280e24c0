from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.AGREED,
    why="In a long list, entries between two pages are missing.",
    seen="OpenPodcastAPI/api-specs, subscriptions/get-all.mdx",
    spec="Draft A: `page`, `per_page`, `next` and `previous`.",
)
def pages_have_everything_once(server: OpenPodcast) -> None:
    """The pages linked by `next` have each of 25 feeds once."""
    feeds = server.feeds(25)
    server.add(*({"feed_url": feed} for feed in feeds))
    got = sorted(entry["feed_url"] for entry in server.listed(per_page=10))
    expect(
        got == sorted(feeds),
        f"Of {len(feeds)} feeds, {len(set(got))} are returned, in {len(got)} entries.",
    )
