from podsync_check.checking import Level, check, expect
from podsync_check.servers import Gpodder


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
