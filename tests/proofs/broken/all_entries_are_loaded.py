"""Broken: a change of few feeds loads every entry of the account."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from feedkeep.model import AccountId, DocumentName, Guid, Stamp
from feedkeep.runtime.cooperative import Yielding
from feedkeep.store.sqlite import entry_writes

_loaded = entry_writes.loaded


def loaded(
    connection: apsw.Connection,
    account_id: AccountId,
    _guids: Sequence[Guid] | None,
    now: Stamp,
    documents: Sequence[DocumentName],
    history_from: Stamp | None,
) -> Yielding[entry_writes.Loaded]:
    return _loaded(connection, account_id, None, now, documents, history_from)


entry_writes.loaded = loaded
