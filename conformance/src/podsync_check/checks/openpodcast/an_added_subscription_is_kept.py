from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.KEPT,
    why="An added podcast is missing.",
    seen="OpenPodcastAPI/api-specs, subscriptions/add-new.mdx",
    spec="Draft A: the item is under `success` and can be read by its guid.",
)
def an_added_subscription_is_kept(server: OpenPodcast) -> None:
    """An added subscription can be read by its guid, and is listed."""
    item = server.add_one(server.feed())
    expect(item["feed_url"] == server.feed(), f"The URL is returned as {item['feed_url']}.")
    expect(item["is_subscribed"] is True, "It is not subscribed to.")
    expect(bool(item["subscription_changed"]), "It has no `subscription_changed`.")
    got = server.get(item["guid"])
    expect(got["feed_url"] == server.feed(), f"GET returns the URL {got['feed_url']}.")
    expect(got["is_subscribed"] is True, "GET returns it as unsubscribed.")
    guids = [entry["guid"] for entry in server.listed()]
    expect(guids == [item["guid"]], f"The list has the guids {guids}.")
