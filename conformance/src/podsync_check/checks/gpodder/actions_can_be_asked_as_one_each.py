from podsync_check.checking import Level, check, expect
from podsync_check.servers import Gpodder


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
    told = phone.actions(aggregated="true").actions
    positions = [one.get("position") for one in told if one["podcast"] == server.feed()]
    expect(positions == [180], f"Its positions are {positions}; it should be 180, once.")
