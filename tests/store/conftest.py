"""The store suite runs on every store that there is."""

from __future__ import annotations

from stores import database, open_store, path

__all__ = ["database", "open_store", "path"]
