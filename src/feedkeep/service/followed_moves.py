"""Moves of feeds that feedkeep makes by itself, in one account's list at a time."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from feedkeep.model import (
    AccountId,
    Author,
    CredentialKind,
    Decision,
    Document,
    DocumentKind,
    DocumentName,
    Guid,
    Snapshot,
    replace,
)
from feedkeep.rules.feed_urls import FeedUrl
from feedkeep.rules.followed_moves import Followed, MoveOutcome, follow, tell_apps
from feedkeep.service.documents import as_json
from feedkeep.service.episode_actions import EpisodeActions
from feedkeep.service.list_changes import ListChanges

_NAME = DocumentName(DocumentKind.FOLLOWED_MOVES, "")
_MOVED = Author(CredentialKind.FEEDKEEP, name="moved")
_DEAD = Author(CredentialKind.FEEDKEEP, name="dead")

_FOLLOWED = msgspec.json.Decoder(tuple[Followed, ...])


class FollowedMoves:
    """Makes lists follow moved feeds, by ordinary changes that can be undone."""

    def __init__(self, changes: ListChanges, actions: EpisodeActions) -> None:
        self._changes = changes
        self._actions = actions

    async def follow(self, account_id: AccountId, old: FeedUrl, new: FeedUrl) -> bool:
        """Replace the URL of a moved feed; return whether anything changed.

        Apps are sent nothing: they keep the old URL as long as it redirects.
        """

        def decide(snapshot: Snapshot, held: Collection[Guid]) -> Decision[MoveOutcome]:
            body = snapshot.documents[_NAME].body
            followed = _FOLLOWED.decode(body) if body else ()
            decision = follow(snapshot, old, new, followed, held)
            if not decision.outcome.is_done:
                return decision
            remembered = as_json(decision.outcome.followed)
            return replace(decision, documents=[Document(_NAME.kind, _NAME.name, remembered)])

        guids = [old.guid, new.guid]
        changed = await self._changes.make_for_apps(account_id, guids, decide, _MOVED, [_NAME])
        return changed.outcome.is_done

    async def tell_apps(self, account_id: AccountId, old: FeedUrl) -> bool:
        """Tell apps to drop a dead URL; return whether there was anything to tell.

        Apps then delete the feed's episode actions, and are sent them again.
        """
        changed = await self._changes.make(
            account_id, [old.guid], lambda snapshot: tell_apps(snapshot, old), _DEAD
        )
        await self._actions.resend(account_id, changed.outcome)
        return bool(changed.outcome)
