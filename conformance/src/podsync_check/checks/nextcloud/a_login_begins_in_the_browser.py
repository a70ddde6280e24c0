from podsync_check.checking import Level, check, expect
from podsync_check.messages import Request, expect_status
from podsync_check.servers import Nextcloud


@check(
    Level.COMPLETE,
    why="AntennaPod connects only in this way: it never asks for the password itself.",
    seen="AntennaPod/AntennaPod, NextcloudLoginFlow.java",
    spec="Nextcloud, Login flow v2.",
    only_reads=True,
)
def a_login_begins_in_the_browser(server: Nextcloud) -> None:
    """A login starts with a page to open, and a URL to poll that is 404 until access is granted."""
    stranger = server.stranger()
    reply = stranger.send(Request("POST", "/index.php/login/v2"))
    expect_status(reply, 200)
    found = reply.json()
    expect(str(found.get("login", "")).startswith("http"), "It has no URL to open.")
    poll = found["poll"]
    body = f"token={poll['token']}".encode()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    here = str(server.connection.address)
    expect(str(poll["endpoint"]).startswith(here), f"It is to be polled at {poll['endpoint']}.")
    target = str(poll["endpoint"]).removeprefix(here)
    expect_status(stranger.send(Request("POST", target, body, form)), 404)
