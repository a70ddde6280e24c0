from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


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
