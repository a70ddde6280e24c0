"""Send episode actions to apps, and store what they upload.

Apps are sent pages, so that no reply holds all actions in memory.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeAlias

import structlog

from feedkeep.model import (
    AccountId,
    ActionRequest,
    Admitted,
    Clock,
    Document,
    DocumentName,
    Entry,
    EpisodeAction,
    Guid,
    KnownDocument,
    PlayRequest,
    Recorded,
    Second,
    Stamp,
    Subscription,
    SyncProgress,
    TokenProgress,
    replace,
)
from feedkeep.model.errors import InvalidFeedUrl, InvalidInput, StoreUnavailable
from feedkeep.rules import app_identity, database_restores, episode_actions, seconds
from feedkeep.rules.clock import shift
from feedkeep.rules.episode_actions import RefusedUrl, SentAction
from feedkeep.rules.escaped_urls import NONE_ESCAPED, EscapedUrls, as_known
from feedkeep.rules.feed_urls import FeedUrl, as_linked, parse_feed_url
from feedkeep.runtime.cooperative import LONG_LIST, TimeSlice, in_thread_if
from feedkeep.service.progress import Progress, Uploaded, next_second
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


_LOOKED_FOR_AT_ONCE = 20
_STAMPED_AT_ONCE = 1_000
_FEW_PODCASTS = 10
_MAX_LOOKED_FOR = 500
"""Maximum number of podcasts of an upload that are looked up in the list; each takes a read of a
row, or of up to ten rows if its URL has escapes."""

_MAX_UNJOINED = 1_000
_MAX_UNJOINED_OF_EACH = 100
"""Maximum numbers of accounts, and of podcasts of each, whose actions are joined later: 9 MB."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class EpisodeActions:
    """The episode actions of all accounts."""

    def __init__(self, store: Store, progress: Progress) -> None:
        self._store = store
        self._progress = progress
        self._unjoined: OrderedDict[AccountId, list[Guid]] = OrderedDict()

    async def since(
        self,
        admitted: Admitted,
        since: Second,
        podcast: str = "",
        *,
        only_last: bool = False,
        device: str = "",
    ) -> ActionsSince:
        """Return the actions received since a second, and the start of the app's next request.

        They are of all devices, since devices are only labels; `device` is the device in the
        request. `podcast`, unless empty, limits them to one feed URL, and `only_last` to the last
        action of each kind for each episode: Kasts reads no kind but `play`.

        Raises:
            InvalidInput: `podcast` is not a feed URL.
        """
        await self._join_again(admitted.account.id)
        app, clock = await self._progress.of_poll(admitted, Clock.ACTIONS, (device,), since)
        second = seconds.second_of(clock)
        first = seconds.first_second(since, second, app.known)
        stamp = database_restores.first_action(admitted.account, since, seconds.first_stamp(first))
        of_podcast = await self._podcast_guid(admitted.account.id, podcast) if podcast else None
        wanted = ActionRequest(stamp, of_podcast, LISTED_AT_ONCE, clock)
        is_everything = first <= seconds.EVERYTHING

        def as_sent(page: Sequence[EpisodeAction]) -> Sequence[EpisodeAction]:
            if not is_everything:
                page = episode_actions.without_own(page, app.known, since)
            return episode_actions.as_sent(page)

        listed = ActionPages(
            self._store,
            admitted.account.id,
            wanted,
            as_sent,
            episode_actions.spelled_for_apps,
        )
        if first < second:
            await listed.begin(only_last=only_last)
        if not podcast:  # such a reply does not have all changes
            after = seconds.after_reply(since, second, app.known)
            await self._progress.save(admitted.account.id, app, after)
        return ActionsSince(listed.pages(), second)

    async def all(self, account_id: AccountId) -> AsyncGenerator[Sequence[EpisodeAction], None]:
        """Yield all actions of an account in pages, for its owner."""
        wanted = ActionRequest(Stamp(0), None, LISTED_AT_ONCE, with_superseded=True)
        listed = ActionPages(self._store, account_id, wanted, list, episode_actions.spelled)
        await listed.begin(only_last=False)
        return listed.pages()

    async def newest_plays(
        self, account_id: AccountId, request: PlayRequest
    ) -> Sequence[EpisodeAction]:
        """Return the newest play of each episode, latest first."""
        return await self._store.episode_actions.newest_plays(account_id, request)

    async def finish(
        self, admitted: Admitted, podcast_guid: Guid, episode: bytes
    ) -> EpisodeAction | None:
        """Mark an episode as finished; return one of its earlier actions.

        `episode` is the beginning of its keys. None if the account has no action with it, or if its
        length is unknown.

        Raises:
            InvalidInput: The account has no room for another action.
        """
        stored = await self._store.episode_actions.of_episode(
            admitted.account.id, podcast_guid, episode
        )
        play = episode_actions.finishing(stored)
        if play is None:
            return None
        await self.record(admitted, [play])
        return stored[0]

    async def record(self, admitted: Admitted, sent: Sequence[SentAction]) -> Uploaded:
        """Store actions; unknown kinds are dropped, and invalid URLs are returned.

        Raises:
            InvalidInput: They exceed the account's limits; nothing is stored.
        """
        await self._join_again(admitted.account.id)
        judged, turn, name = [], TimeSlice(), app_identity.name_of(admitted)
        for action in await self._as_listed(admitted.account.id, sent):
            judged.append(episode_actions.judge(action, name))
            await turn.yield_if_long()
        valid = [action for action in judged if isinstance(action, EpisodeAction)]
        valid = await in_thread_if(len(valid) > LONG_LIST, episode_actions.grouped, valid)
        named = await in_thread_if(len(sent) > LONG_LIST, set, map(episode_actions.device_of, sent))
        app = await self._progress.of_upload(admitted, Clock.ACTIONS, named)
        until = partial(seconds.clock_after_upload, app.known)

        def after(recorded: Recorded) -> SyncProgress:
            return seconds.after_upload(
                app.known, "", recorded.began, recorded.ended, recorded.sent_until
            )

        def learn(
            recorded: Recorded, documents: Mapping[DocumentName, KnownDocument]
        ) -> TokenProgress | Document | None:
            return app.to_store(after(recorded), documents)

        account_id = admitted.account.id
        recorded = await self._store.episode_actions.record(
            account_id,
            valid,
            episode_actions.record,
            until,
            learn,
            app.documents,
        )
        refused = dict.fromkeys(item.url for item in judged if isinstance(item, RefusedUrl))
        return Uploaded(next_second(after(recorded)), [(url, "") for url in refused])

    async def _as_listed(
        self, account_id: AccountId, sent: Sequence[SentAction]
    ) -> Sequence[SentAction]:
        """Return actions with the first URLs that the list had for their podcasts.

        Apps name a moved podcast by either URL, and apps that decode escapes in URLs by another
        spelling. Only `_MAX_LOOKED_FOR` podcasts are looked up; others are stored as sent.
        """
        stored = await self._store.entries.escaped(account_id)
        escaped = await in_thread_if(len(stored) > LONG_LIST, EscapedUrls, stored)
        podcasts = dict.fromkeys(action.podcast for action in sent)
        spelled: dict[str, str] = {}
        turn = TimeSlice()

        async def spell(podcast: str) -> None:
            with suppress(InvalidFeedUrl):
                spelled[podcast] = await self._first_url(account_id, podcast, escaped)

        looked_for = list(islice(podcasts, _MAX_LOOKED_FOR))
        for start in range(0, len(looked_for), _LOOKED_FOR_AT_ONCE):
            some = looked_for[start : start + _LOOKED_FOR_AT_ONCE]
            await asyncio.gather(*map(spell, some))  # PostgreSQL reads them together
            await turn.yield_if_long()
        return [
            replace(action, podcast=spelled.get(action.podcast, action.podcast)) for action in sent
        ]

    async def _first_url(self, account_id: AccountId, podcast: str, escaped: EscapedUrls) -> str:
        """Return the first URL that the list had for a podcast; `podcast` itself if not listed.

        Raises:
            InvalidFeedUrl: `podcast` is not a feed URL.
        """
        url, others = escaped.parsed(podcast), escaped.others(podcast)
        listed = {one.guid: await self._listed(account_id, one) for one in (url, *others)}
        known = as_known(url, listed.get, others, may_be_unsubscribed=True)
        feed = listed[known.guid]
        return podcast if feed is None else episode_actions.first_url(feed)

    async def _podcast_guid(self, account_id: AccountId, podcast: str) -> Guid:
        first = await self._first_url(account_id, as_linked(podcast), NONE_ESCAPED)
        return parse_feed_url(first).guid

    async def _listed(self, account_id: AccountId, url: FeedUrl) -> Subscription | None:
        view = await self._store.entries.view(account_id, url.guid)
        return view.subscription if view else None

    async def join(
        self, account_id: AccountId, before: Mapping[Guid, Entry], saved: Collection[Entry]
    ) -> None:
        """Join the actions of podcasts that a list change has merged.

        The arguments are those of `podcasts_joined`. The change is already committed, so a failure
        is only logged. If the store failed or the request was cancelled, the account's next sync
        with this process joins them: otherwise, apps would be sent two last positions of an
        episode. If the longer URL of a podcast exceeds the limits, its actions stay separate.
        """
        joined = episode_actions.podcasts_joined(before, saved)
        try:
            await self._join_all(account_id, joined)
        except (StoreUnavailable, InvalidInput) as error:
            _log.warning(
                "cannot join the episode actions of one feed",
                account=account_id,
                podcasts=len(joined),
                reason=str(error),
            )

    async def _join_again(self, account_id: AccountId) -> None:
        if account_id in self._unjoined:
            with suppress(StoreUnavailable, InvalidInput):
                await self._join_all(account_id, ())

    async def _join_all(self, account_id: AccountId, podcasts: Iterable[Guid]) -> None:
        """Join the actions of podcasts, and of the account's podcasts that are still separate."""
        left = [*self._unjoined.pop(account_id, ()), *podcasts]
        try:
            while left:
                await self._join(account_id, left[0])
                del left[0]
        except InvalidInput:
            del left[0]
            raise
        finally:
            if left:
                self._unjoined[account_id] = left[:_MAX_UNJOINED_OF_EACH]
            if len(self._unjoined) > _MAX_UNJOINED:
                self._unjoined.popitem(last=False)

    async def _join(self, account_id: AccountId, former: Guid) -> None:
        view = await self._store.entries.view(account_id, former)
        podcast = parse_feed_url(episode_actions.first_url(view.subscription)) if view else None
        if podcast is None or podcast.guid == former:  # the merge was undone
            return
        wanted = ActionRequest(Stamp(0), former, _STAMPED_AT_ONCE, with_superseded=True)
        while stored := await self._store.episode_actions.page(account_id, wanted):
            moved = [episode_actions.refiled(action, podcast) for action in stored]
            by_new_key = {new.key: old for new, old in zip(moved, stored, strict=True)}
            decide = partial(episode_actions.join, former=by_new_key)
            await self._store.episode_actions.record(account_id, moved, decide, max)
            wanted = replace(wanted, first=shift(stored[-1].revision, 1))

    async def resend(self, account_id: AccountId, podcasts: Collection[Guid]) -> None:
        """Set new timestamps of podcasts' actions, so that they are sent to every app again.

        `podcasts` are guids derived from URLs. Apps that were sent the removal of a feed have
        deleted its actions. The list change is already committed, so a failure of the store is only
        logged, and apps get the rest with a full sync.
        """
        if not podcasts:
            return
        try:
            await self._resend(account_id, podcasts)
        except StoreUnavailable as error:
            _log.warning(
                "cannot resend episode actions; apps need a full sync",
                account=account_id,
                podcasts=len(podcasts),
                reason=str(error),
            )

    async def _resend(self, account_id: AccountId, podcasts: Collection[Guid]) -> None:
        newest = await self._store.accounts.advance(account_id, Clock.ACTIONS, seconds.settled)
        # One pass over all actions is faster than one for each of many podcasts.
        asked = [None] if len(podcasts) > _FEW_PODCASTS else sorted(podcasts)
        limit = _STAMPED_AT_ONCE // len(asked)
        first = Stamp(0)
        while True:
            # Later actions were stamped here or uploaded since; without this bound, the loop would
            # follow its own new timestamps forever.
            requests = [ActionRequest(first, guid, limit, newest) for guid in asked]
            pages = [await self._store.episode_actions.page(account_id, it) for it in requests]
            # All podcasts together: an episode played under two URLs of its feed has an action for
            # each, and the older one must not become the newer.
            listed = episode_actions.in_order(pages, limit)
            if not listed:
                return
            wanted = [action for action in listed if action.podcast_guid in podcasts]
            if wanted:
                await self._store.episode_actions.record(
                    account_id,
                    wanted,
                    episode_actions.resent,
                    max,
                )
            first = shift(listed[-1].revision, 1)
