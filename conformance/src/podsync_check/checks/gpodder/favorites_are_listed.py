from podsync_check.checking import Level, check, expect
from podsync_check.messages import Request, expect_status
from podsync_check.servers import Gpodder


@check(
    Level.COMPLETE,
    why="libmygpo-qt shows an error in place of favorites.",
    seen="gpodder/libmygpo-qt",
    spec="gpodder.net, Favorites API.",
    only_reads=True,
)
def favorites_are_listed(server: Gpodder) -> None:
    """A list of favorite episodes is available."""
    reply = server.app().session.send(Request("GET", f"/api/2/favorites/{server.user}.json"))
    expect_status(reply, 200)
    expect(isinstance(reply.json(), list), "It is not a list.")
