"""How far each podcast app knows what changed."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import Admitted, Clock, Second, Stamp, SyncProgress, TokenProgress, Value
from feedkeep.rules import seconds
from feedkeep.store.base import Store


class Uploaded(Value, frozen=True):
    """What became of an upload.

    Attributes:
        timestamp: The second that the app may ask for changes since: never later than the one up to
            which it was sent all changes.
        update_urls: Each URL that is not stored as it was sent, with the URL that is; "" if the URL
            was refused.
    """

    timestamp: Second
    update_urls: Sequence[tuple[str, str]]


class Progress:
    """Stores how far an app knows what changed, with the token or session that it sends."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def settle(self, admitted: Admitted, clock: Clock, now: Stamp) -> Stamp:
        """Return a stamp of an account's clock before which nothing more will come."""
        # A poll with nothing new writes nothing: the clock stays settled until the next change.
        if seconds.is_settled(now):
            return now
        return await self._store.accounts.advance(admitted.account.id, clock, seconds.settled)

    async def save(self, admitted: Admitted, clock: Clock, progress: SyncProgress) -> None:
        """Store how far an app knows what changed, if that is not stored already."""
        if changed := changed_progress(admitted, clock, progress):
            await self._store.tokens.save_progress(admitted.account.id, changed)


def progress_of(admitted: Admitted, clock: Clock) -> SyncProgress:
    """Return how far an app knows what changed; nothing is known without a token or session."""
    token = admitted.token
    if token is None:
        return SyncProgress()
    # A token may be pasted into several apps. A session, and a token of a Nextcloud login, are each
    # given to one app only, so that what is known of them is known of that app.
    is_alone = token.is_granted or token.is_session
    if clock is Clock.SUBSCRIPTIONS:
        known = (token.told_subscriptions, token.heard_subscriptions, token.own_subscriptions)
    else:
        known = (token.told_actions, token.heard_actions, token.own_actions)
    return SyncProgress(*known, is_alone)


def changed_progress(
    admitted: Admitted, clock: Clock, progress: SyncProgress
) -> TokenProgress | None:
    """Return what is to be stored of an app; None if that is stored already."""
    if admitted.token is None or progress == progress_of(admitted, clock):
        return None
    return TokenProgress(admitted.token.id, clock, progress)


def next_second(progress: SyncProgress) -> Second:
    """Return the second that an app may go on from."""
    return seconds.EVERYTHING if progress.last_sent is None else progress.last_sent
