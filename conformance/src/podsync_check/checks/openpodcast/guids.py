"""Guids of the Open Podcast API."""

from __future__ import annotations

import uuid

from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast

NAMESPACE = uuid.UUID("ead4c236-bf58-58c6-a2c6-a6b28d128cb6")


@check(
    Level.AGREED,
    why="After a move to another server, every podcast has another guid.",
    seen="Podcasting 2.0, the tag podcast:guid",
    spec="Draft A: a UUID; its text refers to the podcast:guid tag for its derivation.",
)
def a_guid_comes_from_the_url(server: OpenPodcast) -> None:
    """The guid of a feed added without one is Podcasting 2.0's."""
    plain = server.feed().removeprefix("https://")
    got = server.add_one(server.feed())["guid"]
    expect(got == str(uuid.uuid5(NAMESPACE, plain)), f"It is {got}.")


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


@check(
    Level.KEPT,
    why="An app that was offline while a podcast got another guid loses it.",
    seen="OpenPodcastAPI/api-specs, subscriptions/update.mdx",
    spec="Draft A: the old guid stays linked to the subscription; `new_guid` names the new one.",
)
def a_renamed_guid_leads_on(server: OpenPodcast) -> None:
    """After `new_guid`, the new guid finds the subscription, and all old ones redirect to it."""
    old, new, newest = server.add_one(server.feed())["guid"], str(uuid.uuid4()), str(uuid.uuid4())
    changed = server.patch(old, new_guid=new)
    expect(changed.get("new_guid") == new, f"The reply is {changed}.")
    expect(bool(changed.get("guid_changed")), "The reply has no `guid_changed`.")
    expect(server.get(new)["feed_url"] == server.feed(), "It is not found by its new guid.")
    led = server.get(old)
    expect(led.get("new_guid") == new, f"Its old guid returns {led}.")
    server.patch(new, new_guid=newest)
    steps, guid = 0, old
    while steps < 3 and (following := server.get(guid).get("new_guid")):
        steps, guid = steps + 1, following
    expect(guid == newest, f"After two changes, the first guid leads to {guid}.")
