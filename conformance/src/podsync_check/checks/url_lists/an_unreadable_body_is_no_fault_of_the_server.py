from dataclasses import replace

from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists

BODIES = (b"", b"{", b"[1, 2]", b'"text"', b'{"add": "x"}', b'{"add": [null, 1]}', b"\xff\xfe")


@check(
    Level.TOLERANT,
    why="A developer looks for the fault on the wrong side; an alert wakes the operator.",
    seen="servers under test answered 500",
    spec="gpodder.net: 400 for unreadable bodies.",
)
def an_unreadable_body_is_no_fault_of_the_server(server: UrlLists) -> None:
    """A body that is not JSON, or has the wrong shape, does not cause a 500."""
    app = server.app()
    request = app.calls.upload([], []).request
    for body in BODIES:
        reply = app.session.send(replace(request, body=body))
        expect(reply.status < 500, f"{body!r} gets {reply.status}.")
