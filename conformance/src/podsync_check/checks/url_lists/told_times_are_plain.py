import re

from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists

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
