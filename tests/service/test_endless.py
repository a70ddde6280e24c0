"""Timeouts: of a move from another server, and of a store."""

import asyncio
from contextlib import closing

import pytest
from running import assert_refused

from feedkeep import service as service_module
from feedkeep.model import AccountId
from feedkeep.model.errors import StoreUnavailable
from feedkeep.service import migrations
from feedkeep.store.sqlite.connection import connect


async def test_a_move_ends_after_its_time_and_makes_room(monkeypatch, capsys, service):
    monkeypatch.setattr(migrations, "MAX_MOVES", 2)
    moves, ended = service.migrations, asyncio.Event()

    async def never_ends():
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    moves.begin(AccountId(1), never_ends)
    await asyncio.sleep(0)  # it begins
    assert not moves.may_begin(AccountId(1))
    assert moves.may_begin(AccountId(2))
    monkeypatch.setattr(migrations, "MOVE_SECONDS", 0.0)
    moves.begin(AccountId(2), never_ends)
    assert not moves.may_begin(AccountId(3))
    await moves._under_way[AccountId(2)]
    await asyncio.sleep(0)  # its room is given back
    assert ended.is_set()
    assert moves.may_begin(AccountId(2))
    assert "moving in interrupted" in capsys.readouterr().out
    ended.clear()
    await moves.close()
    assert ended.is_set()
    assert moves.may_begin(AccountId(1))


@pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)
async def test_a_store_that_does_not_answer_in_time_is_not_ready(path, service, monkeypatch):
    await service.assert_ready()
    monkeypatch.setattr(service_module, "READY_SECONDS", 0.05)
    with closing(connect(path, 1)) as blocker:
        blocker.execute("BEGIN IMMEDIATE")  # writers wait for seconds
        await assert_refused(service.assert_ready(), StoreUnavailable, "does not answer")
