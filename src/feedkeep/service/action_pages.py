"""Episode actions as they are sent to an app: page by page, so that no reply has to hold all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from feedkeep.model import AccountId, ActionRequest, EpisodeAction, Guid, Second, Stamp, replace
from feedkeep.rules import episode_actions
from feedkeep.rules.clock import later
from feedkeep.store.base import Store

Spell: TypeAlias = Callable[
    [Sequence[EpisodeAction], Mapping[Guid, str | None]], Sequence[EpisodeAction]
]
"""Gives actions the present feed URLs of their podcasts, as `rules/episode_actions.py` does."""

LISTED_AT_ONCE = 100
"""How many actions are in memory at once: a few megabytes, if they have the longest URLs."""

MAX_REMEMBERED_CHARACTERS = 256 * 1024
"""How much of feed URLs is remembered during a reply: that is thousands, of a usual length."""


@dataclass(frozen=True, slots=True)
class ActionsSince:
    """The reply to an app that asks for episode actions since a second.

    Attributes:
        pages: The actions, in the order in which the server received them. A page can be empty.
        timestamp: The second that the app is to ask since next.
    """

    pages: AsyncGenerator[Sequence[EpisodeAction], None]
    timestamp: Second


class ActionPages:
    """The actions of an account that are sent in one reply.

    Each page is a read of its own, so that no other request waits until all are read. No action is
    sent twice: one that changes meanwhile gets a revision after the last one that is wanted, and is
    in the reply to the next request.
    """

    def __init__(
        self,
        store: Store,
        account_id: AccountId,
        wanted: ActionRequest,
        choose: Callable[[Sequence[EpisodeAction]], Sequence[EpisodeAction]],
        spell: Spell,
    ) -> None:
        """Take which actions are wanted; `choose` returns those of a page that have to be sent."""
        self._choose = choose
        self._spell = spell
        self._store = store
        self._account_id = account_id
        self._wanted = wanted
        self._first: Sequence[EpisodeAction] = ()
        self._last_of_each: Sequence[Stamp] | None = None
        self._feed_urls: dict[Guid, str | None] = {}
        self._remembered_characters = 0

    async def begin(self, *, only_last: bool) -> None:
        """Read the first page, so that a store that is away is noticed before the reply begins.

        With `only_last`, only the last action of each kind with each episode is wanted. They are
        found once, and their revisions are kept in memory.
        """
        self._first = await self._store.episode_actions.page(self._account_id, self._wanted)
        if only_last:
            self._last_of_each = await self._store.episode_actions.last_of_each(
                self._account_id, self._wanted
            )

    async def pages(self) -> AsyncGenerator[Sequence[EpisodeAction], None]:
        """Yield all pages, with the feed URLs that the podcasts have when they are first met."""
        page = self._first
        while page:
            yield await self._spelled(self._chosen(page))
            if len(page) < self._wanted.limit:
                return
            wanted = replace(self._wanted, first=later(page[-1].revision, 1))
            page = await self._store.episode_actions.page(self._account_id, wanted)

    def _chosen(self, page: Sequence[EpisodeAction]) -> Sequence[EpisodeAction]:
        if self._last_of_each is not None:
            page = episode_actions.among(page, self._last_of_each)
        return self._choose(page)

    async def _spelled(self, page: Sequence[EpisodeAction]) -> Sequence[EpisodeAction]:
        """Return actions with the feed URLs of the list, by which gPodder finds an episode.

        Most pages name the same podcasts, so their URLs are asked for once.
        """
        if self._remembered_characters > MAX_REMEMBERED_CHARACTERS:
            self._feed_urls, self._remembered_characters = {}, 0
        guids = list({action.podcast_guid for action in page} - self._feed_urls.keys())
        views = await asyncio.gather(
            *(self._store.entries.view(self._account_id, guid) for guid in guids)
        )
        for guid, view in zip(guids, views, strict=True):
            self._feed_urls[guid] = view.subscription.feed_url if view else None
            self._remembered_characters += len(guid) + len(self._feed_urls[guid] or "")
        return self._spell(page, self._feed_urls)
