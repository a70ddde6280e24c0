"""Requests of real apps that go beyond the specifications."""

from __future__ import annotations

import base64
from dataclasses import replace

from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.messages import expect_status
from podsync_check.servers import UrlLists

TYPES = (
    "application/x-www-form-urlencoded",
    "text/plain; charset=UTF-8",
    "application/json; charset=utf-8",
)


@check(
    Level.TOLERANT,
    why="gPodder sends `application/x-www-form-urlencoded`, Kasts no type: neither syncs.",
    seen="gpodder/mygpoclient sends JSON as a form",
    spec="gpodder.net: the body is JSON; silent about its Content-Type.",
)
def any_content_type_is_taken(server: UrlLists) -> None:
    """JSON is accepted with any Content-Type."""
    app = server.app()
    for number, name in enumerate(TYPES):
        feed = server.feed(f"{number}")
        request = app.calls.upload([feed], []).request
        reply = app.session.send(replace(request, headers={"Content-Type": name}))
        expect(reply.status == 200, f"With {name}, the status is {reply.status}.")
        expect(feed in app.changes().add, f"With {name}, it is accepted but not kept.")


BAD = ("antennapod_local:content://tree/primary%3AMusic", "feed", "", "ftp://example.com/feed")


@check(
    Level.TOLERANT,
    why="One local folder among the podcasts, and sync fails from then on.",
    seen="AntennaPod/AntennaPod#7209",
    spec="gpodder.net, Subscriptions API: the reply has an empty URL for an unusable one.",
)
def one_bad_url_blocks_nothing(server: UrlLists) -> None:
    """An unusable URL in an upload does not prevent the others from being accepted."""
    phone, laptop = server.apps(2)
    for number, bad in enumerate(BAD):
        feed = server.feed(f"{number}")
        phone.upload(add=[bad, feed])
        expect(feed in laptop.changes().add, f"Together with {bad!r}, the good URL is not kept.")
    left = [bad for bad in BAD if bad in laptop.changes().add]
    if left:
        server.note(f"It keeps {left} as feeds.")
        phone.upload(remove=left)


@check(
    Level.TOLERANT,
    why="Episodes of publishers with long addresses make every upload fail.",
    seen="thrillfall/nextcloud-gpodder#81",
)
def long_urls_are_kept(server: UrlLists) -> None:
    """A feed and an episode with URLs of 1,500 characters are kept."""
    phone, laptop = server.apps(2)
    feed = server.feed("x" * 1_460)
    phone.upload(add=[feed])
    expect(feed in laptop.changes().add, "The feed is not kept.")
    phone.upload_actions(server.play(feed))
    expect(bool(laptop.played(feed)), "Its play is not kept.")


PATHS = ("a%3Ab", "a:b", "x?a=1&b=2", "x?q=a+b", "caf%C3%A9", "x?a=%7Bb%7D", "~me/feed.xml")


@check(
    Level.TOLERANT,
    why="The app finds an unknown feed and adds it: the list grows with each sync.",
    seen="AntennaPod/AntennaPod#2267",
    spec="gpodder.net: URLs may be cleaned, and `update_urls` says how.",
)
def signs_in_urls_are_kept(server: UrlLists) -> None:
    """URLs with escapes and queries are returned unchanged, or corrected by `update_urls`."""
    phone, laptop = server.apps(2)
    feeds = [server.feed(path) for path in PATHS]
    changed = dict(phone.upload(add=feeds).update_urls)
    got = set(laptop.changes().add)
    lost = [feed for feed in feeds if (changed.get(feed) or feed) not in got]
    expect(not lost, f"These are changed without notice: {lost}.")


@check(
    Level.TOLERANT,
    why="The first sync of some apps fails, or shows an empty list.",
    seen="Music Assistant and RePod do so the first time",
    spec="gpodder.net: `since` is optional for actions; Nextcloud's: optional for both.",
)
def no_since_means_everything(server: UrlLists) -> None:
    """A poll of actions without `since` returns all of them."""
    app = server.app()
    app.upload_actions(server.play(server.feed()))
    app.expect_any_action()
    call = app.calls.actions(0)
    bare = replace(call.request, target=call.request.target.partition("?")[0])
    told = call.read(app.session.send(bare)).actions
    expect(any(one.get("podcast") == server.feed() for one in told), "The play is missing.")


@check(
    Level.TOLERANT,
    why="Podcast Merlin tests its login by this poll: with an error, it never connects.",
    seen="YehonatanVishna/Podcast-Merlin probes with since=2147483647",
    only_reads=True,
)
def a_probe_of_the_far_future_is_answered(server: UrlLists) -> None:
    """A poll since the far future is answered like any other."""
    told = server.app().changes(2**31 - 1)
    if told.add or told.remove:
        server.note("A poll since the far future returns everything, as for a wrong clock.")


BODIES = (b"", b"{", b"[1, 2]", b'"text"', b'{"add": "x"}', b'{"add": [null, 1]}', b"\xff\xfe")


@check(
    Level.TOLERANT,
    why="A developer looks for the fault on the wrong side; an alert wakes the operator.",
    seen="servers under test answered 500",
    spec="gpodder.net: 400 for unreadable bodies.",
)
def an_unreadable_body_is_no_fault_of_the_server(server: UrlLists) -> None:
    """A body that is not JSON, or has the wrong shape, does not cause a 500."""
    app = server.app()
    request = app.calls.upload([], []).request
    statuses = {body: app.session.send(replace(request, body=body)).status for body in BODIES}
    if left := [text for text in app.changes().add if text in {"x", "1", "2", "None", "null"}]:
        server.note(f"It keeps {left} as feeds.")
        app.upload(remove=left)
    for body, status in statuses.items():
        expect(status < 500, f"{body!r} gets {status}.")


@check(
    Level.TOLERANT,
    why="A user whose password has an umlaut can sign in in the browser, but not on the phone.",
    seen="OkHttp, of AntennaPod: Credentials.basic takes Latin-1",
    spec="RFC 7617 leaves the encoding open unless the server names UTF-8, which OkHttp ignores.",
    only_reads=True,
)
def a_password_in_latin_1_is_taken(server: UrlLists) -> None:
    """A name and password are accepted in Latin-1 as in UTF-8."""
    pair = f"{server.credential.name}:{server.credential.secret}"
    if pair.isascii():
        raise NotApplicable("This name and password are the same in both encodings.")
    try:
        text = base64.b64encode(pair.encode("latin-1")).decode()
    except UnicodeEncodeError:
        raise NotApplicable("This name or password cannot be written in Latin-1.") from None
    asked = server.app().login or server.app().calls.changes(0).request
    headers = {**asked.headers, "Authorization": f"Basic {text}"}
    expect_status(server.stranger().send(replace(asked, headers=headers)), 200)
