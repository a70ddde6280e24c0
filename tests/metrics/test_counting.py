"""Counting what is stored, beside all other work."""

import asyncio

import pytest
from structlog.testing import capture_logs

from feedkeep.assembly import open_service
from feedkeep.config.settings import Settings
from feedkeep.metrics import counting
from feedkeep.metrics.counting import Counting
from feedkeep.model.errors import StoreUnavailable
from feedkeep.runtime import wall_clock


@pytest.mark.parametrize("error", [StoreUnavailable("It is locked."), RuntimeError("unexpected")])
def test_counting_goes_on_after_whatever_happened(tmp_path, monkeypatch, error):
    for name in ("SECONDS_BETWEEN_STEPS", "SECONDS_BETWEEN_ROUNDS"):
        monkeypatch.setattr(counting, name, 0.0)

    async def work():
        async with open_service(Settings(database=f"sqlite:///{tmp_path}/x.db")) as service:
            await service.accounts.create("anna", None)
            totals = service.store.totals
            ask, is_back = totals.of_accounts, asyncio.Event()

            async def away(*_):
                monkeypatch.setattr(totals, "of_accounts", here)
                raise error

            async def here(*arguments):
                if count.last:  # this is the round after the first whole one
                    is_back.set()
                return await ask(*arguments)

            monkeypatch.setattr(totals, "of_accounts", away)
            async with Counting(service.store, wall_clock.now) as count:
                await is_back.wait()
            assert count.last is not None
            assert count.last.accounts == 1

    with capture_logs() as logs:
        asyncio.run(work())
    assert [line["reason"] for line in logs if line["log_level"] == "warning"] == [repr(error)]
