"""Episode actions: positions, and what real apps send."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from functools import partial

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
    spec="gpodder.net, Episode Actions API: `since` is compared with the time of the upload;"
    " servers that compare the action's own time lose late uploads.",
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
    runs_last=True,
)
def actions_at_once_lose_nothing(server: UrlLists) -> None:
    """When four devices upload actions at once, all are kept."""
    apps = server.logged_in_apps(4)
    plays = [server.play(server.feed(), number) for number in range(40)]
    refused = failures(
        [partial(app.upload_actions, play) for play in plays[number::4]]
        for number, app in enumerate(apps)
    )
    told = {action["episode"] for action in apps[0].played(server.feed())}
    expect(not refused, f"{len(refused)} of 40 uploads failed, the first with: {refused[:1]}")
    expect(len(told) == 40, f"Of 40 acknowledged episodes, {len(told)} are returned.")


@check(
    Level.KEPT,
    why="One episode of a removed podcast makes every later upload of the phone fail.",
    seen="thrillfall/nextcloud-gpodder#109",
)
def an_action_of_a_feed_that_is_gone_is_kept(server: UrlLists) -> None:
    """An action of a feed outside the list is accepted, and reaches other devices."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed()))
    expect(bool(laptop.played(server.feed())), "The other device does not receive it.")


@check(
    Level.TOLERANT,
    why="AntennaPod's plays do not reach Kasts, or the reverse.",
    seen="thrillfall/nextcloud-gpodder returns PLAY, gpodder.net play",
    spec="gpodder.net, Episode Actions API: lower case. Nextcloud's own examples: capitals.",
)
def an_action_in_capitals_is_taken(server: UrlLists) -> None:
    """An action in capital letters is accepted, and listed with its position."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed(), action="PLAY"))
    plays = laptop.played(server.feed())
    expect(bool(plays), "The action is not returned.")
    told = plays[-1]
    expect(str(told.get("action")).lower() == "play", f"It is returned as {told.get('action')!r}.")
    expect(told.get("position") == 120, f"Its position is {told.get('position')!r}.")
    if told.get("action") != "play":
        server.note(f"Actions are returned as {told.get('action')}: gPodder reads only lower case.")


@check(
    Level.TOLERANT,
    why="gPodder reports the start of playback without a position: its whole queue is refused.",
    seen="gpodder/gpodder, my.py: on_playback_started",
    spec="gpodder.net, Episode Actions API: `started`, `position` and `total` are optional.",
)
def a_play_without_numbers_is_taken(server: UrlLists) -> None:
    """A play without numbers, or with nulls, is accepted together with other actions."""
    phone, laptop = server.apps(2)
    bare = {name: server.play(server.feed())[name] for name in ("podcast", "episode", "action")}
    nulls = dict.fromkeys(("started", "position", "total", "guid"))
    phone.upload_actions(bare, server.play(server.feed(), 2))
    phone.upload_actions(server.play(server.feed(), 3, **nulls), server.play(server.feed(), 4))
    told = {action["episode"] for action in laptop.played(server.feed())}
    for number in (2, 4):
        expect(
            f"{server.feed()}/{number}.mp3" in told, f"Episode {number} of the same upload is lost."
        )


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


TIMES = (
    "2026-01-02T03:04:05",
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05+00:00",
    "2026-01-02T05:04:05+0200",
    "2026-01-02T03:04:05.123",
)


@check(
    Level.TOLERANT,
    why="One odd time, and no play is accepted; or an old position counts as the newest.",
    seen="gPodder and AntennaPod write no offset; Kasts none, hullcaster and RePod one",
    spec="gpodder.net, Episode Actions API: ISO 8601, in UTC.",
)
def all_writings_of_times_are_taken(server: UrlLists) -> None:
    """Times of actions are understood with or without an offset, and with fractions."""
    phone, laptop = server.apps(2)
    for number, text in enumerate(TIMES):
        phone.upload_actions(server.play(server.feed(), number, timestamp=text))
    told = {one["episode"]: str(one.get("timestamp")) for one in laptop.played(server.feed())}
    missing = [text for n, text in enumerate(TIMES) if f"{server.feed()}/{n}.mp3" not in told]
    expect(not missing, f"Actions of these times are lost: {missing}.")
    for number, text in enumerate(TIMES):
        got = told[f"{server.feed()}/{number}.mp3"]
        expect(_second_of(got) == _second_of(TIMES[0]), f"{text} is returned as {got}.")


def _second_of(text: str) -> int:
    """Return a time in seconds; another check is about the form of times."""
    if text.isdecimal():
        return int(text)
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


_PLAIN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")


@check(
    Level.TOLERANT,
    why="One time that gPodder cannot read makes it discard the whole reply, now and forever.",
    seen="gpodder/mygpoclient reads %Y-%m-%dT%H:%M:%S",
    spec="gpodder.net, Episode Actions API: ISO 8601, in UTC, without an offset in its examples.",
)
def told_times_are_plain(server: UrlLists) -> None:
    """The time of an action is returned as uploaded, in whole seconds of UTC."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed(), timestamp="2026-01-02T03:04:05"))
    plays = laptop.played(server.feed())
    expect(bool(plays), "The play is not returned.")
    told = str(plays[-1].get("timestamp"))
    is_plain = bool(_PLAIN.fullmatch(told)) and told.startswith("2026-01-02T03:04:05")
    expect(is_plain, f"The time is returned as {told}.")
    if told != "2026-01-02T03:04:05":
        server.note(f"Times are returned as {told}: Kasts and gPodder ignore offsets.")


@check(
    Level.TOLERANT,
    why="A newer app sends an additional field, and its uploads are refused.",
    seen="AntennaPod added `guid` to actions",
)
def unknown_fields_are_ignored(server: UrlLists) -> None:
    """An action with a guid and an unknown field is accepted."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed(), guid="tag:example,2026:1", speed=1.5))
    plays = laptop.played(server.feed())
    expect(bool(plays), "The action is not returned.")
    if plays[-1].get("guid") != "tag:example,2026:1":
        server.note("Guids of episodes are not returned: apps know them only by their URLs.")


ACTIONS = 10_000
MAX_SECONDS = 10.0
IN_ONE_UPLOAD = 100


@check(
    Level.FAST,
    why="The app gives up after ten seconds, and starts over with the next sync.",
    seen="madeofpendletonwool/PinePods#636",
    runs_last=True,
)
def a_first_sync_of_many_actions_takes_seconds(server: UrlLists) -> None:
    """Each upload of 100 actions, and the poll of 10,000, takes less than ten seconds."""
    phone, laptop = server.apps(2)
    plays = [server.play(server.feed(), number) for number in range(ACTIONS)]
    slowest, began = 0.0, time.monotonic()
    for first in range(0, ACTIONS, IN_ONE_UPLOAD):
        before = time.monotonic()
        phone.upload_actions(*plays[first : first + IN_ONE_UPLOAD])
        slowest = max(slowest, time.monotonic() - before)
    uploaded = time.monotonic()
    told = {action["episode"] for action in laptop.played(server.feed())}
    polled = time.monotonic() - uploaded
    expect(len(told) == ACTIONS, f"Of {ACTIONS} actions, {len(told)} are returned.")
    server.note(f"Uploads {uploaded - began:.1f} s, poll {polled:.2f} s.")
    slower = max(slowest, polled)
    expect(slower < MAX_SECONDS, f"One request takes {slower:.1f} seconds.")
