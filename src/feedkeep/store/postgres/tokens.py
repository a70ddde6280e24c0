"""Finding tokens in PostgreSQL, which each request does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from functools import partial
from typing import TypeAlias

import asyncpg
from msgspec.structs import astuple

from feedkeep.model import AccountId, DocumentName, Found, Guid, Stamp, TokenId
from feedkeep.store.portable.tokens import TOKEN_COLUMNS, Tokens
from feedkeep.store.postgres.connections import Connections
from feedkeep.store.postgres.rows import ROWS
from feedkeep.store.postgres.runner import PostgresDriver, PostgresRunner
from feedkeep.store.postgres.shape import as_columns
from feedkeep.store.tables import ACCOUNT_COLUMNS, ENTRY, columns

MAX_FOUND_IN_A_BATCH = 256

_Wanted: TypeAlias = tuple[AccountId, bytes, Guid | None, DocumentName | None]


class PostgresTokens(Tokens):
    """The table `token`; one statement finds the tokens of many requests."""

    def __init__(self, driver: PostgresDriver, runner: PostgresRunner) -> None:
        super().__init__(driver)
        self._runner = runner
        same, wanted = runner.shape.same, runner.shape.wanted
        found = f"{ACCOUNT_COLUMNS}, {TOKEN_COLUMNS}, {columns(ENTRY, 'e')}, {columns(ENTRY, 's')}"
        joined = f"""
            JOIN feedkeep.token t ON {same("t")} AND t.hash = w.hash
            JOIN feedkeep.account a ON {same("a")}
            LEFT JOIN feedkeep.entry e ON {same("e")} AND e.guid = w.guid
            LEFT JOIN feedkeep.entry s ON {same("s")} AND s.guid = e.new_guid
        """
        asked = {"hash": "bytea", "guid": "uuid"}
        self._find = f"""
            SELECT w.n, NULL, {found} FROM {wanted(1, "WITH ORDINALITY", **asked)} {joined}
        """
        asked |= {"kind": "text", "name": "text"}
        self._find_with_documents = f"""
            SELECT w.n, d.body, {found} FROM {wanted(1, "WITH ORDINALITY", **asked)} {joined}
            LEFT JOIN feedkeep.document d ON {same("d")} AND d.kind = w.kind AND d.name = w.name
        """
        used = wanted(id="bigint")
        self._lock_what_is_free = f"""
            SELECT t.account_id, t.id FROM {used}
            JOIN feedkeep.token t ON {same("t")} AND t.id = w.id
            FOR NO KEY UPDATE OF t SKIP LOCKED
        """
        self._mark = f"""
            UPDATE feedkeep.token t SET last_used = $3 FROM {used}
            WHERE {same("t")} AND t.id = w.id
        """
        self._found = runner.reader(self._find_all, MAX_FOUND_IN_A_BATCH)

    async def find(
        self,
        account_id: AccountId,
        token_hash: bytes,
        guid: Guid | None = None,
        document: DocumentName | None = None,
    ) -> Found | None:
        wanted = (account_id, token_hash, guid, document)
        return await self._found.submit(wanted, await self._runner.key(account_id))

    async def mark_used(self, used: Sequence[tuple[AccountId, TokenId]], minute: Stamp) -> None:
        batches: defaultdict[Hashable, list[tuple[AccountId, TokenId]]] = defaultdict(list)
        for one in used:
            batches[await self._runner.key(one[0])].append(one)
        for rows in batches.values():
            await self._runner.write(partial(self._mark_used, rows, minute))

    async def _mark_used(
        self,
        used: Sequence[tuple[AccountId, TokenId]],
        minute: Stamp,
        connection: asyncpg.Connection,
    ) -> None:
        """Record uses; waits for no lock, so that it cannot be part of a deadlock."""
        rows = await connection.fetch(self._lock_what_is_free, *as_columns(used))
        if rows:
            free = as_columns([tuple(row) for row in rows])
            await connection.execute(self._mark, *free, minute)

    async def _find_all(
        self, connections: Connections, wanted: Sequence[_Wanted]
    ) -> Sequence[Found | None]:
        named = [(*one, *(astuple(name) if name else (None, None))) for *one, name in wanted]
        if any(name for *_, name in wanted):
            rows = await connections.fetch(self._find_with_documents, *as_columns(named))
        else:
            rows = await connections.fetch(self._find, *as_columns(named)[:3])
        found: list[Found | None] = [None] * len(wanted)
        for row in rows:
            found[row[0] - 1] = ROWS.found_of(row[2:], row[1])
        return found
