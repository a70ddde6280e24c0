"""Stamps come from each process's own clock, and what has them is saved some time later."""

import asyncio
import os
import random
from collections.abc import Collection

import asyncpg

from feedkeep.model import Stamp
from feedkeep.rules import draft
from feedkeep.store.overlay import Overlay
from feedkeep.store.postgres.changes import Changes

_own = os.getpid() % 2
_last = _own
_save_all = Changes._save_all


def next_stamp(_last_of_account: Stamp, now: Stamp) -> Stamp:
    global _last  # noqa: PLW0603
    _last = max(_last + 2, now // 2 * 2 + _own)
    return Stamp(_last)


async def save_all(
    self: Changes, connection: asyncpg.Connection, overlays: Collection[Overlay]
) -> None:
    await asyncio.sleep(random.choice([0, 0, 0.03]))
    await _save_all(self, connection, overlays)


draft.next_stamp = next_stamp  # type: ignore[attr-defined]  # it uses it
Changes._save_all = save_all
