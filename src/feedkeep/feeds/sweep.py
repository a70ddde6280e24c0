"""Sweep over all lists: record the subscribers of feeds, and apply moves."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import structlog

from feedkeep.model import (
    AccountId,
    Feed,
    Fetch,
    Guid,
    NewSubscriber,
    Now,
    Stamp,
    Subscription,
    replace,
)
from feedkeep.model.errors import AccountBusy, NotAuthorized, StoreUnavailable
from feedkeep.rules.clock import shift
from feedkeep.rules.feed_schedule import FORGOTTEN_US, after_subscription
from feedkeep.rules.feed_urls import FeedUrl, is_safer, parse_feed_url
from feedkeep.rules.moves import is_dead, proved_move
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.rules.seen_feeds import new_subscriber, seen
from feedkeep.runtime.cooperative import LONG_BYTES, in_thread_if
from feedkeep.service.known_feeds import New, NewFeeds
from feedkeep.service.list_changes import FollowedMoves
from feedkeep.store.base import Store

NOTED_A_SECOND = 100
"""Maximum rate of recording new feeds, far above the rate of fetches."""

NOTED_AT_ONCE = 100
_SUBSCRIPTIONS_IN_A_STEP = 500
_FORGOTTEN_IN_A_STEP = 100
_SECONDS_BETWEEN_STEPS = 0.2
_SECONDS_BETWEEN_ROUNDS = 3_600.0
_SECONDS_AFTER_A_FAILURE = 60.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class SubscriptionSweep:
    """Records which feeds have subscribers, and applies confirmed moves.

    Records of feeds name no accounts, so the sweep goes from lists to feeds.

    Attributes:
        is_news: Set when feeds were recorded that may be new.
        turns: Order of fetching newly added feeds.
    """

    def __init__(
        self, store: Store, new: NewFeeds, moves: FollowedMoves, now: Now, fetch: Fetch
    ) -> None:
        self._store = store
        self._new = new
        self._moves = moves
        self._now = now
        self._fetch = fetch
        self.is_news = asyncio.Event()
        self.turns = new.turns

    async def note_new(self) -> None:
        """Wait until accounts have subscribed to feeds, and record these.

        Feeds are recorded in batches with pauses: each is a row, and at thousands a second they
        would take a fifth of the capacity for requests.
        """
        await self._note(await self._new.take(NOTED_AT_ONCE))
        await asyncio.sleep(_SECONDS_BETWEEN_STEPS)

    async def note_now(self, at_most: int) -> None:
        """Record up to `at_most` newly subscribed feeds, without waiting."""
        for start in range(0, at_most, NOTED_AT_ONCE):
            if taken := self._new.take_now(min(NOTED_AT_ONCE, at_most - start)):
                await self._note(taken)

    async def _note(self, taken: Sequence[New]) -> None:
        asked = [(account_id, parse_feed_url(text), had) for account_id, text, had in taken]
        known = await self._store.feeds.known({url.guid for _, url, _ in asked})
        await self._want([(account_id, url) for account_id, url, _ in asked], known)
        await self._look_for_newcomers(asked, known)

    async def go_round(self) -> None:
        """Sweep all lists in small steps, then pause."""
        # Processes that start together start at different accounts.
        first = AccountId(secrets.randbits(63))
        await self._go_through(first, AccountId(2**63))
        await self._go_through(AccountId(0), first)
        before = shift(self._now(), -FORGOTTEN_US)
        # A step deletes fewer if other processes are deleting the same feeds.
        has_more = True
        while has_more:
            has_more = await self._store.feeds.forget(before, _FORGOTTEN_IN_A_STEP) > 0
            await asyncio.sleep(_SECONDS_BETWEEN_STEPS)
        await asyncio.sleep(_SECONDS_BETWEEN_ROUNDS)

    async def _go_through(self, first: AccountId, last: AccountId) -> None:
        after: AccountId | None = first
        while after is not None and after < last:
            seconds = _SECONDS_BETWEEN_STEPS
            try:
                after = await self.step(after)
            except StoreUnavailable as error:
                # A sweep over millions of lists takes hours. Restarting it at each failure could
                # prevent it from ever finishing, and from deleting any feed.
                _log.warning("subscription sweep failed; will retry", reason=str(error))
                seconds = _SECONDS_AFTER_A_FAILURE
            await asyncio.sleep(seconds)

    async def step(self, after: AccountId) -> AccountId | None:
        """Sweep the lists of the next accounts; return the last of them, None after all."""
        last, listed = await self._store.feeds.subscribed(after, _SUBSCRIPTIONS_IN_A_STEP)
        if last is None:
            return None
        asked = await in_thread_if(True, _asked, listed)
        urls = {url.text: url for _, url in asked}
        known = await self._store.feeds.known({url.guid for url in urls.values()})
        await self._want(asked, known)
        had = [(one, urls[feed.feed_url], feed.first_had) for one, feed in listed]
        await self._look_for_newcomers(had, known)
        for account_id, subscription in listed:
            # The account was deleted, or is busy until the next sweep.
            with contextlib.suppress(NotAuthorized, AccountBusy):
                await self._follow(account_id, subscription, urls, known)
        return last

    async def _follow(
        self,
        account_id: AccountId,
        subscription: Subscription,
        urls: Mapping[str, FeedUrl],
        known: Mapping[Guid, Feed],
    ) -> None:
        """Apply a feed's confirmed move to a list, or remove a dead URL from its apps."""
        url, now = urls[subscription.feed_url], self._now()
        feed = known.get(url.guid)
        feed = feed and seen(feed, subscription.first_had, now)
        if feed and (moved_to := proved_move(feed)):
            if await self._moves.follow(account_id, url, moved_to):
                _log.info("feed moved", account=account_id, feed=url.guid, to=moved_to.guid)
        elif subscription.app_url and subscription.app_url_until is None:
            old = urls[subscription.app_url]
            former = known.get(old.guid)
            # The list has this feed since its last change: earlier observations do not count.
            former = former and seen(former, subscription.subscription_changed, now)
            if former and is_dead(former, feed) and await self._moves.tell_apps(account_id, old):
                _log.info("removing dead feed URL from apps", account=account_id, feed=old.guid)

    async def _want(
        self, asked: Collection[tuple[AccountId, FeedUrl]], known: Mapping[Guid, Feed]
    ) -> None:
        """Record subscribers of feeds; new and renewed feeds become due."""
        wanted: dict[Guid, FeedUrl] = {}
        first: dict[Guid, AccountId] = {}
        for account_id, url in asked:
            first.setdefault(url.guid, account_id)
            one = wanted.setdefault(url.guid, url)
            if is_safer(url.text, one.text):
                wanted[url.guid] = url
        guids = sorted(await self._looked_at(wanted.values(), known))
        for start in range(0, len(guids), NOTED_AT_ONCE):
            some = {guid: wanted[guid].text for guid in guids[start : start + NOTED_AT_ONCE]}
            now = self._now()
            anew = [
                feed
                for guid in some.keys() & known.keys()
                if (feed := after_subscription(known[guid], some[guid], now))
            ]
            soon = {*(some.keys() - known.keys()), *(feed.guid for feed in anew)}
            turns = {guid: self.turns.next_of(first[guid]) for guid in some if guid in soon}
            if anew:
                await self._store.feeds.renew(
                    [replace(feed, next_fetch=turns[feed.guid]) for feed in anew]
                )
            await self._store.feeds.want(some, now, turns)
            if soon:
                self.is_news.set()
                await asyncio.sleep(len(soon) / NOTED_A_SECOND)

    async def _looked_at(self, urls: Collection[FeedUrl], known: Mapping[Guid, Feed]) -> set[Guid]:
        is_long = sum(len(url.text) for url in urls) > LONG_BYTES
        return await in_thread_if(is_long, _which_may, urls, known, self._fetch)

    async def _look_for_newcomers(
        self,
        had: Collection[tuple[AccountId, FeedUrl, Stamp]],
        known: Mapping[Guid, Feed],
    ) -> None:
        """Fetch known feeds earlier for accounts that may not see older results.

        They are scheduled like new feeds, in the turns of these accounts.
        """
        now = self._now()
        new_subscribers: dict[Guid, NewSubscriber] = {}
        looked_at = await self._looked_at([url for _, url, _ in had if url.guid in known], known)
        for account_id, url, first_had in had:
            if url.guid not in looked_at:
                continue
            one = new_subscriber(known[url.guid], first_had, now)
            if one is None:
                continue
            if not one.moment:
                one = replace(one, moment=self.turns.next_of(account_id))
            last = new_subscribers.get(url.guid, one)
            new_subscribers[url.guid] = replace(
                one,
                moment=min(one.moment, last.moment),
                began_before=max(one.began_before, last.began_before),
            )
        if new_subscribers:
            await self._store.feeds.hasten(new_subscribers.values(), now)
            self.is_news.set()


def _which_may(urls: Iterable[FeedUrl], known: Mapping[Guid, Feed], fetch: Fetch) -> set[Guid]:
    permitted = {guid for guid, feed in known.items() if feed.is_permitted}
    return {
        url.guid for url in urls if may_look_at(url.text, fetch, is_permitted=url.guid in permitted)
    }


def _asked(
    listed: Sequence[tuple[AccountId, Subscription]],
) -> list[tuple[AccountId, FeedUrl]]:
    """Return the URLs to fetch for subscriptions, each with its account.

    The former URL that apps know is included until they receive its removal.
    """
    return [
        (account_id, parse_feed_url(text))
        for account_id, subscription in listed
        for text in _texts_of(subscription)
    ]


def _texts_of(subscription: Subscription) -> Iterator[str]:
    yield subscription.feed_url
    if subscription.app_url and subscription.app_url_until is None:
        yield subscription.app_url
