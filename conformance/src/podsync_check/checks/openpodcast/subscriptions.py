"""Single subscriptions of the Open Podcast API, their guids, errors, and feedkeep's decisions.

Where the draft is open, servers may decide otherwise than feedkeep, and lose no point for it.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.connection import Credential, Session
from podsync_check.messages import Reply, Request, expect_status, json_request
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


@check(
    Level.COMPLETE,
    why='An app mistakes "not found" for "try again", or an error for an empty list.',
    seen="OpenPodcastAPI/api-specs, schema.yml",
    spec="Draft A: 401, 404, 405 and 410 with `code` and `message`.",
)
def errors_say_what_they_are(server: OpenPodcast) -> None:
    """Unknown resources get 404, invalid input 405, each with `code` and `message`."""
    unknown = str(uuid.uuid4())
    cases: list[tuple[str, Reply, int]] = [
        ("GET of an unknown guid", server.send("GET", f"/{unknown}"), 404),
        (
            "PATCH of an unknown guid",
            server.send("PATCH", f"/{unknown}", {"is_subscribed": True}),
            404,
        ),
        ("DELETE of an unknown guid", server.send("DELETE", f"/{unknown}"), 404),
        ("GET of what is no guid", server.send("GET", "/no-guid"), 405),
        ("POST without `subscriptions`", server.send("POST", "", {"feeds": []}), 405),
    ]
    for what, reply, status in cases:
        expect(reply.status == status, f"{what} gets {reply.status}, not {status}.")
        body: Any = reply.json()
        is_so = isinstance(body, dict) and str(body.get("code")) == str(status)
        expect(
            is_so and isinstance(body.get("message"), str), f"{what} has the body {body!r:.200}."
        )
    stranger = server.stranger()
    expect_status(stranger.send(Request("GET", f"{server.prefix}/subscriptions")), 401)


@check(
    Level.SAFE,
    why="Strangers can read and change what a user listens to.",
    seen="OpenPodcastAPI/api-specs, schema.yml",
    spec="Draft A: 401.",
    only_reads=True,
)
def strangers_get_no_subscription(server: OpenPodcast) -> None:
    """Requests without a credential, or with an invented token, get 401."""
    made_up = Session(server.connection, Credential("", "made-up"))
    path = f"{server.prefix}/subscriptions"
    requests = [
        json_request("POST", path, {"subscriptions": [{"feed_url": server.feed()}]}),
        json_request("PATCH", f"{path}/{uuid.uuid4()}", {"is_subscribed": False}),
        json_request("DELETE", f"{path}/{uuid.uuid4()}", {}),
        json_request("GET", path, {}),
    ]
    for request in requests:
        for session in (server.stranger(), made_up):
            status = session.send(request).status
            expect(status == 401, f"{request} gets {status}.")


@check(
    Level.FEEDKEEP,
    why="Every podcast whose publisher switched to https is listed twice.",
    seen="gpodder/mygpo#620",
    spec="Silent; the guid of Podcasting 2.0 omits the scheme and trailing slashes.",
)
def http_and_https_are_one_feed(server: OpenPodcast) -> None:
    """A feed by http, by https, and with a trailing slash is one subscription."""
    plain = server.feed().removeprefix("https://")
    urls = [f"https://{plain}", f"http://{plain}", f"https://{plain}/"]
    guids = {server.add_one(url)["guid"] for url in urls}
    expect(len(guids) == 1, f"They are {len(guids)} subscriptions.")


@check(
    Level.FEEDKEEP,
    why="Of two changes in the same second, a device that polls in between misses one.",
    seen="feedkeep, docs/contract.md, 4",
    spec="Silent about the resolution of times.",
)
def stamps_only_rise(server: OpenPodcast) -> None:
    """Each change has a later timestamp than the one before."""
    guid = server.add_one(server.feed())["guid"]
    stamps = [
        str(server.patch(guid, is_subscribed=number % 2 == 0)["subscription_changed"])
        for number in range(6)
    ]
    expect(stamps == sorted(set(stamps)), f"The timestamps are {stamps}.")


@check(
    Level.FEEDKEEP,
    why="A change that a phone queued a week ago undoes yesterday's change.",
    seen="feedkeep, docs/contract.md, 5",
    spec="Silent; RFC 9110, 13.1.1, defines `If-Match`.",
)
def if_match_guards_a_change(server: OpenPodcast) -> None:
    """A change or deletion with an outdated ETag gets 412, and has no effect."""
    guid = server.add_one(server.feed())["guid"]
    target = f"{server.prefix}/subscriptions/{guid}"
    tag = server.session().send(Request("GET", target)).headers.get("etag", "")
    if not tag:
        raise NotApplicable("Subscriptions have no ETag.")
    server.patch(guid, is_subscribed=False)
    change = json_request("PATCH", target, {"is_subscribed": True})
    for request in (change, Request("DELETE", target)):
        guarded = replace(request, headers={**request.headers, "If-Match": tag})
        expect_status(server.session().send(guarded), 412)
        expect(server.get(guid)["is_subscribed"] is False, "It is changed anyway.")


@check(
    Level.FEEDKEEP,
    why="Two entries of one podcast become one, and it is gone from every device.",
    seen="feedkeep, docs/contract.md, C3.17",
    spec="Silent about the status of the result.",
)
def a_merge_keeps_what_is_subscribed(server: OpenPodcast) -> None:
    """Of two merged feeds, the result is subscribed if either of the two was."""
    for name, is_first in (("first", True), ("second", False)):
        one, other = (
            server.add_one(server.feed(f"{name}-{half}"))["guid"] for half in ("one", "other")
        )
        server.patch(other if is_first else one, is_subscribed=False)
        server.patch(one, new_guid=other)
        merged = server.get(other)
        expect(merged["is_subscribed"] is True, f"Merging with the {name} one ends unsubscribed.")
