"""Whether a position survives a server that is away when it is told."""

from podsync_check.watching.exchanges import URL_LISTS, Kind, WatchedExchange
from podsync_check.watching.faults import Fault
from podsync_check.watching.hard_cases import PATIENCE_POLLS, Elsewhere, Play, Wait, hard_case


def _plays(exchange: WatchedExchange) -> frozenset[str]:
    sent = exchange.sent if isinstance(exchange.sent, list) else []
    found = [one for one in sent if isinstance(one, dict)]
    return frozenset(
        " ".join(str(one.get(name)) for name in ("episode", "action", "position")) for one in found
    )


@hard_case(
    asks="Play an episode for a minute and pause it; then let the app sync until this is over.",
    why="The evening's episode begins from its start on the other device.",
    seen="AntennaPod/AntennaPod#569: 502 and timeouts, every day",
    spec="RFC 9110, 15.6.4: the service is unable to handle the request now.",
    protocols=URL_LISTS,
)
def a_play_that_meets_503_is_sent_again(_: Elsewhere) -> Play:
    """What was played is told again when it was answered with 503."""
    first = yield Wait(
        lambda one: one.kind is Kind.PLAYS_UPLOAD and bool(_plays(one)), Fault.UNAVAILABLE
    )
    assert first is not None
    told, number = _plays(first), first.number
    yield Wait(
        lambda later: later.kind is Kind.PLAYS_UPLOAD and told <= _plays(later),
        within_polls=PATIENCE_POLLS + 3,
        otherwise=f"Request {number} got 503, and what it told was not sent again.",
    )
