"""Decisions of feedkeep where the Open Podcast API's draft is open.

Other servers may decide otherwise, and lose no point for it.
"""

from __future__ import annotations

from dataclasses import replace

from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.messages import Request, expect_status, json_request
from podsync_check.servers import OpenPodcast


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
