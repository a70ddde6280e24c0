"""The store suite runs on every store that there is."""

from stores import database, emptied_database, open_store, path, shared_database, store

__all__ = ["database", "emptied_database", "open_store", "path", "shared_database", "store"]
