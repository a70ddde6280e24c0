"""Resources of the list's history: changes, undo and restore."""

from __future__ import annotations

from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http.json_bodies import decode, encode
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.responses import JsonResponse
from feedkeep.model import Guid, Stamp
from feedkeep.model.errors import InvalidInput
from feedkeep.openpodcast import history_wire, paging
from feedkeep.rules.guids import parse_guid
from feedkeep.rules.undo import ConflictPolicy, Undo
from feedkeep.runtime.cooperative import LONG_BYTES, LONG_LIST, in_thread_if
from feedkeep.service import Service
from feedkeep.service.history import NEWEST


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
        request.hold(history_wire.urls_shown(listed))
        next_url = None
        if listed.has_more:
            base = (self._public_url or request.base_url) + request.path
            next_url = f"{base}?before={listed.changes[-1].stamp}&per_page={per_page}"
        is_long = sum(len(change.feeds) for change in listed.changes) > LONG_LIST
        return JsonResponse(
            await in_thread_if(
                is_long, lambda: encode(history_wire.history_reply(listed, next_url))
            )
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
        return JsonResponse(encode(history_wire.list_restored_reply(done)))

    def _wanted(self, stamp: Stamp, body: bytes) -> Undo:
        sent = decode(history_wire.UNDO_REQUEST, body if body.strip() else b"{}")
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
        return JsonResponse(
            await in_thread_if(is_long, lambda: encode(history_wire.preview_reply(at, preview)))
        )

    async def post(self, request: AdmittedRequest) -> Response:
        body = await request.body(self._max_body_bytes)
        wanted = await in_thread_if(
            len(body) > LONG_BYTES, decode, history_wire.RESTORE_REQUEST, body
        )
        try:
            at = paging.read_moment(wanted.at)
        except InvalidInput as reason:
            raise InvalidInput(f"at: {reason}") from reason
        keep_added = wanted.keep_added is not False
        done = await self._service.history.restore(
            request.admitted.account.id, at, keep_added=keep_added, author=request.author()
        )
        return JsonResponse(encode(history_wire.list_restored_reply(done)))
