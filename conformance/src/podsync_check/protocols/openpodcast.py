"""Subscriptions of the Open Podcast API's draft: requests, and readers of the replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from podsync_check.messages import Call, Reply, Request, Wrong, expect_status, json_request

PER_PAGE = 100
STAMPS = ("subscription_changed", "guid_changed", "deleted")

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Page:
    """A page of the list.

    Attributes:
        next: Target of the next page; "" if it is the last.
        epoch: Feedkeep-Epoch, which changes when a backup is restored; "" without it.
    """

    entries: Sequence[Entry]
    next: str
    epoch: str = ""


@dataclass(frozen=True)
class OpenPodcastCalls:
    """Requests of an app; `prefix` is "" or "/v1"."""

    prefix: str = ""

    def changes(self, since: str, per_page: int = PER_PAGE) -> Call[Page]:
        """Get the first page of changes since a timestamp, or of everything if it is ""."""
        query = {"per_page": str(per_page)} | ({"since": since} if since else {})
        return self.page(f"{self.prefix}/subscriptions?{urlencode(query)}")

    def page(self, target: str) -> Call[Page]:
        """Get a page by the target in `next`."""
        return Call(Request("GET", target), _page)

    def add(self, url: str) -> Call[Entry | None]:
        """Add a feed; the reply is its entry, or None if its URL is refused."""
        body = {"subscriptions": [{"feed_url": url}]}
        return Call(json_request("POST", f"{self.prefix}/subscriptions", body), _added)

    def change(self, guid: str, **change: Any) -> Call[Reply]:
        """Change a subscription; a deleted one is not an error."""
        request = json_request("PATCH", f"{self.prefix}/subscriptions/{guid}", change)
        return Call(request, _changed)


def _page(reply: Reply) -> Page:
    expect_status(reply, 200)
    found = reply.json()
    entries = found.get("subscriptions") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise Wrong(f"The page has no list of subscriptions: {found!r:.200}.")
    parts = urlsplit(found.get("next") or "")
    following = f"{parts.path}?{parts.query}" if parts.path else ""
    return Page(entries, following, reply.headers.get("feedkeep-epoch", ""))


def _added(reply: Reply) -> Entry | None:
    expect_status(reply, 200)
    success = reply.json()["success"]
    return success[0] if success else None


def _changed(reply: Reply) -> Reply:
    expect_status(reply, 200, 404, 410)
    return reply
