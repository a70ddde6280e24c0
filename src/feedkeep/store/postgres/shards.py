"""The shards of accounts on a cluster, so that accounts of one shard can share commits."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from feedkeep.model import AccountId
from feedkeep.store.postgres.connections import Connections

REMEMBERED_SECONDS = 60.0
"""Lifetime of a cached shard: shards move as a whole, but a split shard has fewer accounts."""

MAX_REMEMBERED = 50_000
"""Capacity of the cache, in accounts: some megabytes."""

MAX_FOUND_IN_A_BATCH = 256

_FIND = """
SELECT get_shard_id_for_distribution_column('feedkeep.account', w.account_id)
FROM unnest($1::bigint[]) WITH ORDINALITY AS w (account_id, n) ORDER BY w.n
"""


async def find_shards(connections: Connections, account_ids: Sequence[AccountId]) -> Sequence[int]:
    """Return the number of each account's shard, as computed by a Citus coordinator.

    Accounts that do not exist have a shard, too.
    """
    return [shard for (shard,) in await connections.fetch(_FIND, account_ids)]


class Shards:
    """Cache of the shards of accounts.

    A shard is on one machine, so a transaction within it commits in one phase. After a split,
    statements for accounts of both halves fail until the cached value expires. Requests then run
    one by one (`store.batch`); that a token was used is recorded with its next use.
    """

    def __init__(self, find: Callable[[AccountId], Awaitable[int]]) -> None:
        self._find = find
        self._known: dict[AccountId, int] = {}
        self._known_since = time.monotonic()

    async def of(self, account_id: AccountId) -> int:
        now = time.monotonic()
        if now > self._known_since + REMEMBERED_SECONDS or len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
            self._known_since = now
        shard = self._known.get(account_id)
        if shard is None:
            shard = self._known[account_id] = await self._find(account_id)
        return shard
