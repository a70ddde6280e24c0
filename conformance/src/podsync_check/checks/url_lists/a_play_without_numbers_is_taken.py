from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


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
