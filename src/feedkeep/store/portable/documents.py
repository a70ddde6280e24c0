"""Documents: what is stored for apps."""

from __future__ import annotations

from msgspec.structs import astuple

from feedkeep.model import (
    Account,
    AccountId,
    Document,
    DocumentKind,
    DocumentName,
    KnownDocument,
)
from feedkeep.store.base import DecideDocument
from feedkeep.store.driver import Driver, Statements
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


class PortableDocuments:
    """The table `document`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def of(self, account_id: AccountId, kind: DocumentKind) -> list[Document]:
        rows = await self._driver.scan(_OF_KIND, account_id, kind)
        return [Document(kind, *row) for row in rows]

    async def body(self, account_id: AccountId, kind: DocumentKind, name: str) -> str | None:
        rows = await self._driver.read(_BODY, account_id, kind, name)
        return rows[0][0] if rows else None

    async def change(
        self, account_id: AccountId, kind: DocumentKind, name: str, decide: DecideDocument
    ) -> str:
        async def change(statements: Statements, _: Account) -> str:
            known = await known_document(statements, account_id, DocumentName(kind, name))
            body = decide(known.body, known.others)
            if body != known.body:
                await save_document(statements, account_id, Document(kind, name, body))
            return body

        return await self._driver.change(account_id, change)


async def known_document(
    statements: Statements, account_id: AccountId, name: DocumentName
) -> KnownDocument:
    """Return a document as it is, or how many others there are."""
    body = await statements.fetchval(_BODY, account_id, name.kind, name.name)
    if body is not None:
        return KnownDocument(body)
    return KnownDocument(None, await statements.fetchval(_COUNT, account_id, name.kind))


async def save_document(statements: Statements, account_id: AccountId, document: Document) -> None:
    """Save a document that is new or changed."""
    await statements.execute(_SAVE, account_id, *astuple(document))
