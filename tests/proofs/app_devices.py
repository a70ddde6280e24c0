"""Devices of the kinds that there are: what each takes for its next `since`, as its app does.

They are as rough as apps are: told to remove a feed, they delete what was played of it; some have a
feed twice, by an old URL and by a new one.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from authors import TESTER

from feedkeep.model import Admitted, CredentialKind, replace
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules.credentials import read_session, read_token
from feedkeep.rules.episode_actions import SentAction
from feedkeep.service import Service

EPISODES = 3
LAST_SECOND = 1_850_000_000
"""No server's clock comes to it, that of a simulated year neither."""

Played = dict[tuple[str, str], int]
"""How far each device has played each episode."""


def plain(url: str) -> str:
    """Return what all spellings of a URL have in common."""
    return url.partition("://")[2].rstrip("/")


def colons_decoded(url: str) -> str:
    """Return a URL as AntennaPod keeps it."""
    return url.replace("%3A", ":")


class ReplyLost(Exception):
    """What the server answered never came."""


@dataclass
class Feeds:
    """The feeds that there are in the world.

    Attributes:
        urls: The URLs that each feed has and had; the last one is its present one.
        taken: The feeds that a device has subscribed to.
        left: The feeds that a device has unsubscribed from.
        doubled: The feeds that a device took by a new URL and may have had by an old one, or added
            without escapes: they may be two by now.
    """

    urls: dict[str, list[str]]
    taken: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    doubled: set[str] = field(default_factory=set)

    def of(self, url: str) -> str:
        """Return which feed a URL leads to, in any spelling."""
        named = unquote(plain(url))
        return next(
            feed for feed, urls in self.urls.items() if named in (unquote(plain(u)) for u in urls)
        )

    def is_decoded(self, url: str) -> bool:
        """Say whether a URL has lost escapes."""
        return plain(url) not in map(plain, self.urls[self.of(url)])

    def moves(self, url: str, new_url: str) -> None:
        """Give the feed of a URL another one."""
        self.urls[self.of(url)].append(new_url)


@dataclass
class Device:
    """An app on a device: its own list, what it has not sent yet, and what it was told.

    Attributes:
        kind: What it takes for its next `since`: the "reply"'s timestamp, that "plus one", the
            "upload"'s if there was one, or its own "clock" after an upload.
        log_in: Begins a session, or gives the token that the app has.
        ahead_seconds: What its clock shows when playing begins.
        sends_totals: Whether it says how long episodes are, and how their feeds call them.
        spelling: How its owner writes a URL, where {} stands for what all spellings have.
        account: The account whose password it sends with each request, without a session, as Kasts
            does; "" if it begins sessions.
        decode: What it makes of a URL that it is sent: AntennaPod and Kasts decode escapes.
        others: The other devices that it asks and uploads for, too: Kasts' "sync all devices".
    """

    kind: str
    name: str
    service: Service
    log_in: Callable[[], Awaitable[str]]
    world: Feeds
    chance: random.Random
    session: str = ""
    feeds: set[str] = field(default_factory=set)
    queued: dict[str, bool] = field(default_factory=dict)
    played: Played = field(default_factory=dict)
    queued_actions: list[SentAction] = field(default_factory=list)
    since: int = 0
    actions_since: int = 0
    spelling: str = "https://{}"
    ahead_seconds: int = 0
    sends_totals: bool = True
    account: str = ""
    decode: Callable[[str], str] = str
    others: Sequence[str] = ()

    def use(self, number: int) -> None:
        """Let the owner do something with a feed."""
        feed = self.chance.choice(sorted(self.world.urls))
        mine = sorted(url for url in self.feeds if self.world.of(url) == feed)
        if self.chance.random() < 0.3:
            self._play(mine[0] if mine else self.world.urls[feed][-1], feed, number)
        elif not mine:
            self._take(self.spelling.format(plain(self.world.urls[feed][-1])))
        elif len(mine) > 1:
            self._clear_a_double_away(mine)
        elif self.chance.random() < 0.5:
            self._remove(mine[0])
            self.world.left.add(feed)
        else:  # the owner finds the feed once more, under the URL that it has now
            self._take(self.spelling.format(plain(self.world.urls[feed][-1])))

    def _play(self, url: str, feed: str, number: int) -> None:
        episode = f"https://cdn.example/{feed}/{self.chance.randrange(EPISODES)}"
        self.played[episode, self.name] = number
        # A length is not known from what was played under another URL of the feed.
        is_moved = plain(url) != plain(self.world.urls[feed][0])
        done, total = self.ahead_seconds + number, 9 if self.sends_totals or is_moved else None
        guid = episode if self.sends_totals else None
        began = SentAction(url, episode, self.name, "play", done, episode_guid=guid)
        # gPodder says so whenever playback begins, and AntennaPod sometimes.
        if self.chance.random() < 0.3:
            self.queued_actions.append(began)
        self.queued_actions.append(replace(began, started=0, position=number, total=total))
        if self.chance.random() < 0.3:
            self.queued_actions.append(replace(began, done=done + 1, started=-1, position=-1))

    def _clear_a_double_away(self, mine: list[str]) -> None:
        """Remove one of two URLs, once the server knows of both: else it would be the only one."""
        if sent := [url for url in mine if url not in self.queued]:
            self._remove(self.chance.choice(sent))

    def _remove(self, url: str) -> None:
        self.feeds.discard(url)
        self.queued[url] = False

    def _take(self, typed: str) -> None:
        url = self.decode(typed)
        if not self._has(url):
            feed = self.world.of(url)
            self.world.taken.add(feed)
            if plain(typed) != plain(self.world.urls[feed][0]):
                self.world.doubled.add(feed)
            self._note_decoded([url])
            self.feeds.add(url)
            self.queued[url] = True

    def _has(self, url: str) -> bool:
        """Say whether a feed is here in any spelling, as AntennaPod looks before it adds one."""
        return plain(url) in map(plain, self.feeds)

    async def sync(self, losses: float) -> None:
        """Do what apps do: ask what changed, take it over, send what is queued; twice."""
        is_in = bool(self.session or self.account)
        if self.kind == "upload" or not is_in:  # AntennaPod logs in anew each time
            self.session = await self.log_in()
        try:
            if self.others:
                await self._sync_all_devices(losses)
            await self._sync_feeds(losses)
            await self._sync_actions(losses)
        except ReplyLost:
            return

    async def _sync_all_devices(self, losses: float) -> None:
        """Give each device what all of them have: ask for each since 0, and upload for each."""
        lists, names = self.service.url_lists, [*self.others, self.name]
        union: set[str] = set()
        for name in names:
            told = await lists.changes(await self._enter(), 0, name)
            union |= set(map(self.decode, told.changes.add))
        self._maybe_lose(losses)
        for url in sorted(union):
            self._take(url)
        for name in names:
            author = replace(TESTER, device=name)
            await lists.upload(await self._enter(), sorted(union), [], author)

    async def _sync_feeds(self, losses: float) -> None:
        lists, device = self.service.url_lists, "" if self.kind == "clock" else self.name
        told = await lists.changes(await self._enter(), self.since, device)
        changes, timestamp = told.changes, told.timestamp
        self._maybe_lose(losses)
        # AntennaPod and Kasts send all they have the first time.
        if (self.kind == "upload" or self.account) and self.since == 0:
            self._note_decoded(self.feeds)
            self.queued = dict.fromkeys(sorted(self.feeds), True) | self.queued
        left = {plain(url) for url, is_added in self.queued.items() if not is_added}
        for url in map(self.decode, changes.add):
            if plain(url) not in left and not self._has(url):
                self.feeds.add(url)
        for url in map(self.decode, changes.removed_texts):
            if url in self.feeds and not self.queued.get(url, False):
                self._lose(url)
        if not self.queued:
            self.since = self._next(timestamp, None)
            return
        sent = dict(self.queued)
        added = [url for url, is_added in sent.items() if is_added]
        removed = [url for url, is_added in sent.items() if not is_added]
        author = replace(TESTER, device=device)
        uploaded = await lists.upload(await self._enter(), added, removed, author)
        self._maybe_lose(losses)
        self.queued = {url: to for url, to in self.queued.items() if sent.get(url) != to}
        self.since = self._next(timestamp, uploaded.timestamp)
        if self.kind == "reply":  # gPodder
            self._rename(dict(uploaded.update_urls))

    def _note_decoded(self, urls: Iterable[str]) -> None:
        """Note which feeds are added without their escapes: no device may have them by now."""
        self.world.doubled |= {self.world.of(url) for url in urls if self.world.is_decoded(url)}

    def _rename(self, update_urls: dict[str, str]) -> None:
        """Give podcasts the URLs that the server says it has for them."""
        self.feeds = {update_urls.get(url) or url for url in self.feeds}

    def _lose(self, url: str) -> None:
        """Delete a feed as told, with what was played of it."""
        self.feeds.discard(url)
        if self.kind == "upload":  # AntennaPod takes what it is told to remove for its owner's wish
            self.queued[url] = False
        feed = self.world.of(url)
        if any(self.world.of(other) == feed and not to for other, to in self.queued.items()):
            self.world.left.add(feed)  # the owner has just removed the URL that was to stay
        if not any(self.world.of(other) == feed for other in self.feeds):
            self.played = {key: at for key, at in self.played.items() if f"/{feed}/" not in key[0]}

    async def _sync_actions(self, losses: float) -> None:
        kept = self.service.episode_actions
        told = await kept.since(await self._enter(), self.actions_since)
        actions = [action async for page in told.pages for action in page]
        timestamp = told.timestamp
        self._maybe_lose(losses)
        waiting = {action.episode for action in self.queued_actions}
        for action in actions:
            assert action.position
            assert action.total, "AntennaPod would go back to the start"
            assert action.started is not None
            assert action.done < LAST_SECOND, "it was received before"
            if action.device != self.name or action.episode not in waiting:
                self.played[action.episode, action.device] = action.position
        sent = list(self.queued_actions)
        if not sent:
            self.actions_since = self._next(timestamp, None)
            return
        uploaded = await kept.record(await self._enter(), sent)
        self._maybe_lose(losses)
        self.queued_actions = self.queued_actions[len(sent) :]
        self.actions_since = self._next(timestamp, uploaded.timestamp)

    def _next(self, replied: int, uploaded: int | None) -> int:
        if self.kind == "plus one":
            return replied + 1
        if self.kind == "upload" and uploaded is not None:
            return uploaded
        if self.kind == "clock" and uploaded is not None:
            return self.chance.randrange(1, 2_000_000_000)
        return replied

    def _maybe_lose(self, losses: float) -> None:
        if self.chance.random() < losses:
            raise ReplyLost

    async def _enter(self) -> Admitted:
        """Show the session or token, or the password, as each request does."""
        if self.account:
            account = await self.service.accounts.named(self.account)
            return Admitted(account, CredentialKind.PASSWORD, user_agent="Kasts")
        credential = read_session(self.session) or read_token(self.session)
        assert credential is not None
        return await self.service.authentication.admit(credential, "127.0.0.1")


@dataclass
class AppOfToday(Device):
    """A device that logs in anew where its session is not known any more, or at each sync."""

    logs_in_each_time: bool = False

    async def sync(self, losses: float) -> None:
        if self.logs_in_each_time:
            self.session = await self.log_in()
        await super().sync(losses)

    async def start_over(self) -> None:
        """Send all that is here, as apps do after a new login."""
        self.session = await self.log_in()
        self.since = self.actions_since = 0
        self.queued = dict.fromkeys(self.feeds, True)
        await self.sync(losses=0)

    async def _enter(self) -> Admitted:
        try:
            return await super()._enter()
        except NotAuthorized:
            self.session = await self.log_in()
            return await super()._enter()

    def _lose(self, url: str) -> None:
        """Remove a feed as told, and keep what was played of it, to compare that, too."""
        self.feeds.discard(url)
        if self.kind == "upload":
            self.queued[url] = False
