from podsync_check.checking import Level, check, expect
from podsync_check.servers import Gpodder


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
