"""Documents in PostgreSQL: what is stored for apps."""

from __future__ import annotations

import asyncpg
from msgspec.structs import astuple

from feedkeep.model import AccountId, Clock, Document, DocumentKind, DocumentName, KnownDocument
from feedkeep.store.base import DecideDocument
from feedkeep.store.postgres.accounts import hold_clock
from feedkeep.store.postgres.runner import PostgresRunner
from feedkeep.store.tables import DOCUMENTS, columns

_OF_KIND = """
SELECT d.name, d.body FROM feedkeep.document d
WHERE d.account_id = $1 AND d.kind = $2 ORDER BY d.name
"""
_BODY = """
SELECT d.body FROM feedkeep.document d
WHERE d.account_id = $1 AND d.kind = $2 AND d.name = $3
"""
_COUNT = """
SELECT count(*) FROM feedkeep.document d WHERE d.account_id = $1 AND d.kind = $2
"""
_SAVE = f"""
INSERT INTO feedkeep.document (account_id, {columns(DOCUMENTS.columns)}) VALUES ($1, $2, $3, $4)
{DOCUMENTS.or_update}
"""


class PostgresDocuments:
    """The table `document`."""

    def __init__(self, runner: PostgresRunner) -> None:
        self._runner = runner

    async def of(self, account_id: AccountId, kind: DocumentKind) -> list[Document]:
        rows = await self._runner.scan(
            lambda connections: connections.fetch(_OF_KIND, account_id, kind)
        )
        return [Document(kind, *row) for row in rows]

    async def body(self, account_id: AccountId, kind: DocumentKind, name: str) -> str | None:
        rows = await self._runner.read(
            lambda connections: connections.fetch(_BODY, account_id, kind, name)
        )
        return rows[0][0] if rows else None

    async def change(
        self, account_id: AccountId, kind: DocumentKind, name: str, decide: DecideDocument
    ) -> str:
        async def change(connection: asyncpg.Connection) -> str:
            await hold_clock(connection, account_id, Clock.SUBSCRIPTIONS)
            known = await known_document(connection, account_id, DocumentName(kind, name))
            body = decide(known.body, known.others)
            if body != known.body:
                await save_document(connection, account_id, Document(kind, name, body))
            return body

        return await self._runner.write(change)


async def known_document(
    connection: asyncpg.Connection, account_id: AccountId, name: DocumentName
) -> KnownDocument:
    """Return a document as it is, or how many others there are."""
    body = await connection.fetchval(_BODY, account_id, name.kind, name.name)
    if body is not None:
        return KnownDocument(body)
    return KnownDocument(None, await connection.fetchval(_COUNT, account_id, name.kind))


async def save_document(
    connection: asyncpg.Connection, account_id: AccountId, document: Document
) -> None:
    """Save a document that is new or changed."""
    await connection.execute(_SAVE, account_id, *astuple(document))
