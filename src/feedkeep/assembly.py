"""Building a service from settings: the one place that names a concrete store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from feedkeep.service import Service
from feedkeep.settings import Settings, sqlite_path
from feedkeep.store.sqlite import SqliteStore


@asynccontextmanager
async def open_service(settings: Settings) -> AsyncIterator[Service]:
    """Open the database that the settings name, brought up to date, and serve it until the end.

    Raises:
        InvalidSettings: The URL names no database.
        StoreUnusable: The database cannot be opened, is not feedkeep's, or is newer.
        StoreUnavailable: It is locked or full.
    """
    service = Service(await SqliteStore.open(sqlite_path(settings.database)))
    try:
        yield service
    finally:
        await service.close()
