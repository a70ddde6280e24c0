"""gpodder.net's API and Nextcloud's gpoddersync: requests, and readers of the replies.

Both send apps the feed URLs added and removed since a time in seconds, and episode actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from podsync_check.messages import Call, Reply, Request, Wrong, expect_status, json_request

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
    """Read the reply to a poll; like all readers, raises `Wrong` if apps could not read it."""
    found = _object(reply)
    return Changes(_texts(found, "add"), _texts(found, "remove"), _second(found))


def read_actions(reply: Reply) -> Actions:
    """Read the reply to a poll of episode actions."""
    found = _object(reply)
    actions = found.get("actions")
    if not isinstance(actions, list) or not all(isinstance(one, dict) for one in actions):
        raise Wrong(f"`actions` is no list of objects: {actions!r:.200}.")
    return Actions(actions, _second(found))


def read_uploaded(reply: Reply, *, is_timestamp_needed: bool = True) -> Uploaded:
    """Read the reply to an upload."""
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
    return isinstance(pair, list) and list(map(type, pair)) == [str, str]


@dataclass(frozen=True)
class GpodderCalls:
    """gpodder.net's API, version 2: the requests of one app for one device."""

    user: str
    device: str

    @property
    def _mine(self) -> str:
        return f"{quote(self.user, safe='')}/{quote(self.device, safe='')}"

    def changes(self, since: int) -> Call[Changes]:
        """Get the changes since a time in seconds."""
        target = f"/api/2/subscriptions/{self._mine}.json?since={since}"
        return Call(Request("GET", target), read_changes)

    def upload(self, add: Sequence[str], remove: Sequence[str]) -> Call[Uploaded]:
        """Upload the device's changes."""
        sent = {"add": list(add), "remove": list(remove)}
        request = json_request("POST", f"/api/2/subscriptions/{self._mine}.json", sent)
        return Call(request, read_uploaded)

    def actions(self, since: int, **more: str) -> Call[Actions]:
        """Get the episode actions since a time in seconds; `more` holds further parameters."""
        query = urlencode({"since": since, **more})
        user = quote(self.user, safe="")
        return Call(Request("GET", f"/api/2/episodes/{user}.json?{query}"), read_actions)

    def upload_actions(self, actions: Sequence[Action]) -> Call[Uploaded]:
        named = [{"device": self.device, **action} for action in actions]
        target = f"/api/2/episodes/{quote(self.user, safe='')}.json"
        return Call(json_request("POST", target, named), read_uploaded)

    def log_in(self) -> Call[Reply]:
        """Start a session; the session sends the credential."""
        target = f"/api/2/auth/{quote(self.user, safe='')}/login.json"
        return Call(Request("POST", target), _ok)

    def log_out(self) -> Call[Reply]:
        target = f"/api/2/auth/{quote(self.user, safe='')}/logout.json"
        return Call(Request("POST", target), _ok)

    def describe(self, **description: str) -> Call[Reply]:
        """Set the device's caption and type; unknown devices are created."""
        return Call(json_request("POST", f"/api/2/devices/{self._mine}.json", description), _ok)

    def devices(self) -> Call[Sequence[Mapping[str, Any]]]:
        target = f"/api/2/devices/{quote(self.user, safe='')}.json"
        return Call(Request("GET", target), _devices)

    def whole_list(self, form: str = "json") -> Call[Reply]:
        """Get the full list of the device."""
        return Call(Request("GET", f"/subscriptions/{self._mine}.{form}"), _ok)

    def put_list(self, urls: Sequence[str]) -> Call[Reply]:
        """Replace the full list of the device."""
        return Call(json_request("PUT", f"/subscriptions/{self._mine}.json", list(urls)), _ok)

    def link(self, devices: Sequence[str]) -> Call[Reply]:
        """Request one list for several devices."""
        target = f"/api/2/sync-devices/{quote(self.user, safe='')}.json"
        sent = {"synchronize": [list(devices)], "stop-synchronize": []}
        return Call(json_request("POST", target, sent), lambda reply: reply)


def _ok(reply: Reply) -> Reply:
    expect_status(reply, 200)
    return reply


def _devices(reply: Reply) -> Sequence[Mapping[str, Any]]:
    expect_status(reply, 200)
    found = reply.json()
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Wrong(f"The body is no list of devices: {found!r:.200}.")
    return found


_NEXTCLOUD = "/index.php/apps/gpoddersync"


class NextcloudCalls:
    """Nextcloud's gpoddersync: the requests of one app, without devices."""

    def changes(self, since: int) -> Call[Changes]:
        return Call(Request("GET", f"{_NEXTCLOUD}/subscriptions?since={since}"), read_changes)

    def upload(self, add: Sequence[str], remove: Sequence[str]) -> Call[Uploaded]:
        sent = {"add": list(add), "remove": list(remove)}
        return Call(json_request("POST", f"{_NEXTCLOUD}/subscription_change/create", sent), _stored)

    def actions(self, since: int, **more: str) -> Call[Actions]:
        query = urlencode({"since": since, **more})
        return Call(Request("GET", f"{_NEXTCLOUD}/episode_action?{query}"), read_actions)

    def upload_actions(self, actions: Sequence[Action]) -> Call[Uploaded]:
        sent = list(actions)
        return Call(json_request("POST", f"{_NEXTCLOUD}/episode_action/create", sent), _stored)


def _stored(reply: Reply) -> Uploaded:
    # AntennaPod uses its own clock for the next `since`, and ignores the reply.
    return read_uploaded(reply, is_timestamp_needed=False)


UrlListCalls: TypeAlias = GpodderCalls | NextcloudCalls
