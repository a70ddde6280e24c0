from podsync_check.checking import Level, check, expect
from podsync_check.servers import Gpodder


@check(
    Level.COMPLETE,
    why="Users cannot take their list to a program that reads OPML.",
    seen="gpodder/gpodder downloads the list as OPML",
    spec="gpodder.net, Subscriptions API: GET of JSON, OPML and text.",
)
def a_whole_list_can_be_read(server: Gpodder) -> None:
    """The list of a device can be read as JSON, OPML and text."""
    app = server.app()
    app.upload(add=[server.feed()])
    for form in ("json", "opml", "txt"):
        reply = app.session.ask(app.calls.whole_list(form))
        expect(server.feed() in reply.text.replace("\\/", "/"), f"As {form}, the feed is missing.")
