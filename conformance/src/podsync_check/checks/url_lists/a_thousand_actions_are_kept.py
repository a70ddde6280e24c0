from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


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
