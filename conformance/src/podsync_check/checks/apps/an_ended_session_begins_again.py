from podsync_check.watching.exchanges import Kind, WatchedExchange
from podsync_check.watching.hard_cases import Elsewhere, Play, Wait, a_poll, hard_case


@hard_case(
    asks="Let the app sync until this is over.",
    why="The phone has not synced since a restart of the server, unnoticed for months.",
    seen="kd2org/opodsync#38",
    spec="gpodder.net, Authentication API: 401 if the session is invalid.",
    protocols=frozenset({"gpodder.net"}),  # the other protocols have no sessions
)
def an_ended_session_begins_again(elsewhere: Elsewhere) -> Play:
    """An app whose session ended logs in again and continues."""
    yield a_poll()
    elsewhere.end_sessions()

    def is_let_in(exchange: WatchedExchange) -> bool:
        return exchange.kind is Kind.POLL and exchange.status in {None, 200}

    yield Wait(
        is_let_in,
        within_polls=5,
        otherwise="Its session has ended, and no later request was authenticated.",
    )
