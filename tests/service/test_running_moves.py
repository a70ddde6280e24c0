"""What is copied from another server beside requests: once for an account, and not for ever."""

import asyncio

from feedkeep.model import AccountId
from feedkeep.service import migrations


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
