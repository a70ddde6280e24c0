"""Checks specific to gpodder.net's API: sessions, devices, whole lists, queries and settings."""

from __future__ import annotations

from urllib.parse import quote

from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.connection import Session
from podsync_check.messages import Request, expect_status, json_request
from podsync_check.protocols.url_lists import GpodderCalls
from podsync_check.servers import DEVICES, Gpodder


@check(
    Level.TOLERANT,
    why="AntennaPod logs in once, then sends only its cookie: it gets no further.",
    seen="AntennaPod/AntennaPod, GpodnetService.java",
    spec="gpodder.net, Authentication API: the login sets the cookie `sessionid`.",
    only_reads=True,
)
def a_session_is_enough(server: Gpodder) -> None:
    """After a login, the cookie alone is accepted."""
    calls = server.app().calls
    login = Session(server.connection, server.credential)
    login.ask(calls.log_in())
    expect(bool(login.cookies), "The login sets no cookie.")
    alone = server.stranger()
    alone.cookies = login.cookies
    expect_status(alone.send(calls.devices().request), 200)


@check(
    Level.TOLERANT,
    why="Kasts, GlassCast and AerialPod send the password with each request, and no cookie.",
    seen="KDE/kasts",
    spec="gpodder.net, Authentication API: HTTP Basic, or the cookie of a login.",
    only_reads=True,
)
def a_password_with_each_request_is_enough(server: Gpodder) -> None:
    """A request with a password needs no session."""
    server.session().ask(GpodderCalls(server.user, server.app().calls.device).devices())


@check(
    Level.TOLERANT,
    why='gPodder sends its password only to a challenge with a realm: it says "wrong password".',
    seen="gpodder/mygpoclient: urllib answers a Basic challenge with a realm",
    spec="gpodder.net, Authentication API: HTTP Basic; RFC 9110, 11.6.1: a 401 has a challenge.",
    only_reads=True,
)
def a_stranger_is_asked_for_a_password(server: Gpodder) -> None:
    """A request without credentials gets 401 and a Basic challenge with a realm."""
    reply = server.stranger().send(server.app().calls.devices().request)
    expect_status(reply, 401)
    challenge = reply.headers.get("www-authenticate", "").lower()
    expect("basic" in challenge and "realm=" in challenge, f"The challenge is {challenge!r}.")


@check(
    Level.COMPLETE,
    why="A user who logs out on a borrowed phone stays logged in.",
    seen="gpodder.net's documentation",
    spec="gpodder.net, Authentication API: the session is ended.",
)
def a_session_ends_with_a_logout(server: Gpodder) -> None:
    """After a logout, the cookie is not accepted."""
    session = server.logged_in()
    calls = server.app().calls
    session.ask(calls.devices())
    alone = server.stranger()
    alone.cookies = dict(session.cookies)
    expect(bool(alone.cookies), "A login sets no cookie.")
    session.ask(calls.log_out())
    status = alone.send(calls.devices().request).status
    expect(status == 401, f"With the earlier cookie, the status is {status}, not 401.")


@check(
    Level.SAFE,
    why="Any user can read what all others listen to.",
    seen="servers that check only the name in the path",
    spec="gpodder.net, Authentication API: the path's user must be logged in.",
    only_reads=True,
)
def the_path_of_another_user_is_closed(server: Gpodder) -> None:
    """The paths of another account are refused."""
    session = server.logged_in()
    session.ask(server.app().calls.devices())
    other = quote(f"not-{server.user}", safe="")
    paths = (
        f"/api/2/devices/{other}.json",
        f"/api/2/subscriptions/{other}/phone.json?since=0",
        f"/api/2/episodes/{other}.json?since=0",
        f"/subscriptions/{other}/phone.json",
    )
    for path in paths:
        status = session.send(Request("GET", path)).status
        expect(status in {400, 401, 403, 404}, f"{path} gets {status}.")


@check(
    Level.AGREED,
    why="Phone and laptop keep separate lists, for no visible reason.",
    seen="bobrippling/podsync#8",
    spec="gpodder.net, Device Synchronization API: devices have one list once they are linked; no"
    " app links them, so that servers for one person do it by themselves.",
)
def devices_have_one_list(server: Gpodder) -> None:
    """A feed added on one device reaches the device linked to it."""
    session = server.logged_in()
    one, other, *_ = (GpodderCalls(server.user, device) for device in DEVICES)
    session.ask(one.upload([server.feed()], []))
    told = session.ask(other.changes(0)).add
    session.ask(one.upload([], [server.feed()]))
    expect(server.feed() in told, "The other device does not receive it.")


@check(
    Level.TOLERANT,
    why="gPodder uploads before it describes its device; hullcaster never does.",
    seen="gpodder/mygpo creates a device at its first upload",
    spec="gpodder.net, Device API: a device is created when it is first used.",
)
def an_unknown_device_is_made(server: Gpodder) -> None:
    """A device that was never described can upload, and is listed from then on."""
    session = server.logged_in()
    calls = GpodderCalls(server.user, "podsync-check-new")
    known = {one.get("id") for one in session.ask(calls.devices())}
    if calls.device in known:
        raise NotApplicable("An earlier run created the device, and the API cannot delete it.")
    session.ask(calls.upload([server.feed()], []))
    known = {one.get("id") for one in session.ask(calls.devices())}
    expect(calls.device in known, "Its upload is accepted, but it is not in the list of devices.")
    session.ask(calls.upload([], [server.feed()]))


@check(
    Level.COMPLETE,
    why="AntennaPod lets people choose a device: without a name they cannot tell them apart.",
    seen="AntennaPod/AntennaPod, GpodderAuthenticationFragment.java",
    spec="gpodder.net, Device API: caption, type, id and subscriptions.",
)
def a_device_is_described(server: Gpodder) -> None:
    """A device's caption and type are stored and listed."""
    app = server.app()
    caption = f"Phone {server.mark}"
    app.session.ask(app.calls.describe(caption=caption, type="mobile"))
    found = {one.get("id"): one for one in app.session.ask(app.calls.devices())}
    device = found.get(app.calls.device)
    expect(device is not None, "The device is not listed.")
    got = device and (device.get("caption"), device.get("type"))
    expect(got == (caption, "mobile"), f"It is listed as {got}.")
    expect(isinstance(device and device.get("subscriptions"), int), "It has no count of feeds.")


@check(
    Level.TOLERANT,
    why="gPodder treats any text in the reply as a failure, and says that it could not connect.",
    seen="gpodder/mygpoclient, api.py: `return self._client.POST(...) == b''`",
    spec="gpodder.net, Device API: 200; silent about the body.",
)
def a_change_of_a_device_is_answered_emptily(server: Gpodder) -> None:
    """The reply to a device's description, and to a full list, has an empty body."""
    app = server.app()
    described = app.session.ask(app.calls.describe(caption="Laptop", type="laptop"))
    expect(not described.body, f"The reply to the description is {described.text!r:.80}.")
    listed = app.session.ask(app.calls.whole_list()).json()
    put = app.session.ask(app.calls.put_list([*listed, server.feed()]))
    expect(not put.body, f"The reply to the list is {put.text!r:.80}.")


@check(
    Level.COMPLETE,
    why="Phone and laptop keep separate lists, for no visible reason.",
    seen="oxtyped/gpodder2go#31",
    spec="gpodder.net, Device Synchronization API.",
)
def linked_devices_are_told(server: Gpodder) -> None:
    """Linked devices are listed as linked."""
    app = server.app()
    expect_status(app.session.send(app.calls.link(DEVICES).request), 200)
    reply = app.session.send(Request("GET", f"/api/2/sync-devices/{server.user}.json"))
    expect_status(reply, 200)
    groups = reply.json()["synchronized"]
    is_linked = any(set(DEVICES) <= set(group) for group in groups)
    expect(is_linked, f"The groups are {groups!r:.200}.")


@check(
    Level.COMPLETE,
    why="Apps that request everything at once show nothing.",
    seen="gpodder/mygpoclient, download_updates",
    spec="gpodder.net, Device API: `/api/2/updates/{user}/{device}.json`.",
)
def news_of_a_device_are_told(server: Gpodder) -> None:
    """One request returns the feeds added and removed since, with a timestamp."""
    app = server.app()
    app.upload(add=[server.feed()])
    target = f"/api/2/updates/{server.user}/{app.calls.device}.json?since=0"
    reply = app.session.send(Request("GET", target))
    expect_status(reply, 200)
    told = reply.json()
    added = {one.get("url") if isinstance(one, dict) else one for one in told["add"]}
    expect(server.feed() in added, "The added feed is missing.")
    expect(isinstance(told.get("timestamp"), int), "It has no timestamp.")


@check(
    Level.COMPLETE,
    why="Users cannot take their list to a program that reads OPML.",
    seen="gpodder/gpodder downloads the list as OPML",
    spec="gpodder.net, Subscriptions API: GET of JSON, OPML and text.",
)
def a_whole_list_can_be_read(server: Gpodder) -> None:
    """The list of a device can be read as JSON, OPML and text."""
    app = server.app()
    app.upload(add=[server.feed()])
    for form in ("json", "opml", "txt"):
        reply = app.session.ask(app.calls.whole_list(form))
        expect(server.feed() in reply.text.replace("\\/", "/"), f"As {form}, the feed is missing.")


@check(
    Level.COMPLETE,
    why='"Upload local subscriptions" of gPodder does nothing.',
    seen="gpodder/gpodder, my.py",
    spec="gpodder.net, Subscriptions API: PUT replaces the list of the device.",
)
def a_whole_list_can_be_replaced(server: Gpodder) -> None:
    """After a list is replaced, the new one is read, without feeds of the old one."""
    app = server.app()
    first, second = server.feeds(2)
    app.upload(add=[first])
    others = [url for url in app.session.ask(app.calls.whole_list()).json() if url != first]
    app.session.ask(app.calls.put_list([*others, second]))
    got = server.mine(app.session.ask(app.calls.whole_list()).json())
    expect(got == [second], f"The list is {got}; it should be only the second feed.")


@check(
    Level.COMPLETE,
    why="The first sync of Kasts downloads years of history.",
    seen="KDE/kasts sends aggregated=true",
    spec="gpodder.net, Episode Actions API: `aggregated=true` gives the latest of each episode.",
)
def actions_can_be_asked_as_one_each(server: Gpodder) -> None:
    """With `aggregated=true`, only the latest action of each episode is listed."""
    phone = server.app()
    for minute in (1, 2, 3):
        time = f"2026-01-02T08:0{minute}:00"
        phone.upload_actions(server.play(server.feed(), position=minute * 60, timestamp=time))
    told = phone.played(server.feed(), aggregated="true")
    positions = [one.get("position") for one in told]
    expect(positions == [180], f"Its positions are {positions}; it should be 180, once.")


@check(
    Level.COMPLETE,
    why="The page of one podcast loads the plays of all others, too.",
    seen="Music Assistant sends `device`",
    spec="gpodder.net, Episode Actions API: the parameters `podcast` and `device`.",
)
def actions_of_one_feed_can_be_asked(server: Gpodder) -> None:
    """Actions can be requested by feed, and by device."""
    phone, laptop = server.app(0), server.app(1)
    first, second = server.feeds(2)
    phone.upload_actions(server.play(first))
    laptop.upload_actions(server.play(second))
    phone.expect_any_action()
    by_feed = phone.session.ask(phone.calls.actions(0, podcast=first)).actions
    expect({one["podcast"] for one in by_feed} == {first}, "A request for one feed returns others.")
    device = laptop.calls.device
    by_device = phone.session.ask(phone.calls.actions(0, device=device)).actions
    told = {one["podcast"] for one in by_device}
    expect(second in told, "A request for one device omits its plays.")
    if first in told:
        # Music Assistant requests by device, but uploads without one: a filter would hide its
        # actions.
        server.note("A request for one device returns the plays of all.")


@check(
    Level.COMPLETE,
    why="An app's stored settings are lost, or each start of the app shows an error.",
    seen="gpodder/mygpoclient, get_settings and set_settings",
    spec="gpodder.net, Settings API.",
)
def settings_are_kept(server: Gpodder) -> None:
    """A setting of the account is stored, and can be removed."""
    app = server.app()
    target = f"/api/2/settings/{server.user}/account.json"

    def change(body: object) -> object:
        reply = app.session.send(json_request("POST", target, body))
        expect_status(reply, 200)
        return reply.json()

    got = change({"set": {server.mark: "on"}, "remove": []})
    expect(isinstance(got, dict) and got.get(server.mark) == "on", f"The reply is {got!r:.200}.")
    got = change({"set": {}, "remove": [server.mark]})
    expect(isinstance(got, dict) and server.mark not in got, "It is still there after its removal.")


@check(
    Level.COMPLETE,
    why="libmygpo-qt shows an error in place of favorites.",
    seen="gpodder/libmygpo-qt",
    spec="gpodder.net, Favorites API.",
    only_reads=True,
)
def favorites_are_listed(server: Gpodder) -> None:
    """A list of favorite episodes is available."""
    reply = server.app().session.send(Request("GET", f"/api/2/favorites/{server.user}.json"))
    expect_status(reply, 200)
    expect(isinstance(reply.json(), list), "It is not a list.")
