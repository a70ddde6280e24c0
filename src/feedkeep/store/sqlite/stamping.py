"""Stamping anew in SQLite what has stamps that are ahead of the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from feedkeep.model import Account, AccountId, Clock, DocumentKind, Stamp
from feedkeep.store.base import DecideStamps
from feedkeep.store.rows import stamps_in
from feedkeep.store.tables import ACTIONS, OF_THE_LIST, Table, columns

_KNOWN_FROM = "SELECT known_from FROM account WHERE id = ?"
_SET_KNOWN_FROM = "UPDATE account SET known_from = ? WHERE id = ?"
_RESEND = [
    f"""
    UPDATE token SET told_{clock.value} = ?, heard_{clock.value} = NULL, own_{clock.value} = NULL
    WHERE account_id = ? AND told_{clock.value} IS NOT NULL
    """
    for clock in Clock
]
_FORGET_SPELLINGS = "DELETE FROM document WHERE account_id = ? AND kind = ?"


def restamp(
    connection: apsw.Connection, account: Account, now: Stamp, decide: DecideStamps
) -> Account:
    """Replace stamps that are later than `now` in the rows of an account; return it as it is then.

    The caller stores the account itself.
    """
    account_id = account.id
    rows = {table: _ahead(connection, table, account_id, now) for table in (*OF_THE_LIST, ACTIONS)}
    stamps = {table: stamps_in(rows[table], len(table.stamps), now) for table in rows}
    known_from = connection.execute(_KNOWN_FROM, (account_id,)).get
    of_the_list = set().union(*(stamps[table] for table in OF_THE_LIST))
    decided = decide(account, known_from, of_the_list, stamps[ACTIONS])
    connection.execute(_SET_KNOWN_FROM, (decided.known_from, account_id))
    for table in OF_THE_LIST:
        _write(connection, table, account_id, rows[table], decided.stamps)
    _write(connection, ACTIONS, account_id, rows[ACTIONS], decided.action_stamps)
    for resend in _RESEND:
        connection.execute(resend, (decided.told, account_id))
    connection.execute(_FORGET_SPELLINGS, (account_id, DocumentKind.SPELLINGS))
    return decided.account


def _ahead(
    connection: apsw.Connection, table: Table, account_id: AccountId, now: Stamp
) -> list[tuple[Any, ...]]:
    """Return the key and the stamps of each row that has one later than `now`, the first first."""
    is_ahead = " OR ".join(f"{name} > ?2" for name in table.stamps)
    statement = (
        f"SELECT {columns((*table.key, *table.stamps))} FROM {table.name}"
        f" WHERE account_id = ?1 AND ({is_ahead}) ORDER BY {table.stamps[0]}"
    )
    return connection.execute(statement, (account_id, now)).fetchall()


def _write(
    connection: apsw.Connection,
    table: Table,
    account_id: AccountId,
    rows: Sequence[Sequence[Any]],
    anew: Mapping[Stamp, Stamp],
) -> None:
    # By rising stamps, none of which gets later: so no row gets one that another still has.
    statement = (
        f"UPDATE {table.name} SET {', '.join(f'{name} = ?' for name in table.stamps)}"
        f" WHERE account_id = ? AND {' AND '.join(f'{name} = ?' for name in table.key)}"
    )
    width = len(table.key)
    connection.executemany(
        statement,
        [
            (*(anew.get(stamp, stamp) for stamp in row[width:]), account_id, *row[:width])
            for row in rows
        ],
    )
