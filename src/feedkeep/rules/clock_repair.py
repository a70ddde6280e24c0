"""Setting a clock right that a wrong wall clock has moved far ahead (contract, section 4). Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

from feedkeep.model import Account, Restamped, Stamp, SyncProgress, replace
from feedkeep.rules.clock import DAY_US, later, next_stamp
from feedkeep.rules.cookieless import CookielessApp
from feedkeep.rules.seconds import EVERYTHING

FAR_AHEAD_US = 7 * DAY_US
"""Restores move a clock a day ahead; several of them, one of the other's backup, some days."""

_AWAY_US = 366 * DAY_US
"""For how long a client may be away that goes on from its last stamp (C8.5)."""


def is_far_ahead(account: Account, now: Stamp) -> bool:
    """Say whether one of an account's clocks shows that a wall clock was wrong."""
    return max(account.last_stamp, account.last_action_stamp) > later(now, FAR_AHEAD_US)


def restamped(
    account: Account,
    known_from: Stamp,
    stamps: Collection[Stamp],
    action_stamps: Collection[Stamp],
    now: Stamp,
    epoch: int,
) -> Restamped:
    """Return what becomes of an account whose clock is far ahead of the wall clock `now`.

    `stamps` and `action_stamps` are those of its list and of its episode actions that are later
    than `now`. Each clock that is far ahead goes back: its stamps get new ones from `now` on, in
    the order in which they were, so that nothing else of the history changes. Apps are told
    everything: the seconds that they were given come again.
    """
    limit = later(now, FAR_AHEAD_US)
    if account.last_action_stamp > limit:
        actions = _restamped(action_stamps, now)
        account = replace(
            account,
            last_action_stamp=max([now, *actions.values()]),
            actions_lost_after=Stamp(0),  # else apps are sent nothing until that second comes
            actions_lost_until=Stamp(0),
        )
    else:
        actions = {}
    if account.last_stamp <= limit:
        return Restamped(account, known_from, {}, actions, EVERYTHING)
    entries = _restamped(stamps, now)
    return Restamped(
        _set_right(account, max([now, *entries.values()]), now, epoch),
        _moved(known_from, entries, now),
        entries,
        actions,
        EVERYTHING,
    )


def to_resend(app: CookielessApp) -> CookielessApp:
    """Return what is known of an app that is to be sent everything."""
    return replace(
        app, subscriptions=_sent_nothing(app.subscriptions), actions=_sent_nothing(app.actions)
    )


def _sent_nothing(progress: SyncProgress) -> SyncProgress:
    return progress if progress.last_sent is None else SyncProgress(EVERYTHING)


def _set_right(account: Account, clock: Stamp, now: Stamp, epoch: int) -> Account:
    """Return an account whose clock is set back to `clock`, in another epoch (C6.5).

    A client that was given one of the stamps ahead gets everything, since that is beyond the clock.
    The clock comes as far one day: clients that have been away until then are given everything,
    too, if they may be away for that long.
    """
    comes_soon = account.last_stamp <= later(now, _AWAY_US)
    after = min(account.lost_after, clock) if account.lost_until else clock
    until = account.last_stamp if comes_soon else min(account.lost_until, now)
    return replace(account, last_stamp=clock, epoch=epoch, lost_after=after, lost_until=until)


def _restamped(stamps: Collection[Stamp], now: Stamp) -> dict[Stamp, Stamp]:
    """Return new stamps from `now` on that rise as the old ones do; none is later than its old."""
    anew: dict[Stamp, Stamp] = {}
    last = now
    for stamp in sorted(stamps):
        last = next_stamp(last, now)
        anew[stamp] = last
    return anew


def _moved(stamp: Stamp, anew: Mapping[Stamp, Stamp], now: Stamp) -> Stamp:
    """Return a stamp that comes after the same new stamps as it did after old ones."""
    if stamp <= now:
        return stamp
    old: Sequence[Stamp] = sorted(anew)
    before = bisect_right(old, stamp)
    return anew[old[before - 1]] if before else now
