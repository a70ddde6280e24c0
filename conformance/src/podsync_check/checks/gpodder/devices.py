"""Devices of gpodder.net's API."""

from __future__ import annotations

from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.messages import Request, expect_status
from podsync_check.protocols.gpodder import GpodderCalls
from podsync_check.servers import DEVICES, Gpodder


@check(
    Level.AGREED,
    why="Phone and laptop keep separate lists, for no visible reason.",
    seen="bobrippling/podsync#8",
    spec=(
        "gpodder.net, Device Synchronization API: devices have one list once they are linked; no"
        " app links them, so that servers for one person do it by themselves."
    ),
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
