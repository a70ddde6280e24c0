"""gpodder.net's API, version 2: requests, and readers of the replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from podsync_check.messages import Call, Reply, Request, Wrong, expect_status, json_request
from podsync_check.protocols.url_lists import (
    Action,
    Actions,
    Changes,
    Uploaded,
    read_actions,
    read_changes,
    read_uploaded,
)


@dataclass(frozen=True)
class GpodderCalls:
    """Requests of one app for one device."""

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
