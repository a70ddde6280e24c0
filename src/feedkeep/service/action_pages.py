"""Episode actions for apps, in pages, so that no reply holds all of them in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from feedkeep.model import AccountId, ActionRequest, EpisodeAction, Guid, Second, Stamp, replace
from feedkeep.rules import episode_actions
from feedkeep.rules.clock import shift
from feedkeep.store.base import Store

Spell: TypeAlias = Callable[
    [Sequence[EpisodeAction], Mapping[Guid, str | None]], Sequence[EpisodeAction]
]
"""Sets the current feed URLs of actions, as in `rules/episode_actions.py`."""

LISTED_AT_ONCE = 100
"""Number of actions in memory at a time: a few megabytes with the longest URLs."""

MAX_REMEMBERED_CHARACTERS = 256 * 1024
"""Maximum size of the cached feed URLs of a reply: thousands of average length."""


@dataclass(frozen=True, slots=True)
class ActionsSince:
    """The reply to a request for episode actions since a second.

    Attributes:
        pages: The actions in the order of their arrival at the server; pages may be empty.
        timestamp: The second from which the app's next request starts.
    """

    pages: AsyncGenerator[Sequence[EpisodeAction], None]
    timestamp: Second


class ActionPages:
    """The actions of an account in one reply.

    Each page is a separate read, so that no other request waits for all of them. No action is sent
    twice: an action that changes in between gets a later revision, beyond the requested range, and
    is in the reply to the next request.

    Args:
        wanted: The requested actions.
        choose: Selects the actions of a page to send.
        spell: Sets their feed URLs.
    """

    def __init__(
        self,
        store: Store,
        account_id: AccountId,
        wanted: ActionRequest,
        choose: Callable[[Sequence[EpisodeAction]], Sequence[EpisodeAction]],
        spell: Spell,
    ) -> None:
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
        """Read the first page, so that an unavailable store is noticed before the reply begins.

        `only_last` limits the pages to the last action of each kind for each episode. They are
        determined once, and their revisions are kept in memory.
        """
        self._first = await self._store.episode_actions.page(self._account_id, self._wanted)
        if only_last:
            self._last_of_each = await self._store.episode_actions.last_of_each(
                self._account_id, self._wanted
            )

    async def pages(self) -> AsyncGenerator[Sequence[EpisodeAction], None]:
        """Yield all pages; each podcast keeps the feed URL of its first occurrence."""
        page = self._first
        while page:
            yield await self._spelled(self._chosen(page))
            if len(page) < self._wanted.limit:
                return
            wanted = replace(self._wanted, first=shift(page[-1].revision, 1))
            page = await self._store.episode_actions.page(self._account_id, wanted)

    def _chosen(self, page: Sequence[EpisodeAction]) -> Sequence[EpisodeAction]:
        if self._last_of_each is not None:
            page = episode_actions.among(page, self._last_of_each)
        return self._choose(page)

    async def _spelled(self, page: Sequence[EpisodeAction]) -> Sequence[EpisodeAction]:
        """Set the list's feed URLs, by which gPodder finds an episode.

        Most pages have the same podcasts, so URLs are cached.
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
