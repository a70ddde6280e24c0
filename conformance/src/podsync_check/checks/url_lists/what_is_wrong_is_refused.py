from dataclasses import replace

from podsync_check.checking import Level, check, expect
from podsync_check.connection import Credential, Session
from podsync_check.servers import UrlLists

REFUSED = (401, 429)
"""429 is for earlier guesses."""


@check(
    Level.SAFE,
    why="Strangers can read and change what a user listens to.",
    seen="servers that look up a session only by name",
    spec="gpodder.net, Authentication API: 401.",
    only_reads=True,
)
def what_is_wrong_is_refused(server: UrlLists) -> None:
    """A wrong password and an invented cookie get 401."""
    request = server.app().calls.changes(0).request
    wrong = Credential(server.credential.name, f"{server.credential.secret}-wrong")
    status = Session(server.connection, wrong).send(request).status
    expect(status in REFUSED, f"With a wrong password, the status is {status}.")
    for text in ("1", server.credential.name, "0" * 32):
        made_up = replace(request, headers={"Cookie": f"sessionid={text}"})
        status = server.stranger().send(made_up).status
        expect(status in REFUSED, f"With the session {text!r}, the status is {status}.")
