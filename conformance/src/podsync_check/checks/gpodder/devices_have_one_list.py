from podsync_check.checking import Level, check, expect
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
