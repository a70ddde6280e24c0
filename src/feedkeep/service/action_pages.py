"""Episode actions as an app is told them: some at a time, so that no reply has to hold all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from feedkeep.model import AccountId, ActionRequest, EpisodeAction, Guid, Second, Stamp, replace
from feedkeep.rules import episode_actions
from feedkeep.rules.clock import later
from feedkeep.store.base import Store

LISTED_AT_ONCE = 100
"""How many actions are in memory at once: of the longest URLs that there can be, some megabytes."""


@dataclass(frozen=True, slots=True)
class ActionsSince:
    """What an app is told of episode actions.

    Attributes:
        pages: The actions, some at a time, in the order of their coming. A page can be empty.
        timestamp: The second to ask for next.
    """

    pages: AsyncGenerator[Sequence[EpisodeAction], None]
    timestamp: Second


class ActionPages:
    """The actions of an account that one request is told.

    Each page is a read of its own, so that nobody waits for all of them. None is told twice: what
    changes meanwhile has a revision after the last one that is wanted, and comes with the next
    request.
    """

    def __init__(
        self,
        store: Store,
        account_id: AccountId,
        wanted: ActionRequest,
        choose: Callable[[Sequence[EpisodeAction]], Sequence[EpisodeAction]],
    ) -> None:
        """Take which actions are wanted, and what leaves out those that need not be told."""
        self._choose = choose
        self._store = store
        self._account_id = account_id
        self._wanted = wanted
        self._first: Sequence[EpisodeAction] = ()
        self._last_of_each: Sequence[Stamp] | None = None

    async def begin(self, *, only_last: bool) -> None:
        """Read the first page: a store that is away is noticed before a reply has begun.

        With `only_last`, only the last action of each episode is wanted. Which ones these are is
        remembered by their revisions.
        """
        self._first = await self._store.episode_actions.page(self._account_id, self._wanted)
        if only_last:
            self._last_of_each = await self._store.episode_actions.last_of_each(
                self._account_id, self._wanted
            )

    async def pages(self) -> AsyncGenerator[Sequence[EpisodeAction], None]:
        """Yield all pages, each with the URLs that the podcasts have in the list then."""
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
        """Return actions with the URLs of the list: gPodder finds an episode by them."""
        feed_urls: dict[Guid, str] = {}
        guids = list({action.podcast_guid for action in page})
        views = await asyncio.gather(
            *(self._store.entries.view(self._account_id, guid) for guid in guids)
        )
        for guid, view in zip(guids, views, strict=True):
            if view is not None:
                feed_urls[guid] = view.subscription.feed_url
        return episode_actions.spelled(page, feed_urls)
