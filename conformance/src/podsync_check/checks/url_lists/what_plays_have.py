"""What real apps send in episode actions."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


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
    for number, time in enumerate(TIMES):
        phone.upload_actions(server.play(server.feed(), number, timestamp=time))
    told = {one["episode"]: str(one.get("timestamp")) for one in laptop.played(server.feed())}
    missing = [time for n, time in enumerate(TIMES) if f"{server.feed()}/{n}.mp3" not in told]
    expect(not missing, f"Actions of these times are lost: {missing}.")
    for number, time in enumerate(TIMES):
        got = told[f"{server.feed()}/{number}.mp3"]
        expect(_second_of(got) == _second_of(TIMES[0]), f"{time} is returned as {got}.")


def _second_of(time: str) -> int:
    """Return a time in seconds; another check is about the form of times."""
    if time.isdecimal():
        return int(time)
    moment = datetime.fromisoformat(time)
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
    spec="Silent.",
)
def unknown_fields_are_ignored(server: UrlLists) -> None:
    """An action with a guid and an unknown field is accepted."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed(), guid="tag:example,2026:1", speed=1.5))
    plays = laptop.played(server.feed())
    expect(bool(plays), "The action is not returned.")
    if plays[-1].get("guid") != "tag:example,2026:1":
        server.note("Guids of episodes are not returned: apps know them only by their URLs.")
