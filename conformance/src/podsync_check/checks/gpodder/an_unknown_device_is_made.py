from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.protocols.gpodder import GpodderCalls
from podsync_check.servers import Gpodder


@check(
    Level.TOLERANT,
    why="gPodder uploads before it describes its device; hullcaster never does.",
    seen="gpodder/mygpo creates a device at its first upload",
    spec="gpodder.net, Device API: a device is created when it is first used.",
)
def an_unknown_device_is_made(server: Gpodder) -> None:
    """A device that was never described can upload; the suite creates one with a fixed name."""
    session = server.logged_in()
    calls = GpodderCalls(server.user, "podsync-check-new")
    known = {one.get("id") for one in session.ask(calls.devices())}
    if calls.device in known:
        raise NotApplicable("An earlier run created the device, and the API cannot delete it.")
    session.ask(calls.upload([server.feed()], []))
    known = {one.get("id") for one in session.ask(calls.devices())}
    expect(calls.device in known, "The device is not listed after its upload.")
    session.ask(calls.upload([], [server.feed()]))
