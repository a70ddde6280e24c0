"""The one way to change a list, for its owner and for moves that feedkeep follows by itself."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic

import msgspec
import structlog

from feedkeep.model import (
    AccountId,
    Author,
    CredentialKind,
    Decision,
    Document,
    DocumentKind,
    DocumentName,
    DocumentSelector,
    Entry,
    Guid,
    Limits,
    Now,
    Snapshot,
    Stamp,
    T,
    T_co,
    TokenId,
    Value,
    replace,
)
from feedkeep.rules.app_identity import author_key
from feedkeep.rules.draft import Draft
from feedkeep.rules.feed_urls import FeedUrl
from feedkeep.rules.followed_moves import Followed, MoveOutcome, follow, tell_apps
from feedkeep.rules.mass_unsubscribes import WINDOW_US, can_mass_unsubscribe, is_mass_unsubscribe
from feedkeep.service.documents import as_json
from feedkeep.service.episode_actions import EpisodeActions
from feedkeep.service.known_feeds import NewFeeds
from feedkeep.service.remembered_apps import read_app_urls
from feedkeep.store.base import Store

_MAX_NAME_CHARACTERS = 100

_STORED = msgspec.json.Decoder(tuple[CredentialKind, TokenId | None, str, str, str])


def write_author(author: Author) -> str:
    """Encode an author as a short line of JSON."""
    name = author.name[:_MAX_NAME_CHARACTERS]
    columns = (author.kind, author.token_id, name, author.device, author.request)
    return msgspec.json.encode(columns).decode()


def read_author(stored: str) -> Author | None:
    """Decode a stored author; None if the text is empty."""
    return Author(*_STORED.decode(stored)) if stored else None


_MAX_TALLIES = 10_000

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Changed(Value, Generic[T_co], frozen=True):
    """The result of a change.

    Attributes:
        outcome: Result of the rule.
        stamp: Timestamp by which the change can be undone; None if nothing changed or no history is
            kept.
    """

    outcome: T_co
    stamp: Stamp | None


class _Unknown(Value, frozen=True):
    """Nothing was changed, since some apps' documents were not read."""


class ListChanges:
    """Changes lists.

    Args:
        history_days: Retention of the history; 0 means none.
        new: Receives newly subscribed feeds.
    """

    def __init__(
        self,
        store: Store,
        now: Now,
        history_days: int,
        limits: Limits,
        new: NewFeeds,
        actions: EpisodeActions,
    ) -> None:
        self._new = new
        self._actions = actions
        self._store = store
        self._now = now
        self._is_kept = history_days > 0
        self._limits = limits
        self._tallies: OrderedDict[tuple[AccountId, str], tuple[Stamp, int, int]] = OrderedDict()

    async def whole(self, account_id: AccountId, history_from: Stamp | None = None) -> Snapshot:
        """Return a snapshot of the whole list, for a decision that is shown and not carried out."""
        whole = await self._store.entries.whole(account_id, history_from)
        return replace(whole, limits=self._limits)

    async def make(
        self,
        account_id: AccountId,
        guids: Sequence[Guid] | None,
        decide: Callable[[Snapshot], Decision[T]],
        author: Author,
        documents: Sequence[DocumentSelector] = (),
        history_from: Stamp | None = None,
    ) -> Changed[T]:
        """Make a change as `Entries.change` does, and record that `by` made it."""
        before = 0
        entries: Mapping[Guid, Entry] = {}
        made: Decision[T] | None = None

        def decide_and_note(snapshot: Snapshot) -> Decision[T]:
            nonlocal before, entries, made
            before, entries = snapshot.counts.subscribed, snapshot.entries
            made = decide(replace(snapshot, limits=self._limits))
            return made

        outcome = await self._store.entries.change(
            account_id,
            guids,
            decide_and_note,
            documents,
            author=write_author(author) if self._is_kept else None,
            history_from=history_from,
        )
        assert made is not None, "the store has asked for the decision"
        self._new.note(account_id, made.saved)
        await self._actions.join(account_id, entries, made.saved)
        after = made.counts.subscribed
        if after < before:
            self._note(account_id, author, before, before - after)
        is_change = len(made.saved) > len(made.restamped) or bool(made.forgotten)
        return Changed(outcome, made.stamp if is_change and self._is_kept else None)

    async def make_for_apps(
        self,
        account_id: AccountId,
        guids: Sequence[Guid] | None,
        decide: Callable[[Snapshot, Collection[Guid]], Decision[T]],
        author: Author,
        documents: Sequence[DocumentName] = (),
        history_from: Stamp | None = None,
    ) -> Changed[T]:
        """Like `make`, for changes that may forget URLs of feeds.

        `decide` also receives the guids derived from the URLs that apps have, which must not be
        forgotten. Documents of apps are read only if a URL would be forgotten.
        """

        def decide_without_apps(snapshot: Snapshot) -> Decision[T | _Unknown]:
            decision = decide(snapshot, _held(snapshot))
            return Draft(snapshot).decision(_Unknown()) if decision.forgotten else decision

        def decide_with_apps(snapshot: Snapshot) -> Decision[T]:
            return decide(snapshot, _held(snapshot))

        made = await self.make(
            account_id, guids, decide_without_apps, author, documents, history_from
        )
        if not isinstance(made.outcome, _Unknown):
            return Changed(made.outcome, made.stamp)
        with_apps: list[DocumentSelector] = [*documents, DocumentKind.APP_URLS]
        return await self.make(account_id, guids, decide_with_apps, author, with_apps, history_from)

    def _note(
        self, account_id: AccountId, author: Author, subscribed: int, unsubscribed: int
    ) -> None:
        """Log that an app unsubscribed most of a list, with this or earlier requests."""
        if not can_mass_unsubscribe(author):
            return
        key, now = (account_id, author_key(author)), self._now()
        began, at_first, so_far = self._tallies.pop(key, (now, subscribed, 0))
        if now - began > WINDOW_US:
            began, at_first, so_far = now, subscribed, 0
        self._tallies[key] = (began, at_first, so_far + unsubscribed)
        if len(self._tallies) > _MAX_TALLIES:
            self._tallies.popitem(last=False)
        if is_mass_unsubscribe(at_first, so_far + unsubscribed) and not is_mass_unsubscribe(
            at_first, so_far
        ):
            _log.warning(
                "app unsubscribed most of a list; the owner can undo it",
                account=account_id,
                request_id=author.request,
                feeds=so_far + unsubscribed,
                of=at_first,
            )


def _held(snapshot: Snapshot) -> set[Guid]:
    """Return the guids derived from URLs that apps have, or may have, for moved feeds."""
    held: set[Guid] = set()
    for name, document in snapshot.documents.items():
        if name.kind is DocumentKind.APP_URLS:
            app = read_app_urls(document.body)
            held |= app.known
            if app.echoes is not None:  # if the reply is lost, it will be repeated
                held |= app.gone
    return held


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
