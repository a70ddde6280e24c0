from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.TOLERANT,
    why="Marking an episode as played blocks the phone's queue, or restarts it on other devices.",
    seen="AntennaPod/AntennaPod#5380",
    spec="gpodder.net, Episode Actions API: the numbers of a play are whole and given together.",
)
def numbers_below_zero_are_taken(server: UrlLists) -> None:
    """An action with -1 for all numbers is accepted, and hides no known position."""
    phone, laptop = server.apps(2)
    known = server.play(server.feed(), timestamp="2026-01-02T08:00:00")
    nothing = {"started": -1, "position": -1, "total": -1, "timestamp": "2026-01-02T08:00:10"}
    phone.upload_actions(known)
    phone.upload_actions(server.play(server.feed()) | nothing)
    positions = [play.get("position") for play in laptop.played(server.feed())]
    expect(bool(positions), "The play is not returned.")
    if positions[-1] != 120:
        server.note(
            f"A play without a position is returned at {positions[-1]}: AntennaPod goes there."
        )
