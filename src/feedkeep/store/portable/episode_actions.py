"""What is stored with episode actions once all of them are recorded."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import AccountId, DocumentName, Recorded, TokenProgress
from feedkeep.store.base import Learn
from feedkeep.store.driver import Statements
from feedkeep.store.portable.documents import known_documents, save_document
from feedkeep.store.portable.tokens import save_progress
from feedkeep.store.sql import sql

_ADVANCE = sql("""
UPDATE feedkeep.account AS a SET last_action_stamp = $2, action_count = a.action_count + $3
WHERE a.account_id = $1
""")


async def end_recording(
    statements: Statements,
    account_id: AccountId,
    recorded: Recorded,
    learn: Learn,
    documents: Sequence[DocumentName],
) -> None:
    """Set clock and count, and save what is learned; the arguments are as in `record`.

    The account is locked.
    """
    if recorded.ended != recorded.began or recorded.added:
        await statements.execute(_ADVANCE, account_id, recorded.ended, recorded.added)
    known = await known_documents(statements, account_id, documents)
    learned = learn(recorded, known)
    if isinstance(learned, TokenProgress):
        await save_progress(statements, account_id, learned)
    elif learned is not None:
        await save_document(statements, account_id, learned)
