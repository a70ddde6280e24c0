"""Broken: a change of few feeds loads every entry of the account."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from feedkeep.model import AccountId, DocumentSelector, Guid, Stamp
from feedkeep.runtime.cooperative import Yielding
from feedkeep.store.sqlite import entry_writes

_loaded = entry_writes.loaded


def loaded(
    connection: apsw.Connection,
    account_id: AccountId,
    _guids: Sequence[Guid] | None,
    documents: Sequence[DocumentSelector] = (),
    history_from: Stamp | None = None,
) -> Yielding[entry_writes.Loaded]:
    return _loaded(connection, account_id, None, documents, history_from)


entry_writes.loaded = loaded
