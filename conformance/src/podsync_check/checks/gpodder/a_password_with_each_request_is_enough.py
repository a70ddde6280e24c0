from podsync_check.checking import Level, check
from podsync_check.protocols.gpodder import GpodderCalls
from podsync_check.servers import Gpodder


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
