from podsync_check.checking import Level, check, expect
from podsync_check.connection import Session
from podsync_check.messages import expect_status
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
