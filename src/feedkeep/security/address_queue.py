"""Fair queue for scarce work: round-robin by client address."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from feedkeep.model.errors import TooManyAttempts

MAX_WAITING = 512
"""Maximum number of waiting callers; then the address with the most loses one (C2.23)."""

RETRY_AFTER_SECONDS = 5

_Waiting: TypeAlias = OrderedDict[str, deque[asyncio.Future[None]]]
"""Waiting callers by address; the address served next comes first."""


class AddressQueue:
    """Limits concurrent work; client addresses take turns (C2.21).

    Args:
        at_once: Maximum number of concurrent turns.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._logins: _Waiting = OrderedDict()
        self._others: _Waiting = OrderedDict()

    @asynccontextmanager
    async def turn(self, address: str, *, is_login: bool = True) -> AsyncIterator[None]:
        """Context manager: wait for a turn, and occupy it.

        Other work than logins has its turn when no login waits.

        Raises:
            TooManyAttempts: Too many callers wait, and no other address has more of them.
        """
        if self._free:
            self._free -= 1
        else:
            waiting = self._logins if is_login else self._others
            _make_room(waiting, address)
            future = asyncio.get_running_loop().create_future()
            waiting.setdefault(address, deque()).append(future)
            try:
                await future
            except asyncio.CancelledError:
                if not future.cancelled():  # granted to a cancelled caller
                    self._pass_on()
                raise
        try:
            yield
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        while waiting := self._logins or self._others:
            address, queue = waiting.popitem(last=False)
            future = queue.popleft()
            if queue:
                waiting[address] = queue  # behind all others
            if not future.done():  # its task may have been cancelled
                future.set_result(None)
                return
        self._free += 1


def _make_room(waiting: _Waiting, address: str) -> None:
    if sum(map(len, waiting.values())) < MAX_WAITING:
        return
    most = max(waiting, key=lambda one: len(waiting[one]))
    if len(waiting[most]) <= len(waiting.get(address, ())) + 1:
        raise TooManyAttempts(RETRY_AFTER_SECONDS)
    last = waiting[most].pop()
    if not last.done():
        last.set_exception(TooManyAttempts(RETRY_AFTER_SECONDS))
