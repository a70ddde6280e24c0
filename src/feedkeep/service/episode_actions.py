"""Episode actions: sending apps what was played and how far, and storing what they upload."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

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
    Recorded,
    Second,
    Stamp,
    Subscription,
    SyncProgress,
    TokenProgress,
    replace,
)
from feedkeep.model.errors import InvalidFeedUrl, InvalidInput, StoreUnavailable
from feedkeep.rules import database_restores, episode_actions, seconds
from feedkeep.rules.clock import later
from feedkeep.rules.episode_actions import RefusedUrl, SentAction
from feedkeep.rules.escaped_urls import NONE_ESCAPED, EscapedUrls, as_known
from feedkeep.rules.feed_urls import FeedUrl, as_linked, parse_feed_url
from feedkeep.runtime.cooperative import LONG_LIST, TimeSlice, in_thread_if
from feedkeep.service.action_pages import LISTED_AT_ONCE, ActionPages, ActionsSince
from feedkeep.service.progress import Progress, Uploaded, next_second
from feedkeep.store.base import Store

_LOOKED_FOR_AT_ONCE = 20
_STAMPED_AT_ONCE = 1_000
_FEW_PODCASTS = 10
_MAX_LOOKED_FOR = 500
"""For how many podcasts of one upload the list is read; each takes a read of a row, and up to ten
if its URL has escapes."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class EpisodeActions:
    """The episode actions of all accounts."""

    def __init__(self, store: Store, progress: Progress) -> None:
        self._store = store
        self._progress = progress

    async def since(
        self,
        admitted: Admitted,
        since: Second,
        podcast: str = "",
        *,
        only_last: bool = False,
        device: str = "",
    ) -> ActionsSince:
        """Return all actions received since a second, and the second to ask since next.

        If `podcast` is not empty, only actions of that podcast; always those of all devices, since
        a device is only a label. With `only_last`, only the last action of each kind with each
        episode: Kasts reads no other kind than `play`. `device` is the one that the request names.

        Raises:
            InvalidInput: `podcast` is not a feed URL.
        """
        app, clock = await self._progress.of_poll(admitted, Clock.ACTIONS, (device,), since)
        second = seconds.second_of(clock)
        first = seconds.first_second(since, second, app.known)
        stamp = database_restores.first_action(admitted.account, since, seconds.first_stamp(first))
        of_podcast = await self._podcast_guid(admitted.account.id, podcast) if podcast else None
        wanted = ActionRequest(stamp, of_podcast, LISTED_AT_ONCE, clock)
        is_everything = first <= seconds.EVERYTHING

        def told(page: Sequence[EpisodeAction]) -> Sequence[EpisodeAction]:
            if not is_everything:
                page = episode_actions.without_own(page, app.known, since)
            return episode_actions.told(page)

        listed = ActionPages(
            self._store,
            admitted.account.id,
            wanted,
            told,
            episode_actions.spelled_for_apps,
        )
        if first < second:
            await listed.begin(only_last=only_last)
        if not podcast:  # otherwise it was not sent all changes
            after = seconds.after_reply(since, second, app.known)
            await self._progress.save(admitted.account.id, app, after)
        return ActionsSince(listed.pages(), second)

    async def all(self, account_id: AccountId) -> AsyncGenerator[Sequence[EpisodeAction], None]:
        """Return all actions of an account, page by page, for its owner."""
        wanted = ActionRequest(Stamp(0), None, LISTED_AT_ONCE, with_superseded=True)
        listed = ActionPages(self._store, account_id, wanted, list, episode_actions.spelled)
        await listed.begin(only_last=False)
        return listed.pages()

    async def record(self, admitted: Admitted, sent: Sequence[SentAction]) -> Uploaded:
        """Store actions; unknown kinds are dropped, and URLs that are not valid are returned.

        Raises:
            InvalidInput: The account has no room for them; nothing is stored then.
        """
        judged, turn = [], TimeSlice()
        for action in await self._as_listed(admitted.account.id, sent):
            judged.append(episode_actions.judge(action))
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
        """Return actions with the URLs by which the list has known their podcasts from the start.

        Apps name a podcast that has moved by either URL, and apps that decode the escapes of a feed
        URL by another spelling. Of one upload, only so many podcasts are looked for: the others are
        stored as they were sent.
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
            await asyncio.gather(*map(spell, some))  # so that PostgreSQL reads them together
            await turn.yield_if_long()
        return [
            replace(action, podcast=spelled.get(action.podcast, action.podcast)) for action in sent
        ]

    async def _first_url(self, account_id: AccountId, podcast: str, escaped: EscapedUrls) -> str:
        """Return the URL by which an account's list has had a podcast from the start, if it has it.

        Raises:
            InvalidFeedUrl: That is no feed URL.
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
        """Store the actions of podcasts together that a change of the list has made one.

        The arguments are those of `podcasts_joined`. The change is committed by now, so if the
        store fails, or there is no room under a longer URL, that is logged, and the actions stay
        apart.
        """
        joined = episode_actions.podcasts_joined(before, saved)
        try:
            for former, podcast in joined.items():
                await self._join(account_id, former, podcast)
        except (StoreUnavailable, InvalidInput) as error:
            _log.warning(
                "cannot join the episode actions of one feed",
                account=account_id,
                podcasts=len(joined),
                reason=str(error),
            )

    async def _join(self, account_id: AccountId, former: Guid, podcast: FeedUrl) -> None:
        wanted = ActionRequest(Stamp(0), former, _STAMPED_AT_ONCE, with_superseded=True)
        while stored := await self._store.episode_actions.page(account_id, wanted):
            moved = [episode_actions.refiled(action, podcast) for action in stored]
            by_new_key = {new.key: old for new, old in zip(moved, stored, strict=True)}
            decide = partial(episode_actions.join, former=by_new_key)
            await self._store.episode_actions.record(account_id, moved, decide, max)
            wanted = replace(wanted, first=later(stored[-1].revision, 1))

    async def resend(self, account_id: AccountId, podcasts: Collection[Guid]) -> None:
        """Give the actions of podcasts new stamps, so that they are sent to every app once more.

        `podcasts` are derived guids of URLs. Apps that were sent the removal of a feed have deleted
        what was played of it. The change of the list is committed by now, and is what was asked
        for: so if the store fails, that is logged, and apps get the rest with a full sync.
        """
        if not podcasts:
            return
        try:
            await self._resend(account_id, podcasts)
        except StoreUnavailable as error:
            _log.warning(
                "apps are not sent again what was played of feeds",
                account=account_id,
                podcasts=len(podcasts),
                reason=str(error),
            )

    async def _resend(self, account_id: AccountId, podcasts: Collection[Guid]) -> None:
        newest = await self._store.accounts.advance(account_id, Clock.ACTIONS, seconds.settled)
        # One way through all actions is shorter than one for each of many podcasts.
        asked = [None] if len(podcasts) > _FEW_PODCASTS else sorted(podcasts)
        limit = _STAMPED_AT_ONCE // len(asked)
        first = Stamp(0)
        while True:
            # Those after `newest` were stamped here already, or were uploaded since: without this
            # bound, the loop would follow its own new stamps for ever.
            requests = [ActionRequest(first, guid, limit, newest) for guid in asked]
            pages = [await self._store.episode_actions.page(account_id, it) for it in requests]
            # All podcasts together: an episode that was played under two URLs of its feed has an
            # action for each, and the older one must not come to be the newer one.
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
            first = later(listed[-1].revision, 1)
