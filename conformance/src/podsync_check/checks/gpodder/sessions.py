"""Sessions and passwords of gpodder.net's API."""

from __future__ import annotations

from urllib.parse import quote

from podsync_check.checking import Level, check, expect
from podsync_check.connection import Session
from podsync_check.messages import Request, expect_status
from podsync_check.protocols.gpodder import GpodderCalls
from podsync_check.servers import Gpodder


@check(
    Level.TOLERANT,
    why="AntennaPod logs in once, then sends only its cookie: it gets no further.",
    seen="AntennaPod/AntennaPod, GpodnetService.java",
    spec="gpodder.net, Authentication API: the login sets the cookie `sessionid`.",
    only_reads=True,
)
def a_session_is_enough(server: Gpodder) -> None:
    """After a login, the cookie alone is accepted."""
    calls = server.app().calls
    login = Session(server.connection, server.credential)
    login.ask(calls.log_in())
    expect(bool(login.cookies), "The login sets no cookie.")
    alone = server.stranger()
    alone.cookies = login.cookies
    expect_status(alone.send(calls.devices().request), 200)


@check(
    Level.TOLERANT,
    why="Kasts, GlassCast and AerialPod send the password with each request, and no cookie.",
    seen="KDE/kasts",
    spec="gpodder.net, Authentication API: HTTP Basic, or the cookie of a login.",
    only_reads=True,
)
def a_password_with_each_request_is_enough(server: Gpodder) -> None:
    """A request with a password needs no session."""
    server.session().ask(GpodderCalls(server.user, server.app().calls.device).devices())


@check(
    Level.TOLERANT,
    why='gPodder sends its password only to a challenge with a realm: it says "wrong password".',
    seen="gpodder/mygpoclient: urllib answers a Basic challenge with a realm",
    spec="gpodder.net, Authentication API: HTTP Basic; RFC 9110, 11.6.1: a 401 has a challenge.",
    only_reads=True,
)
def a_stranger_is_asked_for_a_password(server: Gpodder) -> None:
    """A request without credentials gets 401 and a Basic challenge with a realm."""
    reply = server.stranger().send(server.app().calls.devices().request)
    expect_status(reply, 401)
    challenge = reply.headers.get("www-authenticate", "").lower()
    expect("basic" in challenge and "realm=" in challenge, f"The challenge is {challenge!r}.")


@check(
    Level.COMPLETE,
    why="A user who logs out on a borrowed phone stays logged in.",
    seen="gpodder.net's documentation",
    spec="gpodder.net, Authentication API: the session is ended.",
)
def a_session_ends_with_a_logout(server: Gpodder) -> None:
    """After a logout, the cookie is not accepted."""
    session = server.logged_in()
    calls = server.app().calls
    session.ask(calls.devices())
    alone = server.stranger()
    alone.cookies = dict(session.cookies)
    expect(bool(alone.cookies), "A login sets no cookie.")
    session.ask(calls.log_out())
    status = alone.send(calls.devices().request).status
    expect(status == 401, f"With the earlier cookie, the status is {status}, not 401.")


@check(
    Level.SAFE,
    why="Any user can read what all others listen to.",
    seen="servers that check only the name in the path",
    spec="gpodder.net, Authentication API: the path's user must be logged in.",
    only_reads=True,
)
def the_path_of_another_user_is_closed(server: Gpodder) -> None:
    """The paths of another account are refused."""
    session = server.logged_in()
    session.ask(server.app().calls.devices())
    other = quote(f"not-{server.user}", safe="")
    paths = (
        f"/api/2/devices/{other}.json",
        f"/api/2/subscriptions/{other}/phone.json?since=0",
        f"/api/2/episodes/{other}.json?since=0",
        f"/subscriptions/{other}/phone.json",
    )
    for path in paths:
        status = session.send(Request("GET", path)).status
        expect(status in {400, 401, 403, 404}, f"{path} gets {status}.")
