"""JSON of requests and replies about a list's history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import UNSET, Struct, UnsetType

from feedkeep.model import Author, Stamp
from feedkeep.model.stamps import write_stamp
from feedkeep.rules.list_changes import FeedChange, ListChange, in_kinds
from feedkeep.rules.undo import ConflictPolicy, ListRestored
from feedkeep.service.history import ListedChanges, RestorePreview

MAX_FEEDS_OF_A_CHANGE = 100
"""Maximum number of feeds shown per change (C9.6); the others are only counted."""

MAX_FEEDS_OF_A_PREVIEW = 1_000
"""Maximum number of feeds shown per kind in a preview (C9.14); the others are only counted."""


class FeedChangeReply(Struct):
    """The change of a feed, made or previewed."""

    what: str
    guid: str
    feed_url: str
    old: str | UnsetType = UNSET


class AuthorReply(Struct):
    """The author of a change."""

    kind: str
    name: str
    device: str
    token: int | None


class ChangeReply(Struct):
    """A change of the list."""

    stamp: int
    at: str
    by: AuthorReply | None
    request: str | None
    feeds: list[FeedChangeReply]
    feeds_count: int


class HistoryReply(Struct):
    """The reply to GET /history."""

    known_from: str
    changes: list[ChangeReply]
    next: str | UnsetType = UNSET


class UndoRequest(Struct):
    """The body of POST /history/{stamp}/undo; null counts as omitted (C1.21)."""

    guids: list[str] | None = None
    changed_since: ConflictPolicy | None = None


class RestoreRequest(Struct):
    """The body of POST /restore; null counts as omitted (C1.21)."""

    at: str
    keep_added: bool | None = None


class ListRestoredReply(Struct):
    """The reply to POST /history/{stamp}/undo and POST /restore."""

    stamp: int | None
    changed: int
    left: int


class PreviewReply(Struct):
    """The reply to GET /restore."""

    at: str
    come_back: list[FeedChangeReply]
    come_back_count: int
    go: list[FeedChangeReply]
    go_count: int
    change: list[FeedChangeReply]
    change_count: int


UNDO_REQUEST = msgspec.json.Decoder(UndoRequest)
RESTORE_REQUEST = msgspec.json.Decoder(RestoreRequest)


def urls_shown(listed: ListedChanges) -> Iterator[str]:
    """Yield the URLs on a page of the history, its longest texts."""
    return (
        text
        for change in listed.changes
        for feed in change.feeds[:MAX_FEEDS_OF_A_CHANGE]
        for text in (feed.feed_url, feed.old or "")
    )


def history_reply(listed: ListedChanges, next_url: str | None) -> HistoryReply:
    return HistoryReply(
        write_stamp(listed.known_from),
        [_change_reply(change, listed.author_of(change)) for change in listed.changes],
        UNSET if next_url is None else next_url,
    )


def list_restored_reply(done: ListRestored) -> ListRestoredReply:
    return ListRestoredReply(done.stamp, done.feeds, done.left)


def preview_reply(at: Stamp, preview: RestorePreview) -> PreviewReply:
    kinds = in_kinds(preview.feeds)
    return PreviewReply(
        write_stamp(at),
        _first_feeds(kinds.back),
        len(kinds.back),
        _first_feeds(kinds.gone),
        len(kinds.gone),
        _first_feeds(kinds.others),
        len(kinds.others),
    )


def _change_reply(change: ListChange, author: Author | None) -> ChangeReply:
    shown = change.feeds[:MAX_FEEDS_OF_A_CHANGE]
    return ChangeReply(
        change.stamp,
        write_stamp(change.stamp),
        AuthorReply(author.kind, author.name, author.device, author.token_id) if author else None,
        author.request if author else None,
        _feed_replies(shown),
        len(change.feeds),
    )


def _first_feeds(feeds: Sequence[FeedChange]) -> list[FeedChangeReply]:
    return _feed_replies(feeds[:MAX_FEEDS_OF_A_PREVIEW])


def _feed_replies(feeds: Iterable[FeedChange]) -> list[FeedChangeReply]:
    return [
        FeedChangeReply(feed.what, feed.guid, feed.feed_url, feed.old or UNSET) for feed in feeds
    ]
