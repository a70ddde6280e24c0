"""Episode actions and positions."""

from __future__ import annotations

from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists, failures


@check(
    Level.KEPT,
    why="Playback starts from the beginning on the other device.",
    seen="SamTV12345/PodFetch#901",
    spec="gpodder.net, Episode Actions API: `started`, `position` and `total` of a play.",
)
def a_position_is_kept(server: UrlLists) -> None:
    """A position reaches another device as uploaded, with start and length."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed(), started=15, position=120, total=3600))
    plays = laptop.played(server.feed())
    expect(bool(plays), "The play does not reach the other device.")
    numbers = [plays[-1].get(name) for name in ("started", "position", "total")]
    expect(numbers == [15, 120, 3600], f"Start, position and length are {numbers}.")


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


@check(
    Level.KEPT,
    why="Plays made on a flight never reach other devices that synced meanwhile.",
    seen="AntennaPod/AntennaPod#2121",
    spec=(
        "gpodder.net, Episode Actions API: `since` is compared with the time of the upload;"
        " servers that compare the action's own time lose late uploads."
    ),
)
def a_late_upload_reaches_the_others(server: UrlLists) -> None:
    """Last week's action, uploaded now, reaches a device that has synced since."""
    phone, laptop = server.apps(2)
    since = laptop.actions().timestamp
    server.wait_for_the_next_second()
    phone.upload_actions(server.play(server.feed(), timestamp="2026-01-02T03:04:05"))
    expect(bool(laptop.played(server.feed(), since)), "The other device does not receive it.")


@check(
    Level.KEPT,
    why="After a move to the server, some episodes played over the years are unplayed again.",
    seen="madeofpendletonwool/PinePods#636",
    spec="Silent about a limit.",
)
def a_thousand_actions_are_kept(server: UrlLists) -> None:
    """All of 1,000 episodes are kept, uploaded 30 at a time like AntennaPod does."""
    phone, laptop = server.apps(2)
    plays = [server.play(server.feed(), number) for number in range(1_000)]
    for first in range(0, len(plays), 30):
        phone.upload_actions(*plays[first : first + 30])
    told = {action["episode"] for action in laptop.played(server.feed())}
    expect(len(told) == 1_000, f"Of 1,000 acknowledged episodes, {len(told)} are returned.")


@check(
    Level.KEPT,
    why="Plays made on the way are not on the player at home.",
    seen="kd2org/opodsync#63",
    spec="Silent.",
    runs_last=True,
)
def actions_at_once_lose_nothing(server: UrlLists) -> None:
    """When four devices upload actions at once, all are kept."""
    apps = server.logged_in_apps(4)
    plays = [server.play(server.feed(), number) for number in range(40)]
    shares = [[(app, play) for play in plays[number::4]] for number, app in enumerate(apps)]
    refused = failures(lambda app, play: app.upload_actions(play), shares)
    told = {action["episode"] for action in apps[0].played(server.feed())}
    expect(not refused, f"{len(refused)} of 40 uploads failed, the first with: {refused[:1]}")
    expect(len(told) == 40, f"Of 40 acknowledged episodes, {len(told)} are returned.")


@check(
    Level.KEPT,
    why="One episode of a removed podcast makes every later upload of the phone fail.",
    seen="thrillfall/nextcloud-gpodder#109",
    spec="Silent.",
)
def an_action_of_a_feed_that_is_gone_is_kept(server: UrlLists) -> None:
    """An action of a feed outside the list is accepted, and reaches other devices."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed()))
    expect(bool(laptop.played(server.feed())), "The other device does not receive it.")
