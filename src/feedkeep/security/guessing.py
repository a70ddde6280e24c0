"""How long the next attempt at a password has to wait, whichever processes counted others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

WINDOW_SECONDS = 300
"""How long an attempt counts; up to a limit of them may be made within that time."""

KEPT_SECONDS = 12 * WINDOW_SECONDS
"""After how long an attempt is forgotten, also if too many are not waited for by then (C2.19)."""


def wait_seconds(counted: Iterable[Iterable[float]], limit: int, now_seconds: float) -> float:
    """Return how long an attempt has to wait; 0 if it need not.

    `counted` is when earlier ones were made, as each of some processes tells it. Processes tell
    each other what they counted a moment later. So together they may let too many through: those
    beyond the limit count as if they had been made when they would have been allowed. Thus an
    attacker who gets more attempts at once from several processes waits for them afterwards, and
    over a long time gets as many as from one process (C2.19).
    """
    since = now_seconds - KEPT_SECONDS
    times = sorted(at for some in counted for at in some if at > since)
    if len(times) < limit:
        return 0
    forgotten_seconds = times[-limit] + KEPT_SECONDS
    _date_to_when_allowed(times, limit)
    return max(0.0, min(times[-limit] + WINDOW_SECONDS, forgotten_seconds) - now_seconds)


def with_attempt(
    own: Sequence[float], others: Iterable[Iterable[float]], limit: int, now_seconds: float
) -> Sequence[float]:
    """Return what a process counts of its own after a further attempt: its last ones, in order.

    No more than `limit` are kept of each process. So that no attacker gets dropped ones again,
    those that are kept are dated to when they would have been allowed, if all of others came first.
    """
    since = now_seconds - KEPT_SECONDS
    known = [(at, False) for some in others for at in some if at > since]
    known += [(at, True) for at in own if at > since]
    known.sort()
    known.append((now_seconds, True))
    times = [at for at, _ in known]
    _date_to_when_allowed(times, limit)
    return [at for at, (_, is_own) in zip(times, known, strict=True) if is_own][-limit:]


def _date_to_when_allowed(times: list[float], limit: int) -> None:
    for place in range(limit, len(times)):
        times[place] = max(times[place], times[place - limit] + WINDOW_SECONDS)
