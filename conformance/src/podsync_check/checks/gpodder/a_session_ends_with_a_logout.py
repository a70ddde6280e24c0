from podsync_check.checking import Level, check, expect
from podsync_check.servers import Gpodder


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
