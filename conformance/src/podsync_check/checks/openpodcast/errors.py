"""Errors of the Open Podcast API."""

from __future__ import annotations

import uuid
from typing import Any

from podsync_check.checking import Level, check, expect
from podsync_check.connection import Credential, Session
from podsync_check.messages import Reply, Request, expect_status, json_request
from podsync_check.servers import OpenPodcast


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
