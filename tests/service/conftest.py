"""What is promised about accounts and their secrets holds on every store."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher
from stores import database, emptied_database, open_store, path, shared_database

from feedkeep.security import passwords

__all__ = ["database", "emptied_database", "open_store", "path", "shared_database"]


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at here is what becomes of a hash, not what it costs."""
    monkeypatch.setattr(passwords, "_HASHER", PasswordHasher(1, 8, 1))
