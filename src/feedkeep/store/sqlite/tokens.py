"""Finding tokens in SQLite, which each request does."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from feedkeep.model import AccountId, DocumentName, Found, Guid, Stamp, TokenId
from feedkeep.store.portable.tokens import TOKEN_COLUMNS, Tokens
from feedkeep.store.sqlite.driver import SqliteDriver
from feedkeep.store.sqlite.rows import ROWS, to_bytes
from feedkeep.store.sqlite.runner import SqliteRunner
from feedkeep.store.tables import ACCOUNT_COLUMNS, ENTRY, columns

# SQLite hashes and compares the text of each statement, and apsw makes an object of each column: so
# there is no join that only pointers need.
_FIND = f"""
SELECT {ACCOUNT_COLUMNS}, {TOKEN_COLUMNS} FROM token t JOIN account a ON a.account_id = t.account_id
WHERE t.account_id = ? AND t.hash = ?
"""
_FIND_WITH_ENTRY = f"""
SELECT {ACCOUNT_COLUMNS}, {TOKEN_COLUMNS}, {columns(ENTRY, "e")}
FROM token t JOIN account a ON a.account_id = t.account_id
LEFT JOIN entry e ON e.account_id = t.account_id AND e.guid = ?
WHERE t.account_id = ? AND t.hash = ?
"""
_NEW_GUID = -len(ENTRY) + ENTRY.index("new_guid")
_ENTRY = f"SELECT {columns(ENTRY)} FROM entry WHERE account_id = ? AND guid = ?"
_DOCUMENT = "SELECT body FROM document WHERE account_id = ? AND kind = ? AND name = ?"
_MARK_USED = "UPDATE token SET last_used = ? WHERE account_id = ? AND id = ?"


class SqliteTokens(Tokens):
    """The table `token`."""

    def __init__(self, runner: SqliteRunner) -> None:
        super().__init__(SqliteDriver(runner))
        self._runner = runner

    async def find(
        self,
        account_id: AccountId,
        token_hash: bytes,
        guid: Guid | None = None,
        document: DocumentName | None = None,
    ) -> Found | None:
        def find(connection: apsw.Connection) -> Found | None:
            if guid is None:
                row = connection.execute(_FIND, (account_id, token_hash)).get
            else:
                wanted = (to_bytes(guid), account_id, token_hash)
                row = connection.execute(_FIND_WITH_ENTRY, wanted).get
                if row and row[_NEW_GUID] is not None:  # the view of a pointer has its subscription
                    row += connection.execute(_ENTRY, (account_id, row[_NEW_GUID])).get
            if not row:
                return None
            body = None
            if document is not None:
                body = connection.execute(_DOCUMENT, (account_id, document.kind, document.name)).get
            return ROWS.found_of(row, body)

        return await self._runner.read_together(find)

    async def mark_used(self, used: Sequence[tuple[AccountId, TokenId]], minute: Stamp) -> None:
        rows = [(minute, *one) for one in used]
        await self._runner.write(lambda connection: connection.executemany(_MARK_USED, rows))
