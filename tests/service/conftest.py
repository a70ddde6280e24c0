"""What is promised about accounts and their secrets holds on every store, which CI shows.

In the short form, one store shows it: `tests/store` has what all stores have in common.
"""

from __future__ import annotations

import pytest
from forms import IS_LONG
from stores import database, emptied_database, path, shared_database

from feedkeep.security import argon2id

if IS_LONG:
    from stores import open_store
else:
    from stores import open_store_of_one_kind as open_store

__all__ = ["database", "emptied_database", "open_store", "path", "shared_database"]


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at here is what becomes of a hash, not what it costs."""
    monkeypatch.setattr(argon2id, "OURS", argon2id.Cost(8, 1, 1))
