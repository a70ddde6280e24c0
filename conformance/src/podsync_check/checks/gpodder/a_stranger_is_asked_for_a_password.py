from podsync_check.checking import Level, check, expect
from podsync_check.messages import expect_status
from podsync_check.servers import Gpodder


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
