from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


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
