"""What a restore of the database means for those who follow a list (contract, section 6). Pure."""

from __future__ import annotations

from feedkeep.model import Account, Entry, PageRequest, Pointer, Restored, Second, Stamp, replace
from feedkeep.rules.clock import after_restore, later, next_stamp
from feedkeep.rules.seconds import first_stamp

BEGINNING = Stamp(-1)
"""Before every stamp: the list since then is the whole list."""


def restored(account: Account, newest: Entry | None, now: Stamp, epoch: int) -> Restored:
    """Return what a restore makes of an account as the backup has it, at the wall clock `now`.

    `newest` is the entry with the greatest revision. It alone is stamped anew, past the stamps that
    may have been lost: a client that reads the whole list then goes on from there. What apps that
    know only URLs are sent goes by other stamps, which stay: nothing is removed from them (C6.7).
    """
    moved = after_restore(account.last_stamp, now)
    clock = moved if newest is None else next_stamp(moved, now)
    actions_moved = after_restore(account.last_action_stamp, now)
    after = account.last_stamp
    if account.lost_until > 0:  # it was restored before
        after = min(after, account.lost_after)
    return Restored(
        replace(
            account,
            last_stamp=clock,
            last_action_stamp=actions_moved,
            epoch=epoch,
            lost_after=after,
            lost_until=max(account.lost_until, moved),
            # Of the newest restore alone: an app that asks since a lost second is sent less, and
            # one that asks since a second between two restores has lost nothing.
            actions_lost_after=account.last_action_stamp,
            actions_lost_until=actions_moved,
        ),
        None if newest is None else restamped(newest, clock),
    )


def restamped(entry: Entry, stamp: Stamp) -> Entry:
    """Return an entry with a greater revision, and otherwise as it was."""
    if isinstance(entry, Pointer):
        return replace(entry, guid_changed=stamp)
    return replace(entry, subscription_changed=stamp)


def epoch_of(account: Account) -> str:
    """Return the id of the list's epoch: another one after a restore (C6.5), or of another list."""
    return f"{account.id:x}-{account.epoch:x}"


def may_follow_lost_changes(account: Account, since: Stamp) -> bool:
    """Say whether a stamp may come from a state of the list that a restore has lost (C6.6).

    A stamp beyond the clock does so for certain: the database is an older one, and the operator did
    not say so.
    """
    return account.lost_after < since <= account.lost_until or since > account.last_stamp


def first_action(account: Account, since: Second, first: Stamp) -> Stamp:
    """Return the first timestamp of the episode actions that answer an app.

    `first` is that without a restore. An app that asks `since` a second that a restore has lost was
    sent all that the backup has, and more: so it is sent what came after the restore. Otherwise it
    would be sent the backup's positions, and go back.
    """
    is_lost = account.actions_lost_after < first_stamp(since) <= account.actions_lost_until
    return max(first, later(account.actions_lost_until, 1)) if is_lost else first


def page_to_read(account: Account, asked: PageRequest) -> PageRequest:
    """Return which page of the list answers a request.

    After a lost state there is only the whole list. A page that is reached by `next` goes on from
    the one before it, unless that was read in another epoch: then it is the first, again (C6.9).
    """
    if asked.epoch is not None and asked.epoch != epoch_of(account):
        return replace(asked, since=BEGINNING, after=None, page=1)
    if may_follow_lost_changes(account, asked.since):
        return replace(asked, since=BEGINNING)
    return asked
