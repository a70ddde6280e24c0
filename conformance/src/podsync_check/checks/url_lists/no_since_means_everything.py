from dataclasses import replace

from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.TOLERANT,
    why="The first sync of some apps fails, or shows an empty list.",
    seen="Music Assistant and RePod do so the first time",
    spec="gpodder.net: `since` is optional for actions; Nextcloud's: optional for both.",
)
def no_since_means_everything(server: UrlLists) -> None:
    """A poll of actions without `since` returns all of them."""
    app = server.app()
    app.upload_actions(server.play(server.feed()))
    call = app.calls.actions(0)
    bare = replace(call.request, target=call.request.target.partition("?")[0])
    told = call.read(app.session.send(bare)).actions
    expect(any(one.get("podcast") == server.feed() for one in told), "The play is missing.")
