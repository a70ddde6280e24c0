"""The devices of a year: apps as in the proofs, and clients of the interface, over the socket."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from app_devices import TOTAL, AppOfToday, Feeds, ReplyLost
from ledger import Ledger
from podsync_check.simulated.apps import Position
from reference import derive
from service_process import Refused, ServiceProcess

from feedkeep.model import Author, Entry, Pointer, Subscription, replace
from feedkeep.rules.episode_actions import SentAction

LOSSES = 0.01
AWAY = {"StoreUnavailable", "StoreReadOnly", "AccountBusy"}
KINDS = ["upload", "reply", "plus one", "clock"]


class AccountClient:
    """Client of one person's devices, which records the executed requests in the ledger."""

    def __init__(self, process: ServiceProcess, name: str, ledger: Ledger) -> None:
        self.process = process
        self.name = name
        self.ledger = ledger
        self.wrong: list[str] = []

    async def ask(self, name: str, *arguments: Any) -> Any:
        """Return an answer.

        Raises:
            ReplyLost: The service cannot be used now.
            Refused: It refused.
        """
        try:
            return await self.process.ask(name, *arguments)
        except Refused as error:
            if error.kind in AWAY:
                raise ReplyLost from error
            raise

    def agree(self, is_done: bool, should_be: bool, what: object) -> None:
        """Note it if the service and the ledger do not agree on what can be done."""
        if is_done != should_be:
            self.wrong.append(f"{what}: done {is_done}, should be {should_be}")


@dataclass(frozen=True)
class Told:
    """The reply to a poll, or to an upload, as the devices of the proofs read it."""

    timestamp: int
    add: Sequence[str] = ()
    removed_texts: Sequence[str] = ()
    actions: Sequence[Any] = ()
    update_urls: Sequence[tuple[str, str]] = ()

    @property
    def changes(self) -> Told:
        """The feeds to add and to remove."""
        return self

    @property
    async def pages(self) -> AsyncIterator[Sequence[Any]]:
        """The actions."""
        yield self.actions


class AppRequests:
    """The service as an app of the proofs sees it."""

    def __init__(self, client: AccountClient, device: Phone) -> None:
        self._client = client
        self._device = device

    @property
    def url_lists(self) -> AppRequests:
        """The list."""
        return self

    @property
    def episode_actions(self) -> AppRequests:
        """The episode actions."""
        return self

    async def changes(self, _session: str, since: int, device: str) -> Told:
        """Poll the list for changes."""
        add, remove, timestamp = await self._ask("changes", since, device)
        self._device.note_removals(since, timestamp, has_some=bool(remove))
        return Told(timestamp, add, remove)

    async def upload(
        self, _session: str, added: Sequence[str], removed: Sequence[str], author: Author
    ) -> Told:
        """Upload changes; the ledger learns those that are the owner's wish."""
        wished = [url for url in removed if url not in self._device.echoes]
        timestamp, stamp, kept = await self._ask("upload", added, removed, author.device)
        ledger = self._client.ledger
        left, doubtful = ledger.upload(added, wished, self._device.feeds)
        # A removal by an app in the sync in which it was told to remove feeds, or in the next one,
        # can be an echo (`rules/echoes.py`): the service may leave the feed, and tell the app so.
        if self._device.syncs_in_doubt:
            doubtful = left
        if doubtful:
            entries, _ = await self._client.ask("look", self._client.name, [])
            ledger.adopt(doubtful, entries)
        ledger.remember(stamp)
        return Told(timestamp, update_urls=kept)

    async def since(self, _session: str, since: int) -> Told:
        """Poll for episode actions."""
        actions, timestamp = await self._ask("actions", since)
        return Told(timestamp, actions=actions)

    async def record(self, _session: str, sent: Sequence[SentAction]) -> Told:
        """Upload episode actions."""
        timestamp = await self._ask("record", sent)
        for action in sent:
            if action.position is None:
                continue  # it says nothing of how far
            self._client.ledger.record(action.episode, action.device, action.position)
        return Told(timestamp)

    async def _ask(self, name: str, *arguments: Any) -> Any:
        """Ask with the session; where that has ended, as apps do, with a new one."""
        try:
            return await self._client.ask(name, self._device.session, *arguments)
        except Refused as error:
            if error.kind != "NotAuthorized":
                raise
        self._device.session = await self._device.log_in()
        return await self._client.ask(name, self._device.session, *arguments)


@dataclass
class Phone(AppOfToday):
    """An app with its own habits.

    Attributes:
        echoes: Feeds that it was told to remove, and takes for its owner's wish.
        syncs_in_doubt: Number of further syncs with news whose removals can be echoes.
        asked: The `since` of its last poll.
        has_to_start_over: Whether its owner was told to let it send all that it has.
    """

    echoes: set[str] = field(default_factory=set)
    syncs_in_doubt: int = 0
    asked: int = 0
    has_to_start_over: bool = False

    @classmethod
    def new(
        cls, kind: str, name: str, client: AccountClient, world: Feeds, chance: random.Random
    ) -> Phone:
        """Return an app that has nothing yet."""

        async def log_in() -> str:
            asked = "connect" if kind == "clock" else "begin_session"
            text: str = await client.ask(asked, client.name, name)
            return text

        phone = cls(kind, name, None, log_in, world, chance)  # type: ignore[arg-type]
        phone.service = AppRequests(client, phone)  # type: ignore[assignment]
        return phone

    async def meet(self, losses: float = LOSSES) -> None:
        """Sync, or send all that is here if the owner was told to do so."""
        try:
            if self.has_to_start_over:
                await self.start_over()
                self.has_to_start_over = False
            else:
                await self.sync(losses)
        except ReplyLost:
            return

    def note_removals(self, since: int, timestamp: int, *, has_some: bool) -> None:
        """Record a poll, and whether its reply has removals."""
        # A poll that finds nothing new leaves no trace: the service cannot know that it came.
        is_next = since != self.asked and since < timestamp
        self.asked = since
        if has_some:
            self.syncs_in_doubt = 2
        elif is_next and self.syncs_in_doubt:
            self.syncs_in_doubt -= 1

    def subscribe(self, url: str) -> None:
        """Subscribe to a feed as the owner."""
        self.echoes.discard(url)
        self._take(url)

    def unsubscribe(self, url: str) -> None:
        """Remove a feed as the owner."""
        self.echoes.discard(url)
        self.remove(url)

    def listen(self, url: str, episode: str, done: int, position: int) -> None:
        """Play an episode up to a position as the owner; the app first reports the beginning."""
        began = SentAction(url, episode, self.name, "play", done)
        self.queued_actions.append(began)
        self.positions[episode] = Position(done, position)
        self.queued_actions.append(replace(began, started=0, position=position, total=TOTAL))

    def shown(self, ledger: Ledger) -> list[str]:
        """Return the differences of its list from the account's."""
        guids = set()
        for url in self.feeds:
            feed = ledger.leads(derive(url))
            if feed is None:
                return [f"{self.name} has {url}, which leads nowhere"]
            guids.add(feed.guid)
        right = ledger.subscribed()
        return [f"{self.name} lacks {guid}" for guid in right - guids] + [
            f"{self.name} has {guid}, which the account has not" for guid in guids - right
        ]

    def wrong_positions(self, newest: Sequence[Any]) -> list[str]:
        """Return its wrong positions, in episodes of which the account has another newest play.

        It may be further by a play that the newest one wins against, since the server's clock was
        behind when that came, or of which a restore has lost the memory.
        """
        return [
            f"{self.name} is at {at} in {play.episode}, and not at {play.position}"
            for play in newest
            if (at := self.positions.get(play.episode)) is None
            or (at.seconds != play.position and at.timestamp < play.done)
        ]

    async def enter(self) -> Any:
        return self.session

    def lose(self, url: str) -> None:
        super().lose(url)
        if self.kind == "upload":
            self.echoes.add(url)


@dataclass
class ListClient:
    """A client of the interface, as docs/apps.md describes its loop."""

    name: str
    client: AccountClient
    token: str = ""
    since: int = -1
    entries: dict[str, Entry] = field(default_factory=dict)
    queued: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    has_to_start_over: bool = False

    @property
    def feeds(self) -> set[str]:
        """The URLs of what is subscribed to."""
        return {one.feed_url for one in self.entries.values() if _is_on(one)}

    async def meet(self, losses: float = LOSSES) -> None:  # noqa: ARG002 - it asks once more
        """Send the queue, and apply the changes."""
        try:
            await self._let_in()
            if self.has_to_start_over:
                had = self.feeds
                self.since, self.entries, self.queued = -1, {}, []
                await self._take_changes()
                for url in sorted(had - self.feeds):
                    await self.add(url)
                self.has_to_start_over = False
            while self.queued:
                await self.queued[0]()
                del self.queued[0]
            await self._take_changes()
        except ReplyLost:
            return

    def subscribe(self, url: str) -> None:
        """Subscribe to a feed as the owner."""
        self.queued.append(lambda: self.add(url))

    def unsubscribe(self, url: str) -> None:
        """Unsubscribe from a feed of the list here as the owner."""
        guid = next(one.guid for one in self.entries.values() if _is_on(one, url))
        self.queued.append(lambda: self.update(guid, on=False))

    async def add(self, url: str) -> None:
        """Subscribe to a feed now."""
        await self._let_in()
        guid, stamp = await self._ask("add", url)
        self.client.agree(guid is not None, self.client.ledger.add(url, None), ("add", url))
        self.client.ledger.remember(stamp)

    async def update(
        self, guid: str, url: str | None = None, new_guid: str | None = None, on: bool | None = None
    ) -> None:
        """Change a subscription now."""
        await self._let_in()
        stamp = None
        try:
            stamp = await self._ask("update", guid, url, new_guid, on)
        except Refused as error:
            if error.kind not in {"InvalidInput", "UnknownSubscription"}:
                raise
        should_be = self.client.ledger.update(guid, url, new_guid, on)
        self.client.agree(stamp is not None, should_be, ("update", guid, url, new_guid, on))
        if stamp is not None:
            self.client.ledger.remember(stamp)

    async def delete(self, guid: str) -> None:
        await self._let_in()
        stamp = None
        try:
            stamp = await self._ask("delete", guid)
        except Refused as error:
            if error.kind != "UnknownSubscription":
                raise
        self.client.agree(stamp is not None, self.client.ledger.delete(guid), ("delete", guid))
        if stamp is not None:
            self.client.ledger.remember(stamp)

    def shown(self, ledger: Ledger) -> list[str]:
        """Return the differences of its list from the account's."""
        has = {(one.guid, one.feed_url, one.is_subscribed) for one in self.entries.values()
               if isinstance(one, Subscription)}  # fmt: skip
        right = {(feed.guid, feed.url, feed.on) for feed in ledger.feeds}
        return [f"{self.name} differs: {one}" for one in has ^ right]

    async def _take_changes(self) -> None:
        for entry in await self._ask("entries_since", self.since):
            self.entries[entry.guid] = entry
            self.since = max(self.since, entry.revision)

    async def _let_in(self) -> None:
        if not self.token:
            self.token = await self.client.ask("create_token", self.client.name, self.name)

    async def _ask(self, name: str, *arguments: Any) -> Any:
        try:
            return await self.client.ask(name, self.token, *arguments)
        except Refused as error:
            if error.kind != "NotAuthorized":
                raise
        self.token = ""
        await self._let_in()
        return await self.client.ask(name, self.token, *arguments)


def _is_on(entry: Entry, url: str | None = None) -> bool:
    if isinstance(entry, Pointer) or not entry.is_subscribed:
        return False
    return url is None or entry.feed_url == url
