"""Delay of the next password attempt, from the counts of all processes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

WINDOW_SECONDS = 300
"""Period in which at most `limit` attempts are allowed."""

KEPT_SECONDS = 12 * WINDOW_SECONDS
"""Age at which an attempt is dropped, even if its delay is not over (C2.19)."""


def wait_seconds(counted: Iterable[Iterable[float]], limit: int, now_seconds: float) -> float:
    """Return the delay in seconds until the next attempt; 0 for none.

    `counted` holds the times of earlier attempts, by process. Processes share their counts with
    some lag, so together they may allow too many. Attempts beyond the limit count from when they
    would have been allowed: an attacker who got more from several processes at once waits for it
    later, and in the long run gets as many as from one process (C2.19).
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
    """Return a process's own attempts, with one added; the last ones, in order.

    At most `limit` are kept. They are dated to when they would have been allowed if all attempts of
    other processes came first, so that dropping the rest gives an attacker no further attempts.
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
