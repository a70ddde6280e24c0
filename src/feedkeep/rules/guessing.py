"""How long the next attempt at a password has to wait, whichever processes counted others. Pure."""

from __future__ import annotations

from collections.abc import Iterable

WINDOW_SECONDS = 300
"""How long an attempt counts; up to a limit of them may be made within that time."""

KEPT_SECONDS = 12 * WINDOW_SECONDS
"""After how long an attempt is forgotten, also if too many are not waited for by then."""


def wait_seconds(counted: Iterable[Iterable[float]], limit: int, now_seconds: float) -> float:
    """Return how long an attempt has to wait; 0 if it need not.

    `counted` is when earlier ones were made, as each of some processes tells it. Processes tell
    each other what they counted a moment later. So together they may let too many through: those
    beyond the limit count as if they had been made when they would have been allowed. Thus whoever
    gets more attempts at once from several processes waits for them afterwards, and over a long
    time gets as many as from one process.
    """
    since = now_seconds - KEPT_SECONDS
    times = sorted(at for some in counted for at in some if at > since)
    if len(times) < limit:
        return 0
    forgotten_seconds = times[-limit] + KEPT_SECONDS
    for place in range(limit, len(times)):
        times[place] = max(times[place], times[place - limit] + WINDOW_SECONDS)
    return max(0.0, min(times[-limit] + WINDOW_SECONDS, forgotten_seconds) - now_seconds)
