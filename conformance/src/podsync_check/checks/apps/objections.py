"""Objections to single requests of apps, in any protocol. Reads no clock.

Numbers such as C6.10 refer to feedkeep's contract (docs/contract.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from podsync_check.protocols.openpodcast import STAMPS
from podsync_check.watching.exchanges import (
    MAX_READ_BYTES,
    OPEN_PODCAST,
    URL_LISTS,
    Kind,
    WatchedExchange,
    objects,
)

_FIELDS = {"PATCH": {"new_feed_url", "new_guid", "is_subscribed"}, "POST": {"feed_url", "guid"}}
_RANDOM_GUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_LIBRARIES = {
    "", "axios", "dart", "go-http-client", "java-http-client", "node", "okhttp",
    "openapi-generator", "python-httpx", "python-requests", "python-urllib", "undici",
}  # fmt: skip
_CREDENTIALS = {"token", "access_token", "password", "api_key", "apikey", "key"}
_GONE = {404, 410}
_MAX_KNOWN = 50_000
_DIGITS = 10

_NOT_LET_IN, _OK, _NOT_MODIFIED, _INVALID = 401, 200, 304, 405


class Hint(str):
    """A remark about a request that may be right; not counted as an objection."""

    __slots__ = ()


@dataclass
class _Client:
    """State of one client, from the replies that it received.

    Attributes:
        epoch: Epoch of its last list page.
        has_to_read_all: Whether the epoch changed, and it has not requested the full list since.
        has_listed: Whether it has read a page of the list.
        may_ask_at_seconds: Earliest time of its next request, by method and path.
        is_let_in: Whether its credential was accepted the last time.
        gone: Requests about missing resources that it sent.
        refused: Feed URLs that were refused.
        is_named: Whether the missing User-Agent was reported.
        page: Page of the list that it requested last.
    """

    epoch: str = ""
    has_to_read_all: bool = False
    has_listed: bool = False
    may_ask_at_seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    is_let_in: bool = True
    gone: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    is_named: bool = False
    page: int = 1


class StrictReader:
    """Judges all exchanges with a service, in the order in which they ended.

    It objects only to requests that no client following the contract would send. Devices with the
    same token cannot be told apart, so a request that may belong to another device passes.

    Attributes:
        urls: Feed URL of each guid in a reply.
    """

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}
        self._clients: dict[str, _Client] = {}
        self._ends: set[datetime] = set()  # ends of list pages
        self._guids: set[str] = set()  # guids in replies
        self._nexts: set[str] = set()  # queries of `next` in list pages
        self._seconds: set[int] = set()  # timestamps in replies of the URL-list protocols
        self._told: set[tuple[str, str, bool]] = set()  # apps that received one, and the kind

    def read(self, exchange: WatchedExchange) -> list[str]:
        """Return the objections to a request, and learn from its reply."""
        if max(len(exchange.body), len(exchange.reply)) >= MAX_READ_BYTES:
            return []
        _limit(self._clients)
        client = self._clients.setdefault(exchange.client, _Client())
        found = [
            *_of_the_client(exchange, client),
            *_of_credentials(exchange),
            *self._of_lists(exchange, client),
            *self._of_bodies(exchange, client),
            *self._of_url_lists(exchange),
        ]
        self._learn(exchange, client)
        return found

    def _of_lists(self, exchange: WatchedExchange, client: _Client) -> Iterator[str]:
        if (exchange.protocol, exchange.kind) != (OPEN_PODCAST, Kind.POLL):
            return
        asked = exchange.asked
        since = asked.get("since")
        is_next = "after" in asked or _in_order(asked) in self._nexts
        before, client.page = client.page, _whole(asked.get("page", "1"))
        if client.page == before + 1 and not is_next:
            yield ("Counting pages can miss an entry that moved. Follow `next` unchanged (C6.8).")
        # Its first `since` may come from an earlier run of the server.
        is_guess = not self._is_an_end(since) and client.has_listed if since else False
        if is_guess and not is_next:
            yield (
                f"since={since} is not the greatest timestamp of a received list page. A timestamp"
                " from another response can skip changes of other devices (C6.10)."
            )
        if client.has_to_read_all and since and not is_next:
            yield (
                "The epoch changed, but it continues with since. Request the whole list, and add"
                " what it lacks (C6.7)."
            )

    def _of_url_lists(self, exchange: WatchedExchange) -> Iterator[str]:
        if exchange.protocol not in URL_LISTS:
            return
        since = exchange.since
        # Kasts adds one second. The first `since` may come from an earlier run of the server.
        if since and not {since, since - 1} & self._seconds and _who(exchange) in self._told:
            yield (
                f"since={since} was in no reply. A time by the app's own clock skips"
                " changes if that clock is ahead: use the `timestamp` of the last reply."
            )
        if both := sorted(exchange.added & exchange.removed):
            yield f'"{both[0]}" is both added and removed: gpodder.net refuses the whole upload.'

    def _of_bodies(self, exchange: WatchedExchange, client: _Client) -> Iterator[str]:
        sent = exchange.sent
        if exchange.method == "PATCH" and exchange.path.startswith("/subscriptions/"):
            if sent == {}:
                yield "An empty PATCH changes nothing (C5.18)."
            if isinstance(sent, dict):
                yield from _unknown(sent, "PATCH")
        for item in _items(exchange):
            yield from _unknown(item, "POST")
            url, guid = str(item.get("feed_url", "")), str(item.get("guid") or "").lower()
            if url in client.refused:
                yield f'"{url}" was refused before. Drop it, and show its owner the message (C5.3).'
            if _RANDOM_GUID.fullmatch(guid) and guid not in self._guids:
                yield Hint(
                    f"The guid {guid} looks random. Leave it out unless it came with the feed: it"
                    " renames the feed for all devices (C5.10)."
                )
        if exchange.status == _INVALID and isinstance(exchange.got, dict):
            yield f"It is not valid: {exchange.got.get('message')}"

    def _is_an_end(self, since: str) -> bool:
        moment = _moment(since)
        return moment is None or moment in self._ends  # a refused one gets its own objection

    def _learn(self, exchange: WatchedExchange, client: _Client) -> None:
        retry_after = exchange.reply_headers.get("retry-after", "")
        if retry_after.isdigit():
            until_seconds = exchange.at_seconds + int(retry_after)
            client.may_ask_at_seconds[exchange.method, exchange.path] = until_seconds
        if exchange.status is not None:
            is_token = exchange.headers.get("authorization", "").lower().startswith("bearer ")
            client.is_let_in = exchange.status != _NOT_LET_IN or not is_token
        if exchange.status in _GONE:
            client.gone.add(_what(exchange))
        got = exchange.got
        _limit(self._guids, self._ends, self._seconds, self._told, self._nexts, self.urls)
        _limit(client.gone, client.refused, client.may_ask_at_seconds)
        if exchange.protocol in URL_LISTS and exchange.timestamp is not None:
            self._seconds.add(exchange.timestamp)
            self._told.add(_who(exchange))
        self._guids.update(_guids_in(got))
        client.refused.update(str(item.get("feed_url")) for item in objects(got, "failure"))
        for entry in (*objects(got, "subscriptions"), *objects(got, "success")):
            self.urls[str(entry.get("guid"))] = str(entry.get("feed_url"))
        if (exchange.protocol, exchange.kind) == (OPEN_PODCAST, Kind.POLL):
            self._learn_of_list(exchange, client)

    def _learn_of_list(self, exchange: WatchedExchange, client: _Client) -> None:
        if exchange.status not in {_OK, _NOT_MODIFIED}:
            return
        client.has_listed = True
        following = exchange.got.get("next") if isinstance(exchange.got, dict) else None
        self._nexts.add(_in_order(dict(parse_qsl(urlsplit(str(following)).query))))
        entries = objects(exchange.got, "subscriptions")
        stamps = sorted(str(entry[name]) for entry in entries for name in STAMPS if name in entry)
        self._ends.update(filter(None, map(_moment, stamps[-1:])))
        epoch = exchange.reply_headers.get("feedkeep-epoch", client.epoch)
        if "since" not in exchange.asked:
            client.has_to_read_all = False
        elif client.epoch and client.epoch != epoch:
            client.has_to_read_all = True
        client.epoch = epoch


def _of_the_client(exchange: WatchedExchange, client: _Client) -> Iterator[str]:
    name = exchange.headers.get("user-agent", "").partition("/")[0].lower()
    if name in _LIBRARIES and not client.is_named:
        client.is_named = True
        yield "It does not name itself. Send a User-Agent: owners see it in their lists of apps."
    may_ask_at_seconds = client.may_ask_at_seconds.get((exchange.method, exchange.path), 0.0)
    if (wait := may_ask_at_seconds - exchange.at_seconds) > 0:
        yield f"It comes {wait:.1f} seconds before Retry-After allows (C7.11, C7.12)."
    if not client.is_let_in:
        yield "This credential got 401 before. Stop, and ask the owner to sign in again."
    if exchange.status in _GONE and _what(exchange) in client.gone and exchange.method != "GET":
        yield "An earlier reply said that this is not there. Remove it from the queue (C8.4)."


def _of_credentials(exchange: WatchedExchange) -> Iterator[str]:
    if named := sorted(_CREDENTIALS & set(exchange.asked)):
        yield f"{', '.join(named)} in an address ends up in logs. Send it in a header (C2.4)."


def _items(exchange: WatchedExchange) -> Sequence[Mapping[str, Any]]:
    if (exchange.method, exchange.path) != ("POST", "/subscriptions"):
        return []
    return objects(exchange.sent, "subscriptions")


def _unknown(sent: Mapping[str, Any], method: str) -> Iterator[str]:
    if others := sorted(set(sent) - _FIELDS[method]):
        yield f"{method} ignores {', '.join(others)} (C1.5)."


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace(" ", "+"))  # an unencoded plus
    except ValueError:
        return None


def _guids_in(got: Any) -> Iterator[str]:
    if isinstance(got, dict):
        for name, value in got.items():
            if name in {"guid", "new_guid"}:
                yield str(value)
            elif isinstance(value, list):
                for one in value:
                    yield from _guids_in(one)


def _who(exchange: WatchedExchange) -> tuple[str, str, bool]:
    """Return the app, and whether the request is about plays, which have separate timestamps."""
    is_of_plays = exchange.kind in {Kind.PLAYS_POLL, Kind.PLAYS_UPLOAD}
    return exchange.name, exchange.device, is_of_plays


def _in_order(query: Mapping[str, str]) -> str:
    return repr(sorted(query.items()))


def _limit(*known: set[Any] | dict[Any, Any]) -> None:
    """Clear collections that have become too large."""
    for one in known:
        if len(one) > _MAX_KNOWN:
            one.clear()


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < _DIGITS else 1


def _what(exchange: WatchedExchange) -> str:
    return f"{exchange.method} {unquote(exchange.path).lower()} {bytes(exchange.body)!r}"
