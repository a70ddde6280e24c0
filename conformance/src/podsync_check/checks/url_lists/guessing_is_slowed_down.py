import time

from podsync_check.checking import Level, check, expect
from podsync_check.connection import Credential, Session
from podsync_check.servers import UrlLists

GUESSES = 40
SLOW_SECONDS = 20.0


@check(
    Level.SAFE,
    why="A short password is guessed overnight.",
    seen="of the servers examined, only one refuses guesses",
    spec="Silent; RFC 6585, 4: 429.",
)
def guessing_is_slowed_down(server: UrlLists) -> None:
    """Some of 40 wrong passwords in a row get 429, or they take 20 seconds."""
    app = server.app()
    app.changes()
    request = app.calls.changes(0).request
    began = time.monotonic()
    for number in range(GUESSES):
        wrong = Credential(server.credential.name, f"guess-{number}")
        reply = Session(server.connection, wrong).send(request)
        if reply.status == 429:
            has_moment = "retry-after" in reply.headers
            expect(has_moment, "The 429 does not say when to try again (Retry-After).")
            break
    else:
        seconds = time.monotonic() - began
        expect(seconds > SLOW_SECONDS, f"{GUESSES} guesses took {seconds:.1f} seconds.")
    if app.session.send(request).status != 200:
        server.note("During an attack, the owner cannot log in either.")
