from podsync_check.watching.exchanges import URL_LISTS, Kind, WatchedExchange
from podsync_check.watching.faults import Fault
from podsync_check.watching.hard_cases import PATIENCE_POLLS, Elsewhere, Play, Wait, hard_case


def _episodes(exchange: WatchedExchange) -> frozenset[str]:
    sent = exchange.sent if isinstance(exchange.sent, list) else []
    return frozenset(str(one.get("episode")) for one in sent if isinstance(one, dict))


@hard_case(
    asks="Play an episode for a minute and pause it; then let the app sync until this is over.",
    why="The evening's episode starts from the beginning on the other device.",
    seen="AntennaPod/AntennaPod#569: 502 and timeouts, every day",
    spec="RFC 9110, 15.6.4: the service is unable to handle the request now.",
    protocols=URL_LISTS,
)
def a_play_that_meets_503_is_sent_again(_: Elsewhere) -> Play:
    """A played position answered with 503 is sent again."""
    first = yield Wait(
        lambda one: one.kind is Kind.PLAYS_UPLOAD and bool(_episodes(one)), Fault.UNAVAILABLE
    )
    assert first is not None
    missing, number = set(_episodes(first)), first.number

    def completes(later: WatchedExchange) -> bool:
        if later.kind is Kind.PLAYS_UPLOAD and later is not first:
            missing.difference_update(_episodes(later))
        return not missing

    yield Wait(
        completes,
        within_polls=PATIENCE_POLLS + 3,
        otherwise=f"Request {number} got 503, and its content was not sent again.",
    )
