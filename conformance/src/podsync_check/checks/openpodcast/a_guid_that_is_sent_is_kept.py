import uuid

from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.KEPT,
    why="Two apps know the same podcast by different guids, and neither finds the other's.",
    seen="OpenPodcastAPI/api-specs, subscriptions/add-new.mdx",
    spec="Draft A: the subscription has the guid that was sent.",
)
def a_guid_that_is_sent_is_kept(server: OpenPodcast) -> None:
    """A subscription added with a guid keeps it."""
    guid = str(uuid.uuid4())
    added = server.add({"feed_url": server.feed(), "guid": guid})
    got = [item["guid"] for item in added.success]
    expect(got == [guid], f"{guid} was sent, but the guids are {got}.")
    expect(server.get(guid)["feed_url"] == server.feed(), "It is not found by that guid.")
