"""Devices of the kinds that there are: what each takes for its next `since`, as its app does."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from feedkeep.model import Admitted
from feedkeep.rules.credentials import read_session
from feedkeep.rules.episode_actions import SentAction
from feedkeep.service import Service

EPISODES = 3


class ReplyLost(Exception):
    """What the server answered never came."""


@dataclass
class Device:
    """An app on a device: its own list, what it has not sent yet, and what it was told.

    Attributes:
        kind: What it takes for its next `since`: the "reply"'s timestamp, that "plus one", the
            "upload"'s if there was one, or its own "clock" after an upload.
    """

    kind: str
    name: str
    service: Service
    session: str
    chance: random.Random
    feeds: set[str] = field(default_factory=set)
    queued: dict[str, bool] = field(default_factory=dict)
    actions: dict[tuple[str, str], int] = field(default_factory=dict)
    queued_actions: list[SentAction] = field(default_factory=list)
    since: int = 0
    actions_since: int = 0

    def use(self, urls: list[str], number: int) -> None:
        """Let the owner do something."""
        url = self.chance.choice(urls)
        if self.chance.random() < 0.3:
            episode = f"{url}/{self.chance.randrange(EPISODES)}"
            self.queued_actions.append(
                SentAction(url, episode, self.name, "play", number, 0, number, 9)
            )
        elif url in self.feeds:
            self.feeds.discard(url)
            self.queued[url] = False
        else:
            self.feeds.add(url)
            self.queued[url] = True

    async def sync(self, losses: float) -> None:
        """Do what apps do: ask what changed, take it over, send what is queued; twice."""
        try:
            await self._sync_feeds(losses)
            await self._sync_actions(losses)
        except ReplyLost:
            return

    async def _sync_feeds(self, losses: float) -> None:
        apps = self.service.apps
        changes, timestamp = await apps.changes(await self._enter(), self.since)
        self._maybe_lose(losses)
        self.feeds |= {url for url in changes.add if self.queued.get(url, True)}
        gone = {url for url in changes.remove if not self.queued.get(url, False)} & self.feeds
        self.feeds -= gone
        if self.kind == "upload":  # AntennaPod takes what it is told to remove for its owner's wish
            self.queued |= dict.fromkeys(gone, False)
        if not self.queued:
            self.since = self._next(timestamp, None)
            return
        sent = dict(self.queued)
        added = [url for url, is_added in sent.items() if is_added]
        removed = [url for url, is_added in sent.items() if not is_added]
        uploaded = await apps.upload(await self._enter(), added, removed)
        self._maybe_lose(losses)
        self.queued = {url: to for url, to in self.queued.items() if sent.get(url) != to}
        self.since = self._next(timestamp, uploaded.timestamp)

    async def _sync_actions(self, losses: float) -> None:
        apps = self.service.apps
        actions, timestamp = await apps.actions(await self._enter(), self.actions_since)
        self._maybe_lose(losses)
        for action in actions:
            assert action.position is not None
            self.actions[action.episode, action.device] = action.position
        sent = list(self.queued_actions)
        if not sent:
            self.actions_since = self._next(timestamp, None)
            return
        uploaded = await apps.record(await self._enter(), sent)
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
        """Show the session, as each request does."""
        credential = read_session(self.session)
        assert credential is not None
        return await self.service.authenticate(credential, "127.0.0.1")
