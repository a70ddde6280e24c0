"""What looks at feeds all day, on every store."""

from __future__ import annotations

from stores import database, emptied_database, open_store, path, shared_database

__all__ = ["database", "emptied_database", "open_store", "path", "shared_database"]
