from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="After a tunnel, the phone repeats an upload: sync stops, or every feed is duplicated.",
    seen="thrillfall/nextcloud-gpodder#175",
    spec="Silent; every app repeats requests without a reply.",
)
def an_upload_can_be_repeated(server: UrlLists) -> None:
    """An upload sent twice has the effect of one."""
    phone, laptop = server.apps(2)
    first, second = server.feeds(2)
    phone.upload(add=[second])
    for _ in range(2):
        phone.upload(add=[first], remove=[second])
    got = server.mine(laptop.changes().add)
    expect(got == [first], f"The list is {got}; it should be the first feed, once.")
    played = server.play(first)
    for _ in range(2):
        phone.upload_actions(played)
    plays = laptop.played(first)
    expect(bool(plays), "The play is not returned.")
