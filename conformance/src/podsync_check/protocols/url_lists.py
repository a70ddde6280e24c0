"""Common parts of gpodder.net's API and Nextcloud's gpoddersync.

Both send apps the feed URLs added and removed since a time in seconds, and episode actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podsync_check.messages import Reply, Wrong, expect_status

MAX_SECOND = 2**31 - 1
"""Kasts reads timestamps as 32-bit integers."""

Action = Mapping[str, Any]


@dataclass(frozen=True)
class Changes:
    """Added and removed feeds, and the next `since`."""

    add: Sequence[str]
    remove: Sequence[str]
    timestamp: int


@dataclass(frozen=True)
class Uploaded:
    """Timestamp of an upload, and the server's corrections of URLs."""

    timestamp: int | None
    update_urls: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Actions:
    """Episode actions in the order of the reply, and the next `since`."""

    actions: Sequence[Action]
    timestamp: int


def read_changes(reply: Reply) -> Changes:
    """Read the reply to a poll.

    Raises:
        Wrong: Apps could not read it.
    """
    found = _object(reply)
    return Changes(_texts(found, "add"), _texts(found, "remove"), _second(found))


def read_actions(reply: Reply) -> Actions:
    """Read the reply to a poll of episode actions.

    Raises:
        Wrong: Apps could not read it.
    """
    found = _object(reply)
    actions = found.get("actions")
    if not isinstance(actions, list) or not all(isinstance(one, dict) for one in actions):
        raise Wrong(f"`actions` is no list of objects: {actions!r:.200}.")
    return Actions(actions, _second(found))


def read_uploaded(reply: Reply, *, is_timestamp_needed: bool = True) -> Uploaded:
    """Read the reply to an upload.

    Raises:
        Wrong: Apps could not read it.
    """
    expect_status(reply, 200)
    if not is_timestamp_needed and not reply.body.strip():
        return Uploaded(None, [])
    found = _object(reply)
    timestamp = _second(found) if is_timestamp_needed or "timestamp" in found else None
    pairs = found.get("update_urls", [])
    if not isinstance(pairs, list) or not all(map(_is_pair, pairs)):
        raise Wrong(f"`update_urls` is no list of pairs of texts: {pairs!r:.200}.")
    return Uploaded(timestamp, [(old, new) for old, new in pairs])


def _object(reply: Reply) -> dict[str, Any]:
    expect_status(reply, 200)
    found = reply.json()
    if not isinstance(found, dict):
        raise Wrong(f"The body is no JSON object: {found!r:.200}.")
    return found


def _texts(found: Mapping[str, Any], name: str) -> Sequence[str]:
    texts = found.get(name)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Wrong(f"`{name}` is no list of texts: {texts!r:.200}.")
    return texts


def _second(found: Mapping[str, Any]) -> int:
    second = found.get("timestamp")
    if not isinstance(second, int) or isinstance(second, bool) or not 0 <= second <= MAX_SECOND:
        raise Wrong(f"`timestamp` is no whole number of seconds: {second!r:.50}.")
    return second


def _is_pair(pair: object) -> bool:
    match pair:
        case [str(), str()]:
            return True
    return False
