"""Whether a service is ready: a store that does not answer is not waited for."""

from contextlib import closing

import pytest
from running import assert_refused

from feedkeep import service as service_module
from feedkeep.model.errors import StoreUnavailable
from feedkeep.store.sqlite.connection import connect


@pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)
async def test_a_store_that_does_not_answer_in_time_is_not_ready(path, service, monkeypatch):
    await service.assert_ready()
    monkeypatch.setattr(service_module, "READY_SECONDS", 0.05)
    with closing(connect(path, 1)) as blocker:
        blocker.execute("BEGIN IMMEDIATE")  # writers wait for seconds
        await assert_refused(service.assert_ready(), StoreUnavailable, "does not answer")
