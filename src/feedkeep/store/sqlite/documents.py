"""Documents in SQLite: what is stored for apps."""

from __future__ import annotations

import apsw
from msgspec.structs import astuple

from feedkeep.model import AccountId, Clock, Document, DocumentKind, DocumentName, KnownDocument
from feedkeep.store.base import DecideDocument
from feedkeep.store.sqlite.accounts import read_clock
from feedkeep.store.sqlite.rows import insert_into
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.tables import DOCUMENTS

_OF_KIND = "SELECT name, body FROM document WHERE account_id = ? AND kind = ? ORDER BY name"
_BODY = "SELECT body FROM document WHERE account_id = ? AND kind = ? AND name = ?"
_COUNT = "SELECT count(*) FROM document WHERE account_id = ? AND kind = ?"
_SAVE = f"{insert_into(DOCUMENTS)} {DOCUMENTS.or_update}"


class SqliteDocuments:
    """The table `document`."""

    def __init__(self, runner: SqliteRunner) -> None:
        self._runner = runner

    async def of(self, account_id: AccountId, kind: DocumentKind) -> list[Document]:
        def read(connection: apsw.Connection) -> list[Document]:
            rows = connection.execute(_OF_KIND, (account_id, kind))
            return [Document(kind, *row) for row in rows]

        return await self._runner.scan(read)

    async def body(self, account_id: AccountId, kind: DocumentKind, name: str) -> str | None:
        return self._runner.read(lambda connection: _body(connection, account_id, kind, name))

    async def change(
        self, account_id: AccountId, kind: DocumentKind, name: str, decide: DecideDocument
    ) -> str:
        def change(connection: apsw.Connection) -> str:
            read_clock(connection, account_id, Clock.SUBSCRIPTIONS)  # the account is there
            known = known_document(connection, account_id, DocumentName(kind, name))
            body = decide(known.body, known.others)
            if body != known.body:
                save_document(connection, account_id, Document(kind, name, body))
            return body

        return await self._runner.write(change, account_id)


def known_document(
    connection: apsw.Connection, account_id: AccountId, name: DocumentName
) -> KnownDocument:
    """Return a document as it is, or how many others there are."""
    body = _body(connection, account_id, name.kind, name.name)
    if body is not None:
        return KnownDocument(body)
    return KnownDocument(None, connection.execute(_COUNT, (account_id, name.kind)).get)


def save_document(connection: apsw.Connection, account_id: AccountId, document: Document) -> None:
    """Save a document that is new or changed."""
    connection.execute(_SAVE, (account_id, *astuple(document)))


def _body(
    connection: apsw.Connection, account_id: AccountId, kind: DocumentKind, name: str
) -> str | None:
    body: str | None = connection.execute(_BODY, (account_id, kind, name)).get
    return body
