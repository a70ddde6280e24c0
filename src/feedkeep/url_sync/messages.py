"""JSON messages of podcast apps: gpodder.net's, and the same in Nextcloud's gpoddersync."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from feedkeep.http.json_bodies import encode, text
from feedkeep.model import EpisodeAction
from feedkeep.rules.episode_actions import SentAction
from feedkeep.service.action_pages import ActionsSince
from feedkeep.service.progress import Uploaded
from feedkeep.url_sync.times import read_time, write_time

_DIGITS = re.compile(r"[0-9]{1,15}")


class ChangesReply(Struct):
    """Reply to GET /api/2/subscriptions/{user}/{device}.json."""

    add: Sequence[str]
    remove: Sequence[str]
    timestamp: int


class UploadReply(Struct):
    """Reply to an upload."""

    timestamp: int
    update_urls: Sequence[tuple[str, str]]


class ActionReply(Struct):
    """Episode action; the numbers are present for `play` only."""

    podcast: str
    episode: str
    action: str
    timestamp: str
    device: str | UnsetType = UNSET
    guid: str | UnsetType = UNSET
    started: int | UnsetType = UNSET
    position: int | UnsetType = UNSET
    total: int | UnsetType = UNSET


class ActionsReply(Struct):
    """Reply to GET /api/2/episodes/{user}.json."""

    actions: list[ActionReply]
    timestamp: int


def sent_actions(items: Sequence[object], device: str = "") -> list[SentAction]:
    """Read the actions of an upload; `device` is the default device."""
    return [_sent_action(item, device) for item in items if isinstance(item, dict)]


def _sent_action(item: dict[str, Any], device: str) -> SentAction:
    return SentAction(
        podcast=text(item.get("podcast")),
        episode=text(item.get("episode")),
        device=text(item.get("device")) or device,
        kind=text(item.get("action")),
        done=read_time(item.get("timestamp")),
        started=_number(item.get("started")),
        position=_number(item.get("position")),
        total=_number(item.get("total")),
        episode_guid=text(item.get("guid")) or None,
    )


def _number(value: object) -> int | None:
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if abs(value) < 2**53 else None


def upload_reply(uploaded: Uploaded) -> UploadReply:
    return UploadReply(uploaded.timestamp, uploaded.update_urls)


async def actions_in_chunks(found: ActionsSince) -> AsyncGenerator[bytes, None]:
    """Yield an `ActionsReply` as JSON, in chunks: its start, its actions page by page, its end."""
    before, after = encode(ActionsReply([], found.timestamp)).split(b"[]")
    between = before + b"["
    async with aclosing(found.pages) as pages:
        async for actions in pages:
            if actions:
                yield between + encode([_action_reply(action) for action in actions])[1:-1]
                between = b","
    yield (b"" if between == b"," else between) + b"]" + after


def _action_reply(action: EpisodeAction) -> ActionReply:
    return ActionReply(
        action.podcast,
        action.episode,
        action.kind,
        write_time(action.done),
        action.device or UNSET,
        action.episode_guid or UNSET,
        UNSET if action.started is None else action.started,
        UNSET if action.position is None else action.position,
        UNSET if action.total is None else action.total,
    )
