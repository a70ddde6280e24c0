"""Whole seconds for apps that know no finer time, so that no change is lost. Pure.

docs/gpodder.md works it out. An account's clock counts microseconds. An app is told a second T when
its list is read, and asks for what changed since T, or since T + 1. So once T was told, no change
may get a stamp before the second T + 1, and none that was read may have one from T on. A clock that
promises that is *settled*: it stands on the last microsecond of T, and every stamp comes after it.
"""

from __future__ import annotations

from feedkeep.model import Stamp, Told

FROM_NOTHING = 0
"""What an app asks with that has nothing yet; it is never told."""

EVERYTHING = 1
"""What an app is told that can have missed anything."""

_SECOND = 1_000_000


def is_settled(clock: Stamp) -> bool:
    """Say whether a clock stands on the end of a second."""
    return clock % _SECOND == _SECOND - 1


def settled(clock: Stamp) -> Stamp:
    """Return where a clock has to stand for the second after its last stamp to be told."""
    return clock if is_settled(clock) else (clock // _SECOND + 2) * _SECOND - 1


def second_of(stamp: Stamp) -> int:
    """Return the second that a stamp is in; of a settled clock, the one to tell."""
    return stamp // _SECOND


def first_stamp(second: int) -> Stamp:
    """Return the first stamp of a second."""
    return second * _SECOND


def first_second(since: int, newest: int, app: Told) -> int:
    """Return the second from which on an app needs to be told what changed.

    `newest` is the second that it is told now. An app can say a `since` that it was never told: the
    time of its upload, or its own clock. Then it is told what came after all that it has heard; or
    everything, if nothing is known of it: no second after `newest + 1` can be ours.
    """
    if app.told is None:
        return since if since <= newest + 1 else EVERYTHING
    if has_heard(since, app):
        return since
    return min(since, (app.heard or FROM_NOTHING) + 1)


def has_heard(since: int, app: Told) -> bool:
    """Say whether `since` shows that the last reply came."""
    return app.told is not None and since in {app.told, app.told + 1}


def after_reply(since: int, newest: int, app: Told) -> Told:
    """Return how far an app knows what changed, once it is told `newest`.

    Where that is no news, nothing has to be remembered.
    """
    if newest == app.told:
        return app
    return Told(newest, app.told if has_heard(since, app) else app.heard)


def after_upload(app: Told) -> Told:
    """Return the same after an upload: apps send nothing before they have got what they asked."""
    return Told(app.told, app.told)
