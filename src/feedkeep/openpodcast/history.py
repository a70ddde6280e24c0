"""The list's history: changes, undo and restore, with the JSON of requests and replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http.json_bodies import decode, encode
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.responses import JsonResponse
from feedkeep.model import Author, Guid, Stamp
from feedkeep.model.errors import InvalidInput
from feedkeep.model.stamps import write_stamp
from feedkeep.openpodcast import paging
from feedkeep.rules.guids import parse_guid
from feedkeep.rules.list_changes import FeedChange, ListChange, in_kinds
from feedkeep.rules.undo import ConflictPolicy, ListRestored, Undo
from feedkeep.runtime.cooperative import LONG_BYTES, LONG_LIST, in_thread_if
from feedkeep.service import Service
from feedkeep.service.history import NEWEST, ListedChanges, RestorePreview

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


class HistoryResource:
    """/history: changes of the list, newest first."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._public_url = settings.public_url.rstrip("/")

    async def get(self, request: AdmittedRequest) -> Response:
        # C9.7
        before, per_page = paging.history_page(request.http.query_params)
        listed = await self._service.history.page(
            request.admitted.account.id, NEWEST if before is None else before, per_page
        )
        request.hold(urls_shown(listed))
        next_url = None
        if listed.has_more:
            base = (self._public_url or request.base_url) + request.path
            next_url = f"{base}?before={listed.changes[-1].stamp}&per_page={per_page}"
        is_long = sum(len(change.feeds) for change in listed.changes) > LONG_LIST
        return JsonResponse(
            await in_thread_if(is_long, lambda: encode(history_reply(listed, next_url)))
        )


class UndoResource:
    """/history/{stamp}/undo: undo a change, or its part for some feeds."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._max_body_bytes = settings.max_body_bytes
        self._max_items = settings.max_items

    async def post(self, request: AdmittedRequest) -> Response:
        stamp = paging.read_change(request.parameters["stamp"])
        body = await request.body(self._max_body_bytes)
        wanted = await in_thread_if(len(body) > LONG_BYTES, self._wanted, stamp, body)
        done = await self._service.history.undo(
            request.admitted.account.id, wanted, request.author()
        )
        return JsonResponse(encode(list_restored_reply(done)))

    def _wanted(self, stamp: Stamp, body: bytes) -> Undo:
        sent = decode(UNDO_REQUEST, body if body.strip() else b"{}")
        guids: list[Guid] | None = None
        if sent.guids is not None:
            if len(sent.guids) > self._max_items:
                raise InvalidInput(f"At most {self._max_items:,} guids fit in one request.")
            guids = [parse_guid(guid) for guid in sent.guids]
        return Undo([stamp], guids, sent.changed_since or ConflictPolicy.ASK)


class RestoreResource:
    """/restore: restore the list as of a time; GET is a preview."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._max_body_bytes = settings.max_body_bytes

    async def get(self, request: AdmittedRequest) -> Response:
        query = request.http.query_params
        at = paging.one_value(query, "at", paging.read_moment, None)
        if at is None:
            raise InvalidInput("The query has no at: the moment whose list is wanted.")
        keep_added = paging.one_value(query, "keep_added", paging.read_yes_or_no, True)
        preview = await self._service.history.preview(
            request.admitted.account.id, at, keep_added=keep_added
        )
        request.hold(feed.feed_url for feed in preview.feeds)
        is_long = len(preview.feeds) > LONG_LIST
        return JsonResponse(await in_thread_if(is_long, lambda: encode(preview_reply(at, preview))))

    async def post(self, request: AdmittedRequest) -> Response:
        body = await request.body(self._max_body_bytes)
        wanted = await in_thread_if(len(body) > LONG_BYTES, decode, RESTORE_REQUEST, body)
        try:
            at = paging.read_moment(wanted.at)
        except InvalidInput as reason:
            raise InvalidInput(f"at: {reason}") from reason
        keep_added = wanted.keep_added is not False
        done = await self._service.history.restore(
            request.admitted.account.id, at, keep_added=keep_added, author=request.author()
        )
        return JsonResponse(encode(list_restored_reply(done)))
