"""Requests of strangers and attackers."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace

from podsync_check.checking import Level, check, expect
from podsync_check.connection import Credential, Session
from podsync_check.messages import NoAnswer
from podsync_check.servers import UrlLists


@check(
    Level.SAFE,
    why="Strangers can read and change what a user listens to.",
    seen="oxtyped/gpodder2go offers --no-auth",
    spec="gpodder.net, Authentication API: all of these need a user.",
    only_reads=True,
)
def strangers_get_nothing(server: UrlLists) -> None:
    """Requests without a credential get 401, and change nothing."""
    calls = server.app().calls
    requests = [
        calls.changes(0).request,
        calls.upload([server.feed()], []).request,
        calls.actions(0).request,
        calls.upload_actions([server.play(server.feed())]).request,
    ]
    for request in requests:
        status = server.stranger().send(request).status
        expect(status in {401, 403}, f"{request} gets {status}.")
    expect(not server.mine(server.app().changes().add), "A stranger has added a feed.")


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


MAX_BYTES = 64 * 1024 * 1024


@check(
    Level.SAFE,
    why="One broken app takes the server down for all users.",
    seen="feedkeep's own tests of attackers",
    spec="Silent; RFC 9110, 15.5.14: 413.",
    runs_last=True,
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
