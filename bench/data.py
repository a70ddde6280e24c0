"""Contents of the databases: accounts with subscriptions, and requests for some of them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import httpx

from feedkeep.assembly import open_store
from feedkeep.config.settings import Settings
from feedkeep.model import (
    Account,
    AccountId,
    AccountRecord,
    Counts,
    EntryState,
    Records,
    Stamp,
    Subscription,
    Token,
    TokenId,
)
from feedkeep.model.stamps import write_stamp
from feedkeep.rules.clock import shift
from feedkeep.rules.credentials import MAX_ACCOUNT_ID, SECRET_BYTES, token_hash, write_token
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.seconds import second_of, settled

BEGUN = Stamp(1_700_000_000_000_000)
"""Stamp before the first stamp of each account."""

SAMPLES = 20_000
"""Maximum number of different requests in a sample."""

_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Population:
    """Accounts with `entries_each` subscriptions each."""

    accounts: int
    entries_each: int

    @property
    def entries(self) -> int:
        """Total number of subscriptions."""
        return self.accounts * self.entries_each

    @property
    def clock(self) -> Stamp:
        """Clock of each account, after an app has requested changes since the last one."""
        return settled(shift(BEGUN, self.entries_each))

    def keys(self) -> list[tuple[AccountId, str]]:
        """Return the id and the token of each account."""
        chance = random.Random(self.accounts)
        ids = [AccountId(chance.randrange(1, MAX_ACCOUNT_ID)) for _ in range(self.accounts)]
        return [(one, write_token(one, chance.randbytes(SECRET_BYTES))) for one in ids]

    def feed_url(self, account: int, number: int) -> str:
        """Return the URL of a subscription, with a typical length."""
        return f"https://feeds.example.org/{account:06}/{number:06}/podcast.xml"

    def sample(self, since_the_last: int = 50) -> Iterator[str]:
        """Yield requests for existing subscriptions.

        Each has a token, a guid of the token's account, a stamp that `since_the_last` entries
        follow, the account's name, the timestamp last sent to its app in seconds, and its clock.
        """
        chance, keys = random.Random(1), self.keys()
        stamp = shift(BEGUN, self.entries_each - min(since_the_last, self.entries_each))
        for _ in range(min(SAMPLES, self.entries)):
            account, number = chance.randrange(self.accounts), chance.randrange(self.entries_each)
            url = parse_feed_url(self.feed_url(account, number))
            told = second_of(self.clock)
            token, since, clock = keys[account][1], write_stamp(stamp), write_stamp(self.clock)
            yield f"{token} {url.guid} {since} u{account} {told} {clock}"

    async def fill(self, database: str) -> None:
        """Write the population to an empty database."""
        store = await open_store(Settings(database=database))
        try:
            await store.fill(_chunks(self))
        finally:
            await store.close()

    def write_sample(self, path: Path) -> Path:
        """Write the sample to a file, one request per line; return the path."""
        path.write_text("\n".join(self.sample()) + "\n")
        return path


async def _chunks(population: Population) -> AsyncIterator[Records]:
    keys = population.keys()
    kinds: list[Callable[[], Iterator[tuple[AccountId, AccountRecord | Token | EntryState]]]] = [
        lambda: (
            (one, _owner(population, one, f"u{number}")) for number, (one, _) in enumerate(keys)
        ),
        lambda: ((one, _token(population, text)) for one, text in keys),
        lambda: (
            (one, _state(population, account, number))
            for account, (one, _) in enumerate(keys)
            for number in range(population.entries_each)
        ),
    ]
    for kind in kinds:
        records = kind()
        while some := list(islice(records, _AT_ONCE)):
            yield some


def _state(population: Population, account: int, number: int) -> EntryState:
    url = parse_feed_url(population.feed_url(account, number))
    stamp = shift(BEGUN, number + 1)
    added = Subscription(url.guid, url.text, True, stamp, status_changed=stamp)
    return EntryState(added, began=stamp)


def _owner(population: Population, account_id: AccountId, name: str) -> AccountRecord:
    clock, each = population.clock, population.entries_each
    account = Account(
        account_id, name, None, False, BEGUN, clock, clock, counts=Counts(each, each, each)
    )
    return AccountRecord(account, name, last_token_id=TokenId(1))


def _token(population: Population, text: str) -> Token:
    told = second_of(population.clock)
    return Token(
        TokenId(1),
        token_hash(text),
        "bench",
        BEGUN,
        last_sent_subscriptions=told,
        last_sent_actions=told,
    )


def write_etags(url: str, sample: Path, count: int = 2_000) -> Path:
    """Send `count` requests of a sample; write a sample with their ETags, and return its path."""
    known = sample.with_suffix(".etags")
    with httpx.Client(base_url=url) as client, known.open("w") as file:
        for line in sample.read_text().splitlines()[:count]:
            token, guid, *_ = line.split()
            reply = client.get(
                f"/subscriptions/{guid}", headers={"Authorization": f"Bearer {token}"}
            )
            file.write(f"{line} {reply.headers['etag']}\n")
    return known
