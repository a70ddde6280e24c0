"""The store suite runs on every store that there is."""

from __future__ import annotations

from stores import database, emptied_database, open_store, path, shared_database

__all__ = ["database", "emptied_database", "open_store", "path", "shared_database"]
