"""What is stored with episode actions once all of them are recorded."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import AccountId, Clock, DocumentName, Recorded, TokenProgress
from feedkeep.store.base import Learn
from feedkeep.store.driver import Statements
from feedkeep.store.portable.accounts import set_clock
from feedkeep.store.portable.documents import known_document, save_document
from feedkeep.store.portable.tokens import save_progress


async def end_recording(
    statements: Statements,
    account_id: AccountId,
    recorded: Recorded,
    learn: Learn,
    documents: Sequence[DocumentName],
) -> None:
    """Set the clock, and save what is learned; the arguments are those of `EpisodeActions.record`.

    The account is locked.
    """
    if recorded.ended != recorded.began:
        await set_clock(statements, account_id, Clock.ACTIONS, recorded.ended)
    known = {name: await known_document(statements, account_id, name) for name in documents}
    learned = learn(recorded, known)
    if isinstance(learned, TokenProgress):
        await save_progress(statements, account_id, learned)
    elif learned is not None:
        await save_document(statements, account_id, learned)
