from dataclasses import replace

from podsync_check.checking import Level, check
from podsync_check.messages import expect_status
from podsync_check.servers import Nextcloud


@check(
    Level.TOLERANT,
    why="A user who types a trailing slash cannot connect, and does not learn why.",
    seen="thrillfall/nextcloud-gpodder#137",
    spec="Silent; AntennaPod and Cardo put a slash before each path.",
    only_reads=True,
)
def doubled_slashes_are_taken(server: Nextcloud) -> None:
    """A path with two slashes at its start works like one with a single slash."""
    app = server.app()
    request = app.calls.changes(0).request
    expect_status(app.session.send(replace(request, target=f"/{request.target}")), 200)
