from contextlib import suppress
from dataclasses import replace

from podsync_check.checking import Level, check, expect
from podsync_check.messages import NoAnswer
from podsync_check.servers import UrlLists

MAX_BYTES = 64 * 1024 * 1024


@check(
    Level.SAFE,
    why="One broken app takes the server down for all users.",
    seen="feedkeep's own tests of attackers",
    spec="Silent; RFC 9110, 15.5.14: 413.",
)
def absurd_bodies_harm_nobody(server: UrlLists) -> None:
    """A body of 64 MiB, and one of 100,000 brackets, are refused, and the server continues."""
    app = server.app()
    request = app.calls.upload([], []).request
    for body in (b'{"add": ["' + b"x" * MAX_BYTES + b'"]}', b"[" * 100_000):
        with suppress(NoAnswer):  # the server may close the connection early
            reply = app.session.send(replace(request, body=body))
            what = f"{len(body)} bytes that begin with {body[:6]!r}"
            expect(400 <= reply.status < 500, f"{what} get {reply.status}.")
    app.changes()
