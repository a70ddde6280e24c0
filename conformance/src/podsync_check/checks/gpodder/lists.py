"""Whole lists, queries for actions, settings and favorites of gpodder.net's API."""

from __future__ import annotations

from podsync_check.checking import Level, check, expect
from podsync_check.messages import Request, expect_status, json_request
from podsync_check.servers import Gpodder


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
