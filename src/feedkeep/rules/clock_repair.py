"""Repair of a clock that a wrong wall clock moved far ahead (contract, section 4). Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

from feedkeep.model import Account, Restamped, Stamp, SyncProgress, replace
from feedkeep.rules.app_identity import CookielessApp
from feedkeep.rules.clock import DAY_US, next_stamp, shift
from feedkeep.rules.seconds import EVERYTHING

FAR_AHEAD_US = 7 * DAY_US
"""A restore moves a clock a day ahead; restores of each other's backups add up to some days."""

_AWAY_US = 366 * DAY_US
"""Maximum absence of a client that continues from its last stamp (C8.5)."""


def is_far_ahead(account: Account, now: Stamp) -> bool:
    """Whether one of an account's clocks shows that a wall clock was wrong."""
    return max(account.last_stamp, account.last_action_stamp) > shift(now, FAR_AHEAD_US)


def restamped(
    account: Account,
    known_from: Stamp,
    stamps: Collection[Stamp],
    action_stamps: Collection[Stamp],
    now: Stamp,
    epoch: int,
) -> Restamped:
    """Return the changes to an account whose clock is far ahead of the wall clock `now`.

    `stamps` and `action_stamps` are the stamps of its list and of its episode actions that are
    later than `now`. Each clock that is far ahead is set back: its stamps are replaced by new ones
    from `now` on, in the same order, so that the history is otherwise unchanged. Apps are sent
    everything, since the seconds that they were given recur.
    """
    limit = shift(now, FAR_AHEAD_US)
    if account.last_action_stamp > limit:
        actions = _restamped(action_stamps, now)
        account = replace(
            account,
            last_action_stamp=max([now, *actions.values()]),
            actions_lost_after=Stamp(0),  # or apps are sent nothing until that second
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
    """Return the progress of an app that must be sent everything."""
    return replace(
        app, subscriptions=_sent_nothing(app.subscriptions), actions=_sent_nothing(app.actions)
    )


def _sent_nothing(progress: SyncProgress) -> SyncProgress:
    return progress if progress.last_sent is None else SyncProgress(EVERYTHING)


def _set_right(account: Account, clock: Stamp, now: Stamp, epoch: int) -> Account:
    """Return the account with its clock set back to `clock`, in another epoch (C6.5).

    A client that was given one of the removed stamps gets everything, since its stamp is beyond the
    clock. One day the clock reaches that stamp again: if clients may be away until then, they get
    everything after that, too.
    """
    comes_soon = account.last_stamp <= shift(now, _AWAY_US)
    after = min(account.lost_after, clock) if account.lost_until else clock
    until = account.last_stamp if comes_soon else min(account.lost_until, now)
    return replace(account, last_stamp=clock, epoch=epoch, lost_after=after, lost_until=until)


def _restamped(stamps: Collection[Stamp], now: Stamp) -> dict[Stamp, Stamp]:
    """Return new stamps from `now` on, in the old order, none later than its old stamp."""
    anew: dict[Stamp, Stamp] = {}
    last = now
    for stamp in sorted(stamps):
        last = next_stamp(last, now)
        anew[stamp] = last
    return anew


def _moved(stamp: Stamp, anew: Mapping[Stamp, Stamp], now: Stamp) -> Stamp:
    """Return the stamp that follows the same new stamps as `stamp` followed old ones."""
    if stamp <= now:
        return stamp
    old: Sequence[Stamp] = sorted(anew)
    before = bisect_right(old, stamp)
    return anew[old[before - 1]] if before else now
