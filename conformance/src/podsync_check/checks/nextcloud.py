"""Checks specific to Nextcloud's gpoddersync."""

from __future__ import annotations

import base64
from dataclasses import replace

from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.messages import Request, expect_status
from podsync_check.servers import Nextcloud

TRIES = 2
MAX_SECONDS_AHEAD = 60


@check(
    Level.AGREED,
    why="A podcast added on the laptop while the phone syncs never reaches the phone.",
    seen="AntennaPod, with Nextcloud: after an upload it uses the phone's clock",
    spec="Silent: the reply to an upload has no timestamp there.",
)
def since_its_own_clock_misses_nothing(server: Nextcloud) -> None:
    """An app whose next `since` is its own clock after an upload misses no earlier change."""
    phone, laptop = server.apps(2)
    added, known = server.feeds(TRIES), set[str]()
    for _ in range(MAX_SECONDS_AHEAD):  # earlier checks may have pushed the server's clock ahead
        since = phone.changes().timestamp
        if since < server.connection.clock():
            break
        server.wait_for_the_next_second()
    for number, feed in enumerate(added):
        known.update(phone.changes(since).add)
        laptop.upload(add=[feed])  # between the phone's poll and its upload
        for _ in range(2):  # some servers stamp a change with the next second
            server.wait_for_the_next_second()
        phone.upload(add=[server.feed(f"own-{number}")])
        since = int(server.connection.clock())
    known.update(phone.changes(since).add)
    lost = len(set(added) - known)
    expect(lost == 0, f"Of {TRIES} feeds that another device added meanwhile, {lost} are lost.")


@check(
    Level.TOLERANT,
    why="A user who types a trailing slash cannot connect, and does not learn why.",
    seen="thrillfall/nextcloud-gpodder#137",
    spec="Silent; AntennaPod and Cardo put a slash before each path.",
    only_reads=True,
)
def doubled_slashes_are_taken(server: Nextcloud) -> None:
    """A path with two slashes at its start works like one with a single slash."""
    app = server.app()
    request = app.calls.changes(0).request
    expect_status(app.session.send(replace(request, target=f"/{request.target}")), 200)


@check(
    Level.TOLERANT,
    why="Kodi's podcast add-on uses it: with some passwords, it cannot log in.",
    seen="Kodi plugin.audio.podcasts",
    spec="RFC 7617: the usual alphabet; nothing else uses its two further signs.",
    only_reads=True,
)
def a_password_in_other_base64_is_taken(server: Nextcloud) -> None:
    """A password in the URL-safe alphabet of base64 is accepted."""
    pair = f"{server.credential.name}:{server.credential.secret}".encode()
    text = base64.urlsafe_b64encode(pair).decode()
    if text == base64.b64encode(pair).decode():
        raise NotApplicable("This password reads the same in both alphabets.")
    request = server.app().calls.changes(0).request
    headers = {**request.headers, "Authorization": f"Basic {text}"}
    expect_status(server.stranger().send(replace(request, headers=headers)), 200)


@check(
    Level.COMPLETE,
    why="AntennaPod connects only in this way: it never asks for the password itself.",
    seen="AntennaPod/AntennaPod, NextcloudLoginFlow.java",
    spec="Nextcloud, Login flow v2.",
    only_reads=True,
)
def a_login_begins_in_the_browser(server: Nextcloud) -> None:
    """A login starts with a page to open, and a URL to poll that is 404 until access is granted."""
    stranger = server.stranger()
    reply = stranger.send(Request("POST", "/index.php/login/v2"))
    expect_status(reply, 200)
    found = reply.json()
    expect(str(found.get("login", "")).startswith("http"), "It has no URL to open.")
    poll = found["poll"]
    body = f"token={poll['token']}".encode()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    here = str(server.connection.address)
    expect(str(poll["endpoint"]).startswith(here), f"It is to be polled at {poll['endpoint']}.")
    target = str(poll["endpoint"]).removeprefix(here)
    expect_status(stranger.send(Request("POST", target, body, form)), 404)
