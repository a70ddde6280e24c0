from datetime import UTC, datetime

from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists

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


def _second_of(time: str) -> datetime:
    moment = datetime.fromisoformat(time)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).replace(microsecond=0)
