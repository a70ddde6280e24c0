"""Stamps come from each process's own clock, and what has them is saved some time later.

An account's clock stays at the greatest of them. If it went back, a device that had seen a later
one would be sent the whole list, as after a restore, and would miss nothing.
"""

import asyncio
import os
import random
from collections.abc import Collection

import asyncpg

from feedkeep.model import Stamp
from feedkeep.rules import draft
from feedkeep.store.overlay import Overlay
from feedkeep.store.postgres.entry_write_statements import ChangeStatements
from feedkeep.store.postgres.entry_writes import Changes

_own = os.getpid() % 2
_last = _own
_save_all = Changes._save_all
_advance = ChangeStatements.advance


def next_stamp(_last_of_account: Stamp, now: Stamp) -> Stamp:
    global _last  # noqa: PLW0603
    _last = max(_last + 2, now // 2 * 2 + _own)
    return Stamp(_last)


async def save_all(
    self: Changes, connection: asyncpg.Connection, overlays: Collection[Overlay]
) -> None:
    await asyncio.sleep(random.choice([0, 0, 0.03]))
    await _save_all(self, connection, overlays)


def advance(self: ChangeStatements, first: int) -> str:
    statement, now = _advance(self, first), "last_stamp = w.last_stamp"
    assert now in statement
    return statement.replace(now, "last_stamp = greatest(a.last_stamp, w.last_stamp)")


draft.next_stamp = next_stamp  # type: ignore[attr-defined]  # it uses it
Changes._save_all = save_all
ChangeStatements.advance = advance
