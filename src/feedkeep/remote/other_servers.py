"""Clients of other podcast servers.

They speak gpodder.net's API, like mygpo, oPodSync, gpodder2go, goPodder, podsync, PinePods and
feedkeep itself, or only Nextcloud's gpoddersync. No reply is trusted: its size is limited before it
is read, its parts are limited before it is parsed, and it must have the expected shape.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Generic, Self, TypeAlias
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from feedkeep.model import Account, Admitted, CredentialKind, T, Value, replace
from feedkeep.outbound.policy import ClientPolicy
from feedkeep.remote.asking import Asker
from feedkeep.remote.errors import NotThere, RemoteError, TooLong
from feedkeep.rules.devices import MAX_DOCUMENTS, is_device_id
from feedkeep.service import Service
from feedkeep.url_sync.messages import sent_actions

MAX_OBJECTS = 500_000
"""Maximum number of objects in a reply: five years of 250 episodes a day."""

MAX_QUOTES = 1_000_000
"""Maximum number of quotation marks in a list of feeds: two for each string in it."""

_MIB = 1024 * 1024
_SHOWN_BYTES = 120
_LEAST_BYTES = 100
"""Bytes of a reply's maximum size that each object in it uses up."""

_Second: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
_Whatever: TypeAlias = str | int | float | bool | None


class DeviceThere(Struct):
    """Device as described by its server."""

    id: str
    caption: str | None = None
    type: str | None = None


class ActionThere(Struct):
    """Episode action; apps wrote fields of any type."""

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
    """Feed in a full list: its URL is `url` in mygpo's list, and `feed` in oPodSync's."""

    url: str = ""
    feed: str = ""
    title: Any = None

    def __post_init__(self) -> None:
        # msgspec turns this into a `ValidationError`.
        if not self.url and not self.feed:
            raise ValueError


class _Question(Generic[T]):
    """Shape of a reply, and its limits."""

    def __init__(self, what: str, shape: type[T], max_bytes: int, max_quotes: int) -> None:
        self._what = what
        self.max_bytes = max_bytes
        self._max_quotes = max_quotes
        self._decoder = msgspec.json.Decoder(shape)

    @property
    def is_too_much(self) -> RemoteError:
        return RemoteError(f"The other server sent more {self._what} than can be read.")

    def answer(self, body: bytes, max_objects: int = MAX_OBJECTS) -> T:
        """Decode a reply; raise `RemoteError` if it is too large or has another shape."""
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
    """Client of an account on another server; open while its context is entered.

    Its methods wait for the network, and raise `RemoteError`.

    Attributes:
        titles: Titles that came with `subscriptions`, by URL.

    Args:
        max_bytes: Maximum size of a reply, and of all lists of feeds together. For the other
            arguments, see `Asker`.
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
        """Return the devices; an empty list for Nextcloud's gpoddersync, which this detects."""
        try:
            found = await self._ask(_DEVICES, f"/api/2/devices/{self._name}.json")
        except NotThere:
            self._is_nextcloud = True
            return []
        return [device for device in found if is_device_id(device.id)][:MAX_DOCUMENTS]

    async def subscriptions(self, devices: Sequence[DeviceThere]) -> list[str]:
        """Return the URLs of all feeds subscribed to on any device.

        They are read device by device, since oPodSync's full list includes removed feeds, and
        gpodder2go's is not JSON.
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
        if any(isinstance(item, _Feed) and item.feed for item in found):  # oPodSync
            return await self._subscribed_on("default")  # any device has the whole list
        described = [item for item in found if isinstance(item, _Feed)]
        self.titles = {item.url: item.title for item in described if isinstance(item.title, str)}
        return [item if isinstance(item, str) else item.url for item in found]

    async def _subscribed_on(self, device_id: str) -> list[str]:
        return await self._subscribed(f"/api/2/subscriptions/{self._name}/{quote(device_id)}.json")

    async def _subscribed(self, path: str) -> list[str]:
        return (await self._ask(_CHANGES, f"{path}?since=0")).add or []

    async def episode_actions(self, since: int) -> ActionsThere:
        """Return the actions since a time in seconds, and the next `since`."""
        self._left_bytes = self._max_bytes  # earlier replies have been stored
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


MAX_SECONDS = 600.0
"""Timeout of a reply, including retries."""

MAX_PAGES = 2_000
"""Maximum number of replies with episode actions; mygpo's hold 1,000 each."""

_ACTIONS_AT_ONCE = 1_000


class Copied(Value, frozen=True):
    """Progress of copying: copied actions, known actions, and refused URLs."""

    done: int = 0
    total: int = 0
    refused: int = 0


async def copy_actions(
    service: Service,
    account: Account,
    remote: Remote,
    where: str,
    told: Callable[[Copied], Awaitable[None]],
) -> Copied:
    """Copy episode actions page by page, and report the progress to `told`.

    The end of each page is stored under the name `where`, for the next run to resume.

    Raises:
        RemoteError: The other server failed; actions copied so far stay.
    """
    app = Admitted(account, CredentialKind.COMMAND)
    so_far = await service.migrations.so_far(account.id, where)
    copied = Copied()
    for _ in range(MAX_PAGES):
        page = await in_time(remote.episode_actions(so_far.until))
        actions = page.actions or []
        copied = replace(copied, total=copied.done + len(actions))
        for start in range(0, len(actions), _ACTIONS_AT_ONCE):
            chunk = [asdict(one) for one in actions[start : start + _ACTIONS_AT_ONCE]]
            uploaded = await service.episode_actions.record(app, sent_actions(chunk))
            copied = replace(
                copied,
                done=copied.done + len(chunk),
                refused=copied.refused + len(uploaded.update_urls),
            )
            await told(copied)
        is_last = not actions or page.timestamp <= so_far.until
        so_far = replace(so_far, until=page.timestamp)
        await service.migrations.note(account.id, where, so_far)
        if is_last:
            return copied
    raise RemoteError(
        f"After {MAX_PAGES} replies with {copied.done} episode actions, the other server has still"
        " more. All of these are stored; run the command again for the rest."
    )


async def in_time(answer: Awaitable[T]) -> T:
    """Wait for a reply.

    Raises:
        RemoteError: The whole reply took longer than `MAX_SECONDS`, however steadily it came.
    """
    try:
        return await asyncio.wait_for(answer, MAX_SECONDS)
    except TimeoutError:
        raise RemoteError(
            f"The other server takes longer than {MAX_SECONDS / 60:.0f} minutes for a reply."
        ) from None
