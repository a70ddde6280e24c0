"""The former states of entries in PostgreSQL: reading what changed, and forgetting what is old."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import asyncpg

from feedkeep.model import AccountId, Guid, HistoryPage, Stamp
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.counted import changed_rows
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.tables import STATE, WEIGHT_OF_STATE, columns

_FEW_ACCOUNTS, _MANY_ACCOUNTS = 20, 500
"""Through how many accounts a step looks, with and without a look at their entries."""

# They look through accounts on all machines; what they find is looked at again under a lock.
_SOME_ACCOUNTS = """
SELECT a.account_id, a.former_count > 0, a.former_count > 0 AND a.known_from < $2
FROM feedkeep.account a WHERE a.account_id > $1 ORDER BY a.account_id LIMIT $3
"""
_FIRST_WITH_OLD_STATES = """
SELECT min(f.account_id) FROM feedkeep.former_entry f
WHERE f.account_id = ANY($1::bigint[]) AND f.ended <= $2
"""
_FIRST_WITH_AUTHORS = """
SELECT min(e.account_id) FROM feedkeep.entry e
WHERE e.account_id = ANY($1::bigint[]) AND e.author IS NOT NULL
"""
LOOKS = (_SOME_ACCOUNTS, _FIRST_WITH_OLD_STATES, _FIRST_WITH_AUTHORS)
"""The statements of which each is about many accounts."""

_LOCK_IF_FREE = """
SELECT a.former_count FROM feedkeep.account a WHERE a.account_id = $1
FOR NO KEY UPDATE SKIP LOCKED
"""
_DROP = f"""
DELETE FROM feedkeep.former_entry f USING (
    SELECT o.ended, o.guid FROM feedkeep.former_entry o
    WHERE o.account_id = $1 AND o.ended <= $2 ORDER BY o.ended LIMIT $3
) d
WHERE f.account_id = $1 AND f.ended = d.ended AND f.guid = d.guid
RETURNING {WEIGHT_OF_STATE}
"""
_SET_KNOWN = """
UPDATE feedkeep.account a
SET known_from = greatest(a.known_from, least($2, a.last_stamp)), former_count = a.former_count - $3
WHERE a.account_id = $1
"""
_FORGET_AUTHORS = """
UPDATE feedkeep.entry e SET author = NULL FROM (
    SELECT o.guid FROM feedkeep.entry o
    WHERE o.account_id = $1 AND o.author IS NOT NULL LIMIT $2
) d
WHERE e.account_id = $1 AND e.guid = d.guid
"""


def _changes_statement(of_guid: str) -> str:
    """Return the statement that reads a page of the changes that meet a condition.

    A change is found by what it ended. One that began the first state of a guid is found only by
    that state, which may have ended at any time since: so such states are searched for among all
    that ended later than the page begins. It begins no earlier than with the changes that ended
    something alone. It is one statement, since each has a moment of its own on a cluster.
    """
    former = f"feedkeep.former_entry f WHERE f.account_id = $1 {of_guid.format('f')}"
    present = f"feedkeep.entry e WHERE e.account_id = $1 {of_guid.format('e')}"
    since, first = "(SELECT stamp FROM since)", "(SELECT stamp FROM first)"
    return f"""
        WITH known AS (SELECT a.known_from FROM feedkeep.account a WHERE a.account_id = $1),
        ends AS (
            SELECT DISTINCT f.ended AS stamp FROM {former}
            AND f.ended < $2 AND f.ended > (SELECT known_from FROM known)
            ORDER BY stamp DESC LIMIT $3
        ),
        since AS (
            SELECT CASE WHEN count(*) = $3 THEN min(stamp)
            ELSE (SELECT known_from + 1 FROM known) END AS stamp FROM ends
        ),
        stamps AS (
            SELECT stamp FROM ends
            UNION SELECT f.began FROM {former}
            AND f.ended > {since} AND f.began >= {since} AND f.began < $2
            UNION SELECT e.began FROM {present} AND e.began >= {since} AND e.began < $2
            ORDER BY stamp DESC LIMIT $3
        ),
        first AS (SELECT min(stamp) AS stamp FROM stamps)
        SELECT k.known_from, {first}, s.* FROM known k LEFT JOIN (
            SELECT {columns(STATE, "f")}, f.ended FROM {former}
            AND f.ended >= {first} AND (f.ended < $2 OR f.began >= {first} AND f.began < $2)
            UNION ALL
            SELECT {columns(STATE, "e")}, NULL::bigint FROM {present}
            AND e.began >= {first} AND e.began < $2
        ) s ON true
    """


_LIST_CHANGES, _LIST_CHANGES_OF_FEED = (
    _changes_statement(""),
    _changes_statement("AND {}.guid = $4"),
)
_IS_ANY_THERE = """
SELECT EXISTS (
    SELECT 1 FROM feedkeep.former_entry f
    WHERE f.account_id = $1 AND (f.ended = ANY($2::bigint[]) OR f.began = ANY($2::bigint[]))
) OR EXISTS (
    SELECT 1 FROM feedkeep.entry e WHERE e.account_id = $1 AND e.began = ANY($2::bigint[])
)
"""


class PostgresHistory:
    """The table `former_entry`, and who made the states in `entry`."""

    def __init__(self, runner: PostgresRunner) -> None:
        self._runner = runner

    async def page(
        self, account_id: AccountId, before: Stamp, limit: int, guid: Guid | None = None
    ) -> HistoryPage:
        statement = _LIST_CHANGES if guid is None else _LIST_CHANGES_OF_FEED
        wanted = (account_id, before, limit, *([] if guid is None else [guid]))

        async def read(connections: Connections) -> HistoryPage:
            rows = await connections.fetch(statement, *wanted)
            return await in_thread_if(len(rows) > LONG_LIST, ROWS.history_page_of, rows, before)

        return await self._runner.scan(read)

    async def is_any_there(self, account_id: AccountId, stamps: Collection[Stamp]) -> bool:
        async def read(connections: Connections) -> bool:
            ((is_there,),) = await connections.fetch(_IS_ANY_THERE, account_id, [*stamps])
            return bool(is_there)

        return await self._runner.scan(read)

    async def forget(
        self, after: AccountId, until: Stamp, max_states: int, *, with_authors: bool
    ) -> AccountId | None:
        found, last = await self._runner.scan(
            lambda connections: _next(connections, after, until, with_authors=with_authors)
        )
        if found is None:
            return last
        is_done = await self._runner.write(
            lambda connection: _forget(
                connection, found, until, max_states, with_authors=with_authors
            )
        )
        return found if is_done else after


async def _next(
    connections: Connections, after: AccountId, until: Stamp, *, with_authors: bool
) -> tuple[AccountId | None, AccountId | None]:
    """Return the next account with something to forget, if it is near; and the last one seen."""
    accounts = _FEW_ACCOUNTS if with_authors else _MANY_ACCOUNTS
    rows = await connections.fetch(_SOME_ACCOUNTS, after, until, accounts)
    firsts: list[AccountId | None] = [next((row[0] for row in rows if row[2]), None)]
    if with_states := [row[0] for row in rows if row[1]]:
        firsts.append(await _first(connections, _FIRST_WITH_OLD_STATES, with_states, until))
    if rows and with_authors:
        firsts.append(await _first(connections, _FIRST_WITH_AUTHORS, [row[0] for row in rows]))
    found = min((account_id for account_id in firsts if account_id is not None), default=None)
    return found, rows[-1][0] if rows else None


async def _first(
    connections: Connections, statement: str, account_ids: Sequence[AccountId], *more: Stamp
) -> AccountId | None:
    rows = await connections.fetch(statement, account_ids, *more)
    found: AccountId | None = rows[0][0]
    return found


async def _forget(
    connection: asyncpg.Connection,
    account_id: AccountId,
    until: Stamp,
    max_states: int,
    *,
    with_authors: bool,
) -> bool:
    """Forget some of an account; return whether that was all, or another transaction has it."""
    former_count = await connection.fetchval(_LOCK_IF_FREE, account_id)
    if former_count is None:
        return True
    forgotten = 0
    if former_count:
        dropped = await connection.fetch(_DROP, account_id, until, max_states)
        forgotten = len(dropped)
        await connection.execute(_SET_KNOWN, account_id, until, sum(row[0] for row in dropped))
    if with_authors and forgotten < max_states:
        some = max_states - forgotten
        forgotten += changed_rows(await connection.execute(_FORGET_AUTHORS, account_id, some))
    return forgotten < max_states
