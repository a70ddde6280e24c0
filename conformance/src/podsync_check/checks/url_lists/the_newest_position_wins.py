from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="An episode jumps back to yesterday's position of another device.",
    seen="AntennaPod/AntennaPod#7080",
    spec="gpodder.net, Episode Actions API: the time of an action says which is newer.",
)
def the_newest_position_wins(server: UrlLists) -> None:
    """Of two devices' positions, apps end with the later one."""
    phone, laptop, third = server.apps(3)
    phone.upload_actions(server.play(server.feed(), position=100, timestamp="2026-01-02T08:00:00"))
    laptop.upload_actions(server.play(server.feed(), position=900, timestamp="2026-01-02T09:00:00"))
    plays = third.played(server.feed())
    expect(bool(plays), "The play is not returned.")
    # Apps apply actions in the order of the reply, or choose the newest by its time.
    newest = max(plays, key=lambda action: str(action["timestamp"]))
    got = sorted({plays[-1]["position"], newest["position"]})
    expect(got == [900], f"Apps end at {got}, but the last position was 900.")
