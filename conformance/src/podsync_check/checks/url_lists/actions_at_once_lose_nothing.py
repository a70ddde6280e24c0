from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists, failures


@check(
    Level.KEPT,
    why="Plays made on the way are not on the player at home.",
    seen="kd2org/opodsync#63",
    spec="Silent.",
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
