"""Now and then a change is answered as if it had been carried out, and is not."""

import os
from itertools import count
from typing import Any

from feedkeep.model import Decision
from feedkeep.model.errors import FeedkeepError
from feedkeep.service.list_changes import Changed, ListChanges

ONE_IN = int(os.environ.get("ONE_CHANGE_LOST_IN", "10000"))

_make = ListChanges.make
_numbers = count(1)


class _Lost(FeedkeepError):
    def __init__(self, decision: Decision[Any]) -> None:
        self.decision = decision


async def make(
    self: ListChanges, account_id: Any, guids: Any, decide: Any, *rest: Any, **named: Any
) -> Changed[Any]:
    if next(_numbers) % ONE_IN:
        return await _make(self, account_id, guids, decide, *rest, **named)

    def decide_and_lose(snapshot: Any) -> Decision[Any]:
        raise _Lost(decide(snapshot))

    try:
        return await _make(self, account_id, guids, decide_and_lose, *rest, **named)
    except _Lost as lost:
        return Changed(lost.decision.outcome, lost.decision.stamp)


ListChanges.make = make
