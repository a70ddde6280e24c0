"""Whether a service is ready: a store that does not answer is not waited for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from running import Clock, run

from feedkeep import service as service_module
from feedkeep.model import Now
from feedkeep.model.errors import StoreUnavailable
from feedkeep.service import Service
from feedkeep.store.base import Store
from feedkeep.store.sqlite import SqliteStore
from feedkeep.store.sqlite.connection import connect


@asynccontextmanager
async def opened(path: Path, now: Now) -> AsyncIterator[Store]:
    store = await SqliteStore.open(path, now)
    yield store
    await store.close()


def test_a_store_that_does_not_answer_in_time_is_not_ready(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(service: Service, _store: Store, _: Clock) -> None:
        await service.assert_ready()
        monkeypatch.setattr(service_module, "READY_SECONDS", 0.05)
        with closing(connect(path, 1)) as blocker:
            blocker.execute("BEGIN IMMEDIATE")  # writers wait for seconds
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await service.assert_ready()

    run(lambda clock: opened(path, clock), work)
