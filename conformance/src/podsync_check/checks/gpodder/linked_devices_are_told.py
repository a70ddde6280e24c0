from podsync_check.checking import Level, check, expect
from podsync_check.messages import Request, expect_status
from podsync_check.servers import DEVICES, Gpodder


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
