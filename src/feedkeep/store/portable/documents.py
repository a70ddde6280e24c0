"""Documents that are stored for apps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec.structs import astuple

from feedkeep.model import (
    Account,
    AccountId,
    Document,
    DocumentKind,
    DocumentName,
    DocumentSelector,
    KnownDocument,
)
from feedkeep.model.weights import weight_of_document
from feedkeep.store.driver import Driver, Statements
from feedkeep.store.sql import sql
from feedkeep.store.tables import DOCUMENTS, WEIGHT_OF_DOCUMENT, columns

DecideDocument: TypeAlias = Callable[[str | None, int], str]
"""Returns a document's new body; its arguments are the fields of `KnownDocument`."""

_OF_KIND = sql("""
SELECT d.name, d.body FROM feedkeep.document d
WHERE d.account_id = $1 AND d.kind = $2 ORDER BY d.name
""")
_BODY = sql("""
SELECT d.body FROM feedkeep.document d
WHERE d.account_id = $1 AND d.kind = $2 AND d.name = $3
""")
_BODY_AND_WEIGHT = sql(f"""
SELECT max(CASE WHEN d.name = $3 THEN d.body END), coalesce(sum{WEIGHT_OF_DOCUMENT}, 0)
FROM feedkeep.document d WHERE d.account_id = $1 AND d.kind = $2
""")
_SAVE = sql(f"""
INSERT INTO feedkeep.document (account_id, {columns(DOCUMENTS.columns)}) VALUES ($1, $2, $3, $4)
{DOCUMENTS.or_update}
""")


class Documents:
    """Small texts that are stored for apps: the table `document`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def of(self, account_id: AccountId, kind: DocumentKind) -> list[Document]:
        """Return all documents of a kind, ordered by name."""
        rows = await self._driver.scan(_OF_KIND, account_id, kind)
        return [Document(kind, *row) for row in rows]

    async def body(self, account_id: AccountId, kind: DocumentKind, name: str) -> str | None:
        rows = await self._driver.read(_BODY, account_id, kind, name)
        return rows[0][0] if rows else None

    async def change(
        self, account_id: AccountId, kind: DocumentKind, name: str, decide: DecideDocument
    ) -> str:
        """Replace the body of a document by the result of `decide`, and return it.

        Raises:
            NotAuthorized: The account is deleted.
            FeedkeepError: `decide` raised it; nothing is changed.
        """

        async def change(statements: Statements, _: Account) -> str:
            named = DocumentName(kind, name)
            known = (await known_documents(statements, account_id, [named]))[named]
            body = decide(known.body, known.others)
            if body != known.body:
                await save_document(statements, account_id, Document(kind, name, body))
            return body

        return await self._driver.change(account_id, change)


async def known_documents(
    statements: Statements, account_id: AccountId, wanted: Iterable[DocumentSelector]
) -> dict[DocumentName, KnownDocument]:
    """Return stored documents; each name or kind takes one statement."""
    bodies: dict[DocumentName, str | None] = {}
    weights: dict[DocumentKind, int] = {}
    for one in wanted:
        if isinstance(one, DocumentKind):
            rows = await statements.fetch(_OF_KIND, account_id, one)
            bodies |= {DocumentName(one, name): body for name, body in rows}
            weights[one] = sum(weight_of_document(body) for _, body in rows)
        elif one.kind in weights:
            bodies[one] = await statements.fetchval(_BODY, account_id, one.kind, one.name)
        else:
            row = await statements.fetchrow(_BODY_AND_WEIGHT, account_id, one.kind, one.name)
            assert row is not None, "a sum has a row"
            bodies[one], weights[one.kind] = row
    return {
        name: KnownDocument(body, weights[name.kind] - weight_of_document(body))
        for name, body in bodies.items()
    }


async def save_document(statements: Statements, account_id: AccountId, document: Document) -> None:
    await statements.execute(_SAVE, account_id, *astuple(document))
