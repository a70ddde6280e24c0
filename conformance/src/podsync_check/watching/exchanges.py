"""A request of an app, its reply, their meaning for a list of feeds, and injected faults."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs

MAX_READ_BYTES = 16 * 1024 * 1024
"""Maximum size of a body that is read: twice a page of a thousand long URLs."""

SLOW_SECONDS = 15.0
"""Duration of a slow reply: longer than most apps wait without a message."""

MAX_PENDING = 100
"""Maximum number of pending faults."""


class Fault(StrEnum):
    """A fault of one request, named as on the page; `WHAT_HAPPENS` has the effects."""

    UNAVAILABLE = "unavailable"
    TOO_MANY = "too-many"
    LONG_HEADERS = "long-headers"
    MOVED = "moved"
    EXPIRED = "expired"
    LOST = "lost"
    TORN = "torn"
    SLOW = "slow"
    UNCHANGED = "unchanged"


WHAT_HAPPENS = {
    Fault.UNAVAILABLE: "503, Retry-After: 2; without effect",
    Fault.TOO_MANY: "429, Retry-After: 3; without effect",
    Fault.LONG_HEADERS: "431; without effect",
    Fault.MOVED: "301 to the same address with moved=1; without effect",
    Fault.EXPIRED: "401, as for an expired token; without effect",
    Fault.LOST: "it takes effect, and the connection is cut before the response",
    Fault.TORN: "it takes effect, and the connection is cut during the response",
    Fault.SLOW: f"the response takes {SLOW_SECONDS:.0f} seconds",
    Fault.UNCHANGED: "304 to the next GET with If-None-Match",
}
"""Effect of each fault, as shown on the page."""

URL_LISTS = frozenset({"gpodder.net", "nextcloud"})
OPEN_PODCAST = "openpodcast"

_TELL_APART = ("user-agent", "authorization", "cookie")
_MAX_SHOWN_BYTES = 4_000
_GZIP = 31


class Kind(StrEnum):
    """Purpose of a request, in any protocol.

    Attributes:
        POLL: Gets changes of the list.
        UPLOAD: Uploads changes of the list.
        PLAYS_POLL: Gets episode actions.
        PLAYS_UPLOAD: Uploads episode actions.
    """

    POLL = "poll"
    UPLOAD = "upload"
    PLAYS_POLL = "poll of actions"
    PLAYS_UPLOAD = "upload of actions"
    OTHER = "other"


_NEXTCLOUD = r"(/index\.php)?/+apps/gpoddersync"
_OF_LISTS = {"GET": Kind.POLL, "POST": Kind.UPLOAD}
_OF_PLAYS = {"GET": Kind.PLAYS_POLL, "POST": Kind.PLAYS_UPLOAD}
_ROUTES: Sequence[tuple[str, str, Mapping[str, Kind]]] = [
    (r"/api/2/subscriptions/[^/]+/[^/]+\.json", "gpodder.net", _OF_LISTS),
    (r"/api/2/episodes/[^/]+\.json", "gpodder.net", _OF_PLAYS),
    (rf"{_NEXTCLOUD}/(subscriptions|subscription_change/create)", "nextcloud", _OF_LISTS),
    (rf"{_NEXTCLOUD}/episode_action(/create)?", "nextcloud", _OF_PLAYS),
    (r"/subscriptions", OPEN_PODCAST, _OF_LISTS),
    (r"/subscriptions/[^/]+", OPEN_PODCAST, {"PATCH": Kind.UPLOAD, "DELETE": Kind.UPLOAD}),
]


@dataclass
class WatchedExchange:
    """A request and its reply.

    Attributes:
        number: Sequence number, from 1.
        at_seconds: Time of arrival, by a monotonic clock.
        prefix: Prefix of the path before `path`: `/v1`, or "".
        headers: Headers by lower-case name.
        body: Body; cut after it was read.
        fault: Injected fault; None for none.
        status: Status of the reply; None if it was lost.
        reply: Body of the reply, cut like `body`.
        objections: Objections to the request.
        urls: Known feed URLs of guids.
    """

    number: int
    at_seconds: float
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytearray = field(default_factory=bytearray)
    fault: Fault | None = None
    status: int | None = None
    reply_headers: Mapping[str, str] = field(default_factory=dict)
    reply: bytearray = field(default_factory=bytearray)
    objections: list[str] = field(default_factory=list)
    urls: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""

    @property
    def target(self) -> str:
        """Path and query, as requested."""
        path = self.prefix + self.path
        return f"{path}?{self.query}" if self.query else path

    @property
    def client(self) -> str:
        """Key of the client: its name, credential and session."""
        return " ".join(self.headers.get(name, "") for name in _TELL_APART)

    @property
    def name(self) -> str:
        """Name of the app."""
        return self.headers.get("user-agent", "")

    @property
    def device(self) -> str:
        """Device in the path; "" if none."""
        found = re.fullmatch(r"/api/2/subscriptions/[^/]+/([^/]+)\.json", self.path)
        return found[1] if found else ""

    def may_be_of(self, other: WatchedExchange) -> bool:
        """Whether both may come from one device.

        Its session may change, and not all requests name the device.
        """
        is_one = self.device == other.device or not (self.device and other.device)
        return is_one and self.name == other.name

    @property
    def is_first_page(self) -> bool:
        """Whether the request gets the beginning of a list."""
        return self.asked.get("page", "1") == "1" and "after" not in self.asked

    @cached_property
    def _route(self) -> tuple[str, Kind]:
        # mygpoclient sends each request without a credential first, to get a challenge.
        if not {"authorization", "cookie"} & self.headers.keys():
            return "", Kind.OTHER
        for pattern, protocol, kinds in _ROUTES:
            if self.method in kinds and re.fullmatch(pattern, self.path):
                return protocol, kinds[self.method]
        return "", Kind.OTHER

    @property
    def protocol(self) -> str:
        """Protocol of a request about lists or actions; "" for others."""
        return self._route[0]

    @property
    def kind(self) -> Kind:
        """Purpose; OTHER without a credential."""
        return self._route[1]

    @cached_property
    def asked(self) -> Mapping[str, str]:
        """Query parameters."""
        parsed = parse_qs(self.query, keep_blank_values=True)
        return {name: values[-1] for name, values in parsed.items()}

    @cached_property
    def sent(self) -> Any:
        """JSON of the request; None without any."""
        return _json(bytes(self.body))

    @cached_property
    def got(self) -> Any:
        """JSON of the reply, as if it had arrived; None without any."""
        is_coded = self.reply_headers.get("content-encoding") == "gzip"
        return _json(_expanded(self.reply) if is_coded else bytes(self.reply))

    @cached_property
    def added(self) -> frozenset[str]:
        """Feeds that an upload adds."""
        if self.protocol in URL_LISTS:
            return _texts(self.sent, "add")
        if self.method == "POST":
            items = objects(self.sent, "subscriptions")
            return frozenset(str(item.get("feed_url")) for item in items)
        return self._named_if(wanted=True)

    @cached_property
    def removed(self) -> frozenset[str]:
        """Feeds that an upload removes."""
        if self.protocol in URL_LISTS:
            return _texts(self.sent, "remove")
        return self._named_if(wanted=False)

    @property
    def changes(self) -> frozenset[tuple[str, bool]]:
        """Feeds of an upload, each with whether it is added; empty for other requests."""
        if self.kind is not Kind.UPLOAD:
            return frozenset()
        return frozenset(
            [(url, True) for url in self.added] + [(url, False) for url in self.removed]
        )

    def _named_if(self, *, wanted: bool) -> frozenset[str]:
        """Return the feed of the path's guid if the request sets its subscription to `wanted`."""
        url = self.urls.get(self.path.rpartition("/")[2].lower())
        is_wanted = self.sent.get("is_subscribed") if isinstance(self.sent, dict) else None
        said = False if self.method == "DELETE" else is_wanted
        return frozenset([url]) if url and said is wanted else frozenset()

    @cached_property
    def told(self) -> Mapping[str, bool]:
        """Feeds in the reply to a poll, and whether they are in the list."""
        if self.protocol in URL_LISTS:
            return dict.fromkeys(_texts(self.got, "remove"), False) | dict.fromkeys(
                _texts(self.got, "add"), True
            )
        return {
            str(entry["feed_url"]): entry.get("is_subscribed") is True and "deleted" not in entry
            for entry in objects(self.got, "subscriptions")
            if "feed_url" in entry and "new_guid" not in entry
        }

    @property
    def since(self) -> int:
        """`since` of an app of gpodder.net's API or gpoddersync; 0 without one."""
        text = self.asked.get("since", "")
        return int(text) if re.fullmatch("[0-9]{1,15}", text) else 0

    @property
    def timestamp(self) -> int | None:
        """Timestamp in the reply of these protocols; None without one."""
        found = self.got.get("timestamp") if isinstance(self.got, dict) else None
        return found if isinstance(found, int) else None

    def shorten(self) -> None:
        """Cut the bodies to the displayed part, and drop cached results."""
        for name in ("sent", "got", "told", "added", "removed"):
            self.__dict__.pop(name, None)
        if self.reply_headers.get("content-encoding") == "gzip":
            self.reply = bytearray(_expanded(self.reply))
        for body in (self.body, self.reply):
            if len(body) > _MAX_SHOWN_BYTES:
                body[_MAX_SHOWN_BYTES:] = b" ..."


def objects(body: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """Return the objects of a list in a JSON object; empty for any other value."""
    found = body.get(name) if isinstance(body, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _texts(body: Any, name: str) -> frozenset[str]:
    found = body.get(name) if isinstance(body, dict) else None
    texts = found if isinstance(found, list) else []
    return frozenset(one for one in texts if isinstance(one, str))


def _expanded(body: bytearray) -> bytes:
    return zlib.decompressobj(_GZIP).decompress(body)  # as far as it is complete


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
