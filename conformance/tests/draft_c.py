"""The reference server with `/sync` of draft C of the Open Podcast API, which apps do not test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from podsync_check.messages import Reply
from podsync_check.reference.server import ROUTES, Asked, Reference, _reply


@dataclass
class Synced:
    """A subscription: its data, the time of its last action, and the time of its receipt."""

    data: dict[str, Any]
    occurred: str
    updated: str


@dataclass
class SyncedList:
    """All subscriptions of the account, by `sync_id`."""

    now: Callable[[], float]
    entries: dict[str, Synced] = field(default_factory=dict)
    _last_us: int = 0

    def act(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Apply an action; return its result."""
        told = {name: action[name] for name in ("action_id", "type", "action")}
        entry = self._entry(action)
        at = str(action["occurred_at"])
        if entry is None and action["action"] != "subscribe":
            return {**told, "status": "rejected", "reason": "Entity not found"}
        if entry and at <= entry.occurred:
            return {**told, "status": "ignored", "data": entry.data}
        if entry is None:
            sync_id = str(uuid.uuid4())
            entry = self.entries[sync_id] = Synced({"sync_id": sync_id, **action["data"]}, "", "")
        match action["action"]:
            case "subscribe":
                entry.data["subscribed_at"] = at
                entry.data.pop("unsubscribed_at", None)
            case "unsubscribe":
                entry.data["unsubscribed_at"] = at
            case _:
                entry.data.update(action["data"])
        entry.occurred, entry.updated = at, self.stamp()
        return {**told, "status": "applied", "data": entry.data}

    def _entry(self, action: Mapping[str, Any]) -> Synced | None:
        data = action["data"]
        if "sync_id" in data:
            return self.entries.get(data["sync_id"])
        same = (one for one in self.entries.values() if one.data["feed_url"] == data["feed_url"])
        return next(same, None)

    def stamp(self) -> str:
        """Return a timestamp later than all before."""
        self._last_us = max(int(self.now() * 1e6), self._last_us + 1)
        return datetime.fromtimestamp(self._last_us / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def since(self, moment: str) -> Sequence[dict[str, Any]]:
        """Return the subscriptions updated after a timestamp, in order."""
        found = sorted(self.entries.values(), key=lambda one: one.updated)
        return [
            {"type": "subscription", "last_updated": one.updated, "data": one.data}
            for one in found
            if one.updated > moment
        ]


class WithDraftC(Reference):
    routes = (*ROUTES, (r"/api/v1/sync", False, "sync"))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.synced = SyncedList(self.now)

    def sync(self, asked: Asked, _: Mapping[str, str]) -> Reply:
        if asked.method == "POST":
            actions = asked.json(dict)["requests"]
            order = sorted(actions, key=lambda action: str(action["occurred_at"]))
            return _reply({"results": [self.synced.act(action) for action in order]})
        found = self.synced.since(asked.query.get("since", ""))
        size = int(asked.query.get("limit", 50))
        told: dict[str, Any] = {"results": found[:size], "has_more": len(found) > size}
        if found:
            query = f"since={found[:size][-1]['last_updated']}&limit={size}"
            told["next_since"] = f"{asked.base}{asked.path}?{query}"
        return _reply(told)
