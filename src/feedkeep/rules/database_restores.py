"""Effects of a database restore on clients that follow a list (contract, section 6). Pure."""

from __future__ import annotations

from feedkeep.model import Account, Entry, PageRequest, Pointer, Restored, Second, Stamp, replace
from feedkeep.rules.clock import after_restore, next_stamp, shift
from feedkeep.rules.seconds import first_stamp

BEGINNING = Stamp(-1)
"""Before every stamp: all changes since then are the whole list."""


def restored(account: Account, newest: Entry | None, now: Stamp, epoch: int) -> Restored:
    """Return the changes to an account from a backup that is restored at the wall clock `now`.

    `newest` is the entry with the greatest revision. Only it gets a new stamp, past the stamps that
    may have been lost, so that a client that reads the whole list continues from there. Apps that
    identify feeds by URL are sent changes by other stamps, which stay: nothing is removed from them
    (C6.7).
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
            # The range of the newest restore only: an app that asks since a lost second is sent
            # less, and one that asks since a second between two restores has lost nothing.
            actions_lost_after=account.last_action_stamp,
            actions_lost_until=actions_moved,
        ),
        None if newest is None else restamped(newest, clock),
    )


def restamped(entry: Entry, stamp: Stamp) -> Entry:
    """Return the entry with a greater revision."""
    if isinstance(entry, Pointer):
        return replace(entry, guid_changed=stamp)
    return replace(entry, subscription_changed=stamp)


def epoch_of(account: Account) -> str:
    """Return the id of the list's epoch; it differs for other lists, and after a restore (C6.5)."""
    return f"{account.id:x}-{account.epoch:x}"


def may_follow_lost_changes(account: Account, since: Stamp) -> bool:
    """Whether a stamp may come from a state of the list that a restore has lost (C6.6).

    A stamp beyond the clock certainly does: an older database was put in place without telling
    feedkeep.
    """
    return account.lost_after < since <= account.lost_until or since > account.last_stamp


def first_action(account: Account, since: Second, first: Stamp) -> Stamp:
    """Return the first stamp of the episode actions to send to an app.

    `first` applies without a restore. An app that asks `since` a lost second was sent everything in
    the backup, and more: so it is sent the changes after the restore only. The backup's positions
    would set it back.
    """
    is_lost = account.actions_lost_after < first_stamp(since) <= account.actions_lost_until
    return max(first, shift(account.actions_lost_until, 1)) if is_lost else first


def page_to_read(account: Account, asked: PageRequest) -> PageRequest:
    """Return the page of the list that answers a request.

    After a lost state, that is the whole list. A page that is reached by `next` continues from the
    page before it, unless that was read in another epoch: then it is the first page (C6.9).
    """
    if asked.epoch is not None and asked.epoch != epoch_of(account):
        return replace(asked, since=BEGINNING, after=None, page=1)
    if may_follow_lost_changes(account, asked.since):
        return replace(asked, since=BEGINNING)
    return asked
