"""Giving episode actions from before the keys that they have now, in small steps."""

from __future__ import annotations

import asyncio
import contextlib
from itertools import groupby

import structlog

from feedkeep.model import ActionPlace
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules import episode_actions
from feedkeep.runtime.tasks import end
from feedkeep.store.base import Store

ACTIONS_IN_A_STEP = 100
_SECONDS_BETWEEN_STEPS = 0.2
_SECONDS_AFTER_A_FAILURE = 60.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Rekeying:
    """Goes through all actions once while a process serves.

    An action says itself whether it has its present key. So whatever ended a process, the next one
    goes on with what is left; several processes that go through at the same time do no harm.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; `close` ends it."""
        self._task = asyncio.create_task(self._go_through())

    async def close(self) -> None:
        """End it at once; what the step under way had not committed is left to the next process."""
        await end(self._task)

    async def step(self, after: ActionPlace | None) -> ActionPlace | None:
        """Do one step; return the place to go on after, or None after the last one."""
        found = await self._store.episode_actions.from_place(after, ACTIONS_IN_A_STEP)
        former = [(place, action) for place, action in found if action.received is None]
        for account_id, some in groupby(former, key=lambda one: one[0].account_id):
            with contextlib.suppress(NotAuthorized):  # it was deleted meanwhile
                await self._store.episode_actions.record(
                    account_id,
                    [action for _, action in some],
                    episode_actions.rekeyed,
                    max,
                    sought=episode_actions.sought,
                )
        return found[-1][0] if len(found) == ACTIONS_IN_A_STEP else None

    async def _go_through(self) -> None:
        after, is_done = None, False
        while not is_done:
            seconds = _SECONDS_BETWEEN_STEPS
            try:
                after = await self.step(after)
                is_done = after is None
            except Exception as error:  # noqa: BLE001 - whatever it is, it goes on later
                _log.warning("episode actions keep their former keys for now", reason=repr(error))
                seconds = _SECONDS_AFTER_A_FAILURE
            await asyncio.sleep(seconds)
