from dataclasses import replace

from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists

TYPES = (
    "application/x-www-form-urlencoded",
    "text/plain; charset=UTF-8",
    "application/json; charset=utf-8",
)


@check(
    Level.TOLERANT,
    why="gPodder sends `application/x-www-form-urlencoded`, Kasts no type: neither syncs.",
    seen="gpodder/mygpoclient sends JSON as a form",
    spec="gpodder.net: the body is JSON; silent about its Content-Type.",
)
def any_content_type_is_taken(server: UrlLists) -> None:
    """JSON is accepted with any Content-Type."""
    app = server.app()
    for number, name in enumerate(TYPES):
        feed = server.feed(f"{number}")
        request = app.calls.upload([feed], []).request
        reply = app.session.send(replace(request, headers={"Content-Type": name}))
        expect(reply.status == 200, f"With {name}, the status is {reply.status}.")
        expect(feed in app.changes().add, f"With {name}, it is accepted but not kept.")
