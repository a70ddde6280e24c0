from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.KEPT,
    why="An unsubscribed podcast comes back.",
    seen="OpenPodcastAPI/api-specs, subscriptions/update.mdx",
    spec="Draft A: `is_subscribed` is set, and `subscription_changed` with it.",
)
def an_unsubscription_is_kept(server: OpenPodcast) -> None:
    """After `is_subscribed: false`, the subscription is read and listed as unsubscribed."""
    item = server.add_one(server.feed())
    changed = server.patch(item["guid"], is_subscribed=False)
    expect(changed.get("is_subscribed") is False, f"The reply is {changed}.")
    stamp = changed.get("subscription_changed")
    expect(bool(stamp) and stamp != item["subscription_changed"], "Its timestamp has not changed.")
    expect(server.get(item["guid"])["is_subscribed"] is False, "GET returns it as subscribed.")
    entries = server.listed()
    expect([one["is_subscribed"] for one in entries] == [False], f"It is listed as {entries}.")
