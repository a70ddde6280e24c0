"""Clients of other podcast servers: what an account has there.

Such a server speaks gpodder.net's API, as mygpo, oPodSync, gpodder2go, goPodder, podsync, PinePods
and feedkeep itself do, or only Nextcloud's gpoddersync. No reply is trusted: its size is limited
before it is read, its parts are limited before it is parsed, and it must have the expected shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Generic, Self, TypeAlias
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct

from feedkeep.model import T
from feedkeep.outbound.policy import ClientPolicy
from feedkeep.remote.asking import Asker
from feedkeep.remote.errors import NotThere, RemoteError, TooLong
from feedkeep.rules.devices import MAX_DOCUMENTS, is_device_id

MAX_OBJECTS = 500_000
"""The maximum number of objects in a reply: five years of 250 episodes a day."""

MAX_QUOTES = 1_000_000
"""The maximum number of quotation marks in a list of feeds: two for each string in it."""

_MIB = 1024 * 1024
_SHOWN_BYTES = 120
_LEAST_BYTES = 100
"""A reply has an object for each so many of the bytes that it may have, at most."""

_Second: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
_Whatever: TypeAlias = str | int | float | bool | None


class DeviceThere(Struct):
    """A device, as its server describes it."""

    id: str
    caption: str | None = None
    type: str | None = None


class ActionThere(Struct):
    """An episode action; each field may be of any type, as apps wrote it."""

    podcast: _Whatever = None
    episode: _Whatever = None
    device: _Whatever = None
    action: _Whatever = None
    timestamp: _Whatever = None
    started: _Whatever = None
    position: _Whatever = None
    total: _Whatever = None
    guid: _Whatever = None


class ActionsThere(Struct):
    """Episode actions, and the next `since`; servers in Go write null for an empty list."""

    actions: list[ActionThere] | None
    timestamp: _Second


class _Changes(Struct):
    """All changes since the beginning, so `add` has all subscriptions."""

    add: list[str] | None


class _Feed(Struct):
    """A feed in a whole list: its URL is `url` in mygpo's, and `feed` in oPodSync's."""

    url: str = ""
    feed: str = ""
    title: Any = None

    def __post_init__(self) -> None:
        """Refuse an object with neither; msgspec makes a `ValidationError` of it."""
        if not self.url and not self.feed:
            raise ValueError


class _Question(Generic[T]):
    """The shape of a reply, and its limits."""

    def __init__(self, what: str, shape: type[T], max_bytes: int, max_quotes: int) -> None:
        self._what = what
        self.max_bytes = max_bytes
        self._max_quotes = max_quotes
        self._decoder = msgspec.json.Decoder(shape)

    @property
    def is_too_much(self) -> RemoteError:
        """The error that says that there is more than can be read."""
        return RemoteError(f"The other server sent more {self._what} than can be read.")

    def answer(self, body: bytes, max_objects: int = MAX_OBJECTS) -> T:
        """Return the decoded reply; raise `RemoteError` if it is too large or of another shape."""
        if body.count(b"{") > min(max_objects, MAX_OBJECTS) or body.count(b'"') > self._max_quotes:
            raise self.is_too_much
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError:
            reason = "not in the expected format"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            reason = "not JSON"
        shown = body[:_SHOWN_BYTES].decode(errors="replace")
        raise RemoteError(f"The other server's {self._what} are {reason}. They begin with: {shown}")


_DEVICES = _Question("devices", list[DeviceThere], _MIB, MAX_QUOTES)
_CHANGES = _Question("subscriptions", _Changes, 16 * _MIB, MAX_QUOTES)
_FEEDS = _Question("subscriptions", list[str | _Feed], 64 * _MIB, MAX_QUOTES)
_ACTIONS = _Question("episode actions", ActionsThere, 128 * _MIB, 128 * _MIB)


class Remote:
    """An account on another server, between entering and leaving.

    Its methods wait for the network, and raise `RemoteError`.

    Attributes:
        titles: The titles that came with `subscriptions`, by URL.
    """

    def __init__(
        self,
        url: str,
        name: str,
        password: str,
        policy: ClientPolicy,
        *,
        allow_private: bool = False,
        any_port: bool = True,
        max_bytes: int = 128 * _MIB,
    ) -> None:
        """Ask the server at `url`, which starts with https:// or http://, within a policy.

        No reply may have more than `max_bytes`, nor may all lists of feeds together.

        Raises:
            RemoteError: It is not such a URL.
        """
        self._asker = Asker(
            url, name, password, policy, allow_private=allow_private, any_port=any_port
        )
        self._name = quote(name, safe="")
        self._max_bytes = self._left_bytes = max_bytes
        self._is_nextcloud = False
        self.titles: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        await self._asker.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._asker.__aexit__(*raised)

    async def devices(self) -> list[DeviceThere]:
        """Return the devices. Nextcloud's gpoddersync has none, and is recognised by that."""
        try:
            found = await self._ask(_DEVICES, f"/api/2/devices/{self._name}.json")
        except NotThere:
            self._is_nextcloud = True
            return []
        return [device for device in found if is_device_id(device.id)][:MAX_DOCUMENTS]

    async def subscriptions(self, devices: Sequence[DeviceThere]) -> list[str]:
        """Return the URLs of all feeds that are subscribed to on any device.

        They are read device by device, since the whole list of oPodSync has removed feeds, too, and
        that of gpodder2go is not JSON.
        """
        if self._is_nextcloud:
            return await self._subscribed("/index.php/apps/gpoddersync/subscriptions")
        if not devices:
            return await self._without_devices()
        urls: dict[str, None] = {}
        for device in devices:
            urls |= dict.fromkeys(await self._subscribed_on(device.id))
        return list(urls)

    async def _without_devices(self) -> list[str]:
        try:
            found = await self._ask(_FEEDS, f"/subscriptions/{self._name}.json")
        except NotThere:  # podsync has no such list; without a device, it has no feeds
            return []
        if any(isinstance(item, _Feed) and item.feed for item in found):  # oPodSync's
            return await self._subscribed_on("default")  # any device has the whole list
        described = [item for item in found if isinstance(item, _Feed)]
        self.titles = {item.url: item.title for item in described if isinstance(item.title, str)}
        return [item if isinstance(item, str) else item.url for item in found]

    async def _subscribed_on(self, device_id: str) -> list[str]:
        return await self._subscribed(f"/api/2/subscriptions/{self._name}/{quote(device_id)}.json")

    async def _subscribed(self, path: str) -> list[str]:
        return (await self._ask(_CHANGES, f"{path}?since=0")).add or []

    async def episode_actions(self, since: int) -> ActionsThere:
        """Return the actions since a second, and the next `since`."""
        self._left_bytes = self._max_bytes  # what came before is stored by now
        path = (
            "/index.php/apps/gpoddersync/episode_action"
            if self._is_nextcloud
            else f"/api/2/episodes/{self._name}.json"
        )
        return await self._ask(_ACTIONS, f"{path}?since={since}")

    async def _ask(self, question: _Question[T], path: str) -> T:
        try:
            body = await self._asker.get(path, min(question.max_bytes, self._left_bytes))
        except TooLong:
            raise question.is_too_much from None
        self._left_bytes -= len(body)  # a server may name a thousand devices, each with a list
        return question.answer(body, self._max_bytes // _LEAST_BYTES)
