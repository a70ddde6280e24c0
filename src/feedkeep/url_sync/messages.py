"""JSON messages and times of podcast apps: gpodder.net's, and Nextcloud's gpoddersync."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from feedkeep.http.json_bodies import encode, text
from feedkeep.model import EpisodeAction, Second
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.seconds import FROM_NOTHING
from feedkeep.service.episode_actions import ActionsSince
from feedkeep.service.progress import Uploaded

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - written without an offset
_LAST_SECOND = 253_402_300_799  # in the year 9999
_FIRST_MILLISECONDS = 100_000_000_000  # in seconds, the year 5138

_DATE_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,][0-9]+)?)?"
    r"\s*(?:[Zz]|([-+])([0-9]{2}):?([0-9]{2}))?"
)
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]*)?")


def read_time(value: object) -> int | None:
    """Return the time of an action in seconds, or None if the value is not a time.

    Without an offset, a time is in UTC. Numbers are seconds, or milliseconds if they are large
    enough.
    """
    if isinstance(value, str):
        text = value.strip()
        if match := _DATE_TIME.fullmatch(text):
            return _second_of(match)
        value = float(text) if _NUMBER.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value < (_LAST_SECOND + 1) * 1_000:  # first: larger numbers cannot be divided
        return None
    second = int(value / 1_000 if value >= _FIRST_MILLISECONDS else value)
    return second if second <= _LAST_SECOND else None


def write_time(second: int) -> str:
    """Format a time in UTC without an offset: Kasts cannot read any other."""
    return (_EPOCH + timedelta(seconds=second)).isoformat()


def read_since(text: str) -> Second:
    """Return an app's `since`; without one, the first second.

    Raises:
        InvalidInput: The text is not a number.
    """
    text = text.strip()
    if not text:
        return FROM_NOTHING
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    if not _NUMBER.fullmatch(digits):
        raise InvalidInput("`since` has to be a whole number of seconds.")
    return FROM_NOTHING if sign == "-" else Second(int(digits.partition(".")[0]))


def _second_of(match: re.Match[str]) -> int | None:
    year, month, day, hour, minute = (int(match[group]) for group in range(1, 6))
    offset = timedelta(hours=int(match[8] or 0), minutes=int(match[9] or 0))
    try:
        moment = datetime(year, month, day, hour, minute, min(int(match[6] or 0), 59), tzinfo=UTC)
    except ValueError:
        return None
    second = int(moment.timestamp() - offset.total_seconds() * (-1 if match[7] == "-" else 1))
    return second if 0 <= second <= _LAST_SECOND else None


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
