"""The former states of entries: reading changes, and deleting old states."""

from __future__ import annotations

from collections.abc import Collection

from feedkeep.model import AccountId, Guid, HistoryPage, Stamp
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.store.driver import Driver, Statements
from feedkeep.store.sql import SKIP_LOCKED, sql
from feedkeep.store.tables import STATE, WEIGHT_OF_STATE, columns

_FEW_ACCOUNTS, _MANY_ACCOUNTS = 20, 500
"""Maximum number of accounts that a step searches, with and without their entries."""

_LAST_OF_SOME = sql("""
SELECT max(s.account_id) FROM (
    SELECT a.account_id FROM feedkeep.account a
    WHERE a.account_id > $1 ORDER BY a.account_id LIMIT $2
) s
""")


def _first(condition: str) -> str:
    """Return the SELECT of the first account after `$1`, up to `$2`, that meets a condition."""
    return f"""
    SELECT * FROM (
        SELECT a.account_id FROM feedkeep.account a
        WHERE a.account_id > $1 AND a.account_id <= $2 AND {condition}
        ORDER BY a.account_id LIMIT 1
    ) s
    """


_OF_STATES = (
    _first("a.former_count > 0 AND a.known_from < $3"),
    _first("""a.former_count > 0 AND EXISTS (
        SELECT 1 FROM feedkeep.former_entry f WHERE f.account_id = a.account_id AND f.ended <= $3
    )"""),
)
_OF_AUTHORS = _first("""EXISTS (
    SELECT 1 FROM feedkeep.entry e WHERE e.account_id = a.account_id AND e.author IS NOT NULL
)""")
_NEXT = sql(" UNION ALL ".join(_OF_STATES))
_NEXT_WITH_AUTHORS = sql(" UNION ALL ".join((*_OF_STATES, _OF_AUTHORS)))
LOOKS = (_LAST_OF_SOME, _NEXT, _NEXT_WITH_AUTHORS)
"""Statements about many accounts; on a cluster, each only reads rows of all machines."""

_LOCK_IF_FREE = sql(f"""
SELECT a.former_count FROM feedkeep.account a WHERE a.account_id = $1 {SKIP_LOCKED}
""")
DROP = sql(f"""
DELETE FROM feedkeep.former_entry AS f WHERE f.account_id = $1 AND (f.ended, f.guid) IN (
    SELECT o.ended, o.guid FROM feedkeep.former_entry o
    WHERE o.account_id = $1 AND o.ended <= $2 ORDER BY o.ended LIMIT $3
) RETURNING {WEIGHT_OF_STATE}
""")
_SET_KNOWN = sql("""
UPDATE feedkeep.account AS a
SET known_from = greatest(a.known_from, least($2, a.last_stamp)), former_count = a.former_count - $3
WHERE a.account_id = $1
""")
_FORGET_AUTHORS = sql("""
UPDATE feedkeep.entry AS e SET author = NULL WHERE e.account_id = $1 AND e.guid IN (
    SELECT o.guid FROM feedkeep.entry o
    WHERE o.account_id = $1 AND o.author IS NOT NULL LIMIT $2
) RETURNING 1
""")


def _changes_statement(of_guid: str) -> str:
    """Return the statement that reads a page of the changes that meet a condition.

    A change is found by the states that it ended. A change that began the first state of a guid is
    found only by that state, which may have ended at any later time; so such states are searched
    among all that ended after the start of the page. The page starts no earlier than it would with
    changes that ended states alone. It is a single statement, since on a cluster each statement has
    its own snapshot.
    """
    former = f"feedkeep.former_entry f WHERE f.account_id = $1 {of_guid.format('f')}"
    present = f"feedkeep.entry e WHERE e.account_id = $1 {of_guid.format('e')}"
    since, first = "(SELECT stamp FROM since)", "(SELECT stamp FROM first)"
    return f"""
        WITH known AS (SELECT a.known_from FROM feedkeep.account a WHERE a.account_id = $1),
        ends AS MATERIALIZED (
            SELECT DISTINCT f.ended AS stamp FROM {former}
            AND f.ended < $2 AND f.ended > (SELECT known_from FROM known)
            ORDER BY f.ended DESC LIMIT $3
        ),
        since AS MATERIALIZED (
            SELECT CASE WHEN count(*) = $3 THEN min(stamp)
            ELSE (SELECT known_from + 1 FROM known) END AS stamp FROM ends
        ),
        stamps AS (
            SELECT stamp FROM ends
            UNION SELECT f.began FROM {former}
            AND f.ended > {since} AND f.began >= {since} AND f.began < $2
            UNION SELECT e.began FROM {present} AND e.began >= {since} AND e.began < $2
            ORDER BY 1 DESC LIMIT $3
        ),
        first AS MATERIALIZED (SELECT min(stamp) AS stamp FROM stamps)
        SELECT k.known_from, {first}, s.* FROM known k LEFT JOIN (
            SELECT {columns(STATE, "f")}, f.ended FROM {former}
            AND f.ended >= {first} AND (f.ended < $2 OR f.began >= {first} AND f.began < $2)
            UNION ALL
            SELECT {columns(STATE, "e")}, CAST(NULL AS bigint) FROM {present}
            AND e.began >= {first} AND e.began < $2
        ) s ON true
    """


LIST_CHANGES = sql(_changes_statement(""))
LIST_CHANGES_OF_FEED = sql(_changes_statement("AND {}.guid = $4"))
# Not one condition for both stamps of a former state: only one of them has an index.
_IS_ANY_THERE = sql("""
SELECT EXISTS (
    SELECT 1 FROM feedkeep.former_entry f
    WHERE f.account_id = $1 AND f.ended = ANY($2::bigint[])
) OR EXISTS (
    SELECT 1 FROM feedkeep.entry e WHERE e.account_id = $1 AND e.began = ANY($2::bigint[])
) OR EXISTS (
    SELECT 1 FROM feedkeep.former_entry f
    WHERE f.account_id = $1 AND f.began = ANY($2::bigint[])
)
""")


class ListHistory:
    """The former states of the entries of all lists, and the authors of present states.

    These are the table `former_entry` and two columns of `entry`; `Entries.change` writes them.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._rows = driver.rows

    async def page(
        self, account_id: AccountId, before: Stamp, limit: int, guid: Guid | None = None
    ) -> HistoryPage:
        """Return the last changes before a stamp, at most `limit`, read at one moment.

        With `guid`, only the changes and states of its entry are returned.

        Raises:
            NotAuthorized: The account is deleted.
        """
        wanted = (account_id, before, limit)
        if guid is None:
            rows = await self._driver.scan(LIST_CHANGES, *wanted)
        else:
            rows = await self._driver.scan(
                LIST_CHANGES_OF_FEED, *wanted, self._rows.write_guid(guid)
            )
        return await in_thread_if(len(rows) > LONG_LIST, self._rows.history_page_of, rows, before)

    async def is_any_there(self, account_id: AccountId, stamps: Collection[Stamp]) -> bool:
        """Whether any stored state began or ended at one of the stamps."""
        if not stamps:
            return False
        rows = await self._driver.scan(_IS_ANY_THERE, account_id, self._rows.write_numbers(stamps))
        return bool(rows[0][0])

    async def forget(
        self, after: AccountId, until: Stamp, max_states: int, *, with_authors: bool
    ) -> AccountId | None:
        """Delete up to `max_states` states of the next account that ended at `until` or earlier.

        The next account is the one with the smallest id greater than `after` that has old states.
        Its history is then known from `until`, or from the list's last stamp if that is earlier.
        With `with_authors`, the authors of its present states are deleted as well. Returns the id
        to continue after, which is `after` while the account has more to delete; None after the
        last account. It takes about a millisecond and waits for no lock: an account that is being
        changed is skipped.
        """
        accounts = _FEW_ACCOUNTS if with_authors else _MANY_ACCOUNTS
        [(last,)] = await self._driver.read(_LAST_OF_SOME, after, accounts)
        if last is None:
            return None
        if with_authors:  # an account may have very many entries: the search may take long
            found = await self._driver.scan(_NEXT_WITH_AUTHORS, after, last, until)
        else:
            found = await self._driver.read(_NEXT, after, last, until)
        if not found:
            return AccountId(last)
        account_id = AccountId(min(row[0] for row in found))

        async def forget(statements: Statements) -> bool:
            """Delete some states; return whether none remain, or the account is locked."""
            former_count = await statements.fetchval(_LOCK_IF_FREE, account_id)
            if former_count is None:
                return True
            forgotten = 0
            if former_count:
                dropped = await statements.fetch(DROP, account_id, until, max_states)
                forgotten = len(dropped)
                weight = sum(row[0] for row in dropped)
                await statements.execute(_SET_KNOWN, account_id, until, weight)
            if with_authors and forgotten < max_states:
                some = max_states - forgotten
                forgotten += len(await statements.fetch(_FORGET_AUTHORS, account_id, some))
            return forgotten < max_states

        return account_id if await self._driver.write(forget) else after
