"""How far each podcast app has been told what changed."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import Admitted, Clock, Second, Stamp, TokenNote, Told, Value
from feedkeep.rules import seconds
from feedkeep.store.base import Store


class Uploaded(Value, frozen=True):
    """What became of an upload.

    Attributes:
        timestamp: What the app may ask for changes since: no more than what it was told.
        update_urls: Each URL that is not kept as it was sent, with how it is kept; "" for not.
    """

    timestamp: Second
    update_urls: Sequence[tuple[str, str]]


class Progress:
    """Remembers how far an app was told, with the token or session that it shows."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def settle(self, admitted: Admitted, clock: Clock, now: Stamp) -> Stamp:
        """Return a stamp of an account's clock before which nothing more will come."""
        if seconds.is_settled(now):
            return now
        return await self._store.accounts.advance(admitted.account.id, clock, seconds.settled)

    async def note(self, admitted: Admitted, clock: Clock, told: Told) -> None:
        """Remember how far an app was told, if that has changed."""
        if note := note_of(admitted, clock, told):
            await self._store.tokens.note_told(admitted.account.id, note)


def told_of(admitted: Admitted, clock: Clock) -> Told:
    """Return how far an app knows what changed, if it has a token or session of its own."""
    token = admitted.token
    if token is None:
        return Told()
    is_alone = token.is_granted or token.is_session
    if clock is Clock.SUBSCRIPTIONS:
        known = (token.told_subscriptions, token.heard_subscriptions, token.own_subscriptions)
    else:
        known = (token.told_actions, token.heard_actions, token.own_actions)
    return Told(*known, is_alone)


def note_of(admitted: Admitted, clock: Clock, told: Told) -> TokenNote | None:
    """Return what is to be remembered of an app; None if that is nothing new."""
    if admitted.token is None or told == told_of(admitted, clock):
        return None
    return TokenNote(admitted.token.id, clock, told)


def next_second(told: Told) -> Second:
    """Return the second that an app may go on from, of which this is known."""
    return seconds.EVERYTHING if told.told is None else told.told
