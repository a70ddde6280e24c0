"""The former states of entries in SQLite: reading what changed, and forgetting what is old."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import partial

import apsw

from feedkeep.model import AccountId, Guid, HistoryPage, Stamp
from feedkeep.store.sqlite.entry_writes import drop_states
from feedkeep.store.sqlite.rows import ROWS, to_bytes
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.tables import STATE, columns

_FEW_ACCOUNTS, _MANY_ACCOUNTS = 20, 500
"""Through how many accounts a step looks, with and without a look at their entries."""

_KNOWN = "SELECT known_from, former_count, last_stamp FROM account WHERE account_id = ?"
_SET_KNOWN = "UPDATE account SET known_from = ?, former_count = ? WHERE account_id = ?"
_SOME_ACCOUNTS = (
    "SELECT * FROM account WHERE account_id > :after ORDER BY account_id LIMIT :accounts"
)
_LAST_OF_SOME = f"SELECT max(account_id) FROM ({_SOME_ACCOUNTS})"

# Without ORDER BY: SQLite reads the inner query in its order, and stops at the first account that
# matches. Sorting would look at the entries of each one.
_NEXT = f"""
SELECT a.account_id FROM ({_SOME_ACCOUNTS}) a WHERE a.former_count > 0 AND (
    a.known_from < :until OR EXISTS (
        SELECT 1 FROM former_entry f WHERE f.account_id = a.account_id AND f.ended <= :until
    )
) OR :with_authors AND EXISTS (
    SELECT 1 FROM entry e WHERE e.account_id = a.account_id AND e.author IS NOT NULL
) LIMIT 1
"""


def _changes_statement(condition: str) -> str:
    """Return the statement that reads a page of the changes that meet a condition.

    A change is found by what it ended. One that began the first state of a guid is found only by
    that state, which may have ended at any time since: so such states are searched for among all
    that ended later than the page begins. It begins no earlier than with the changes that ended
    something alone.
    """
    here = f"account_id = :account_id {condition}"
    since, first = "(SELECT stamp FROM since)", "(SELECT stamp FROM first)"
    return f"""
        WITH known AS (SELECT known_from FROM account WHERE account_id = :account_id),
        ends AS MATERIALIZED (
            SELECT DISTINCT ended AS stamp FROM former_entry
            WHERE {here} AND ended < :before AND ended > (SELECT known_from FROM known)
            ORDER BY ended DESC LIMIT :limit
        ),
        since AS MATERIALIZED (
            SELECT iif(count(*) = :limit, min(stamp), (SELECT known_from + 1 FROM known)) AS stamp
            FROM ends
        ),
        stamps AS (
            SELECT stamp FROM ends
            UNION SELECT began FROM former_entry
            WHERE {here} AND ended > {since} AND began >= {since} AND began < :before
            UNION SELECT began FROM entry
            WHERE {here} AND began >= {since} AND began < :before
            ORDER BY 1 DESC LIMIT :limit
        ),
        first AS MATERIALIZED (SELECT min(stamp) AS stamp FROM stamps)
        SELECT k.known_from, {first}, s.* FROM known k LEFT JOIN (
            SELECT {columns(STATE)}, ended FROM former_entry
            WHERE {here} AND ended >= {first}
            AND (ended < :before OR began >= {first} AND began < :before)
            UNION ALL
            SELECT {columns(STATE)}, NULL FROM entry
            WHERE {here} AND began >= {first} AND began < :before
        ) s
    """


_LIST_CHANGES, _LIST_CHANGES_OF_FEED = (
    _changes_statement(""),
    _changes_statement("AND guid = :guid"),
)
_IS_ANY_THERE = """
WITH wanted AS (SELECT value FROM json_each(?2))
SELECT EXISTS (SELECT 1 FROM former_entry WHERE account_id = ?1 AND ended IN wanted)
OR EXISTS (SELECT 1 FROM entry WHERE account_id = ?1 AND began IN wanted)
OR EXISTS (SELECT 1 FROM former_entry WHERE account_id = ?1 AND began IN wanted)
"""
_FORGET_AUTHORS = """
UPDATE entry SET author = NULL WHERE (account_id, guid) IN (
    SELECT account_id, guid FROM entry WHERE account_id = ? AND author IS NOT NULL LIMIT ?
)
"""


class SqliteHistory:
    """The table `former_entry`, and who made the states in `entry`."""

    def __init__(self, runner: SqliteRunner) -> None:
        self._runner = runner

    async def page(
        self, account_id: AccountId, before: Stamp, limit: int, guid: Guid | None = None
    ) -> HistoryPage:
        statement = _LIST_CHANGES if guid is None else _LIST_CHANGES_OF_FEED
        key = guid and to_bytes(guid)
        wanted = {"account_id": account_id, "before": before, "limit": limit, "guid": key}
        return await self._runner.scan(
            lambda connection: ROWS.history_page_of(
                connection.execute(statement, wanted).fetchall(), before
            )
        )

    async def is_any_there(self, account_id: AccountId, stamps: Collection[Stamp]) -> bool:
        wanted = (account_id, json.dumps([*stamps]))
        return await self._runner.scan(
            lambda connection: bool(connection.execute(_IS_ANY_THERE, wanted).get)
        )

    async def forget(
        self, after: AccountId, until: Stamp, max_states: int, *, with_authors: bool
    ) -> AccountId | None:
        look = partial(_next, after=after, until=until, with_authors=with_authors)
        # Entries are looked at beside the loop: an account may have very many.
        found, last = await self._runner.scan(look) if with_authors else self._runner.read(look)
        if found is None:
            return last
        is_done = await self._runner.write(
            lambda connection: _forget(
                connection, found, until, max_states, with_authors=with_authors
            )
        )
        return found if is_done else after


def _next(
    connection: apsw.Connection, after: AccountId, until: Stamp, *, with_authors: bool
) -> tuple[AccountId | None, AccountId | None]:
    """Return the next account with something to forget, if it is near; else the last one seen."""
    accounts = _FEW_ACCOUNTS if with_authors else _MANY_ACCOUNTS
    some = {"after": after, "accounts": accounts, "until": until, "with_authors": with_authors}
    found: AccountId | None = connection.execute(_NEXT, some).get
    return found, None if found else connection.execute(_LAST_OF_SOME, some).get


def _forget(
    connection: apsw.Connection,
    account_id: AccountId,
    until: Stamp,
    max_states: int,
    *,
    with_authors: bool,
) -> bool:
    """Forget some of an account; return whether that was all of it."""
    known = connection.execute(_KNOWN, (account_id,)).get
    if known is None:
        return True
    known_from, former_count, last_stamp = known
    forgotten = 0
    if former_count:
        dropped = drop_states(connection, account_id, until, max_states)
        forgotten = len(dropped)
        after = (max(known_from, min(until, last_stamp)), former_count - sum(dropped), account_id)
        connection.execute(_SET_KNOWN, after)
    if with_authors and forgotten < max_states:
        connection.execute(_FORGET_AUTHORS, (account_id, max_states - forgotten))
        forgotten += connection.changes()
    return forgotten < max_states
