"""Stores with two accounts, and the changes that tests of stores make to lists."""

import asyncio
from contextlib import asynccontextmanager

from list_values import ALICE, BOB, G1, account
from stores import limited

from feedkeep.model import Decision, Subscription
from feedkeep.rules import subscriptions
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_limits import count
from feedkeep.rules.subscriptions import Added, Update, guids_wanted, want
from feedkeep.runtime import wall_clock
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.sqlite import SqliteStore


@asynccontextmanager
async def opened(place, max_connections=8, **more):
    """Open a store with Alice and Bob, on PostgreSQL by a URL, or on SQLite by a path."""
    if isinstance(place, str):
        store = await PostgresStore.open(place, max_connections, wall_clock.now, **more)
    else:
        store = await SqliteStore.open(place, wall_clock.now, **more)
    try:
        if not await store.accounts.are_there():
            for one in (account(), account(BOB, "Bob")):
                await store.accounts.create(one, one.name.lower())
        yield store
    finally:
        await store.close()


async def answers(*requests):
    """Return the values, or the kinds of the errors, of requests that run at once."""
    results = await asyncio.gather(*requests, return_exceptions=True)
    return [type(result) if isinstance(result, Exception) else result for result in results]


def look(snapshot):
    """Change nothing; the outcome is what the rule was given."""
    return Decision(snapshot, [], [], snapshot.last_stamp, snapshot.counts)


def subscribe(snapshot, *, is_subscribed=True, **more):
    """Save a subscription with the next stamp, which is the outcome."""
    stamp = snapshot.last_stamp + 1
    entry = Subscription(G1, "https://a.example", is_subscribed, stamp)
    return Decision(stamp, [entry], [], stamp, count([entry]), **more)


async def add(store, *items, to=ALICE):
    """Add feeds by their URLs and guids; return the subscriptions."""
    wanted = [want(url, guid) for url, guid in items]
    results = await store.entries.change(
        to, guids_wanted(wanted), lambda snapshot: subscriptions.add(limited(snapshot), wanted)
    )
    return [item.subscription for item in results if isinstance(item, Added)]


async def update(store, guid, url=None, new_guid=None):
    """Give a feed another URL, another guid, or both."""
    change = Update(new_feed_url=url and parse_feed_url(url), new_guid=new_guid)
    return await store.entries.change(
        ALICE,
        [guid, *change.guids()],
        lambda snapshot: subscriptions.update(limited(snapshot), guid, change),
    )


async def delete(store, guid):
    return await store.entries.change(
        ALICE, [guid], lambda snapshot: subscriptions.delete(snapshot, guid)
    )
