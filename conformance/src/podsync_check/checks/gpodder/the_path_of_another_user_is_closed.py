from urllib.parse import quote

from podsync_check.checking import Level, check, expect
from podsync_check.messages import Request
from podsync_check.servers import Gpodder


@check(
    Level.SAFE,
    why="Any user can read what all others listen to.",
    seen="servers that check only the name in the path",
    spec="gpodder.net, Authentication API: the path's user must be logged in.",
    only_reads=True,
)
def the_path_of_another_user_is_closed(server: Gpodder) -> None:
    """The paths of another account are refused."""
    session = server.logged_in()
    session.ask(server.app().calls.devices())
    other = quote(f"not-{server.user}", safe="")
    paths = (
        f"/api/2/devices/{other}.json",
        f"/api/2/subscriptions/{other}/phone.json?since=0",
        f"/api/2/episodes/{other}.json?since=0",
        f"/subscriptions/{other}/phone.json",
    )
    for path in paths:
        status = session.send(Request("GET", path)).status
        expect(status in {400, 401, 403, 404}, f"{path} gets {status}.")
