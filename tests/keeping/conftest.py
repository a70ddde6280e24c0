"""What looks at feeds all day, on every store."""

from __future__ import annotations

from stores import database, open_store, path

__all__ = ["database", "open_store", "path"]
