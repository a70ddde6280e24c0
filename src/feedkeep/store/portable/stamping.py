"""Replacing stamps that are ahead of the current time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from feedkeep.model import Account, AccountId, Clock, DocumentKind, Restamped, Stamp
from feedkeep.store.driver import Statements
from feedkeep.store.rows import Row, stamps_in
from feedkeep.store.sql import Sql, sql
from feedkeep.store.tables import ACTIONS, OF_THE_LIST, Table, columns

DecideStamps: TypeAlias = Callable[
    [Account, Stamp, Collection[Stamp], Collection[Stamp]], Restamped
]
"""Returns the corrected form of an account whose clocks were ahead.

Its arguments are the account, the stamp from which its history is known, and the stamps of its list
and of its episode actions that are ahead.
"""

_KNOWN_FROM = sql("SELECT a.known_from FROM feedkeep.account a WHERE a.account_id = $1")
_SET_KNOWN_FROM = sql("UPDATE feedkeep.account AS a SET known_from = $2 WHERE a.account_id = $1")
_RESEND = [
    sql(f"""
    UPDATE feedkeep.token AS t
    SET last_sent_{clock.value} = $2, acknowledged_{clock.value} = NULL,
        own_{clock.value} = NULL
    WHERE t.account_id = $1 AND t.last_sent_{clock.value} IS NOT NULL
    """)
    for clock in Clock
]
_FORGET_APP_URLS = sql("DELETE FROM feedkeep.document AS d WHERE d.account_id = $1 AND d.kind = $2")


def _ahead(table: Table) -> Sql:
    """Return the statement that reads keys and stamps of rows with a stamp later than `$2`."""
    is_ahead = " OR ".join(f"r.{name} > $2" for name in table.stamps)
    return sql(
        f"SELECT {columns((*table.key, *table.stamps), 'r')} FROM feedkeep.{table.name} r"
        f" WHERE r.account_id = $1 AND ({is_ahead}) ORDER BY r.{table.stamps[0]}"
    )


def _stamp_anew(table: Table) -> Sql:
    """Return the statement that replaces the stamps of the row with a key."""
    key = " AND ".join(f"r.{name} = ${n}" for n, name in enumerate(table.key, 2))
    stamps = enumerate(table.stamps, 2 + len(table.key))
    changed = ", ".join(f"{name} = ${n}" for n, name in stamps)
    return sql(f"UPDATE feedkeep.{table.name} AS r SET {changed} WHERE r.account_id = $1 AND {key}")


_AHEAD = {table: _ahead(table) for table in (*OF_THE_LIST, ACTIONS)}
_STAMP_ANEW = {table: _stamp_anew(table) for table in _AHEAD}


async def restamp(
    statements: Statements, account: Account, now: Stamp, decide: DecideStamps
) -> Account:
    """Replace stamps later than `now` in an account's rows; return the corrected account.

    The caller has locked the account, and stores it.
    """
    account_id = account.id
    rows = {
        table: await statements.fetch(statement, account_id, now)
        for table, statement in _AHEAD.items()
    }
    stamps = {table: stamps_in(rows[table], len(table.stamps), now) for table in rows}
    known_from = await statements.fetchval(_KNOWN_FROM, account_id)
    of_the_list = set().union(*(stamps[table] for table in OF_THE_LIST))
    decided = decide(account, known_from, of_the_list, stamps[ACTIONS])
    await statements.execute(_SET_KNOWN_FROM, account_id, decided.known_from)
    for table in OF_THE_LIST:
        await _write(statements, table, account_id, rows[table], decided.stamps)
    await _write(statements, ACTIONS, account_id, rows[ACTIONS], decided.action_stamps)
    for resend in _RESEND:
        await statements.execute(resend, account_id, decided.sent)
    await statements.execute(_FORGET_APP_URLS, account_id, DocumentKind.APP_URLS)
    return decided.account


async def _write(
    statements: Statements,
    table: Table,
    account_id: AccountId,
    rows: Sequence[Row],
    anew: Mapping[Stamp, Stamp],
) -> None:
    # By rising stamps, none of which gets later: so no row gets a stamp that another row has.
    width = len(table.key)
    await statements.executemany(
        _STAMP_ANEW[table],
        [
            (account_id, *row[:width], *(anew.get(stamp, stamp) for stamp in row[width:]))
            for row in rows
        ],
    )
