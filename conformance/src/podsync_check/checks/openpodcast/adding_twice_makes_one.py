from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.KEPT,
    why="After a tunnel, every podcast is listed twice.",
    seen="OpenPodcastAPI/api-specs, subscriptions/add-new.mdx",
    spec="Draft A: a known feed is not created again.",
)
def adding_twice_makes_one(server: OpenPodcast) -> None:
    """A feed added twice is one subscription, with the same guid."""
    guids = {server.add_one(server.feed())["guid"] for _ in range(2)}
    expect(len(guids) == 1, f"It has the guids {sorted(guids)}.")
    expect(len(server.listed()) == 1, f"The list has it {len(server.listed())} times.")
