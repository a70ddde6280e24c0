"""Single subscriptions of the Open Podcast API."""

from __future__ import annotations

from podsync_check.checking import Level, check, expect
from podsync_check.messages import expect_status
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


@check(
    Level.KEPT,
    why="A podcast deleted on the phone stays on the laptop, and comes back from there.",
    seen="OpenPodcastAPI/api-specs, subscriptions/delete.mdx",
    spec="Draft A: 202, then 410 for the guid; the list has it with `deleted`.",
)
def a_deletion_is_told(server: OpenPodcast) -> None:
    """A deleted subscription gets 410, and is listed with the time of its deletion."""
    item = server.add_one(server.feed())
    done = server.delete(item["guid"])
    expect(isinstance(done.get("deletion_id"), int), f"The reply is {done}.")
    status = server.send("GET", f"/{done['deletion_id']}", base="/deletions")
    expect_status(status, 200)
    expect(status.json().get("status") in {"SUCCESS", "PENDING"}, f"It is {status.json()}.")
    expect_status(server.send("GET", f"/{item['guid']}"), 410)
    entries = server.listed(since=item["subscription_changed"])
    told = [entry for entry in entries if entry.get("deleted")]
    expect(len(told) == 1, "A device that polls since the addition does not receive the deletion.")
    expect_status(server.send("DELETE", f"/{item['guid']}"), 404)


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
