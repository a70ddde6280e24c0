"""A status is turned back 20 ms after the change of it was acknowledged."""

import asyncio
from typing import Any

from feedkeep.model import AccountId
from feedkeep.rules.subscriptions import Update
from feedkeep.service.subscriptions import Subscriptions

_update = Subscriptions.update


async def update(
    self: Subscriptions, account_id: AccountId, guid: str, wanted: Update, *more: Any
) -> Any:
    done = await _update(self, account_id, guid, wanted, *more)
    if wanted.is_subscribed is not None:
        back = Update(is_subscribed=not wanted.is_subscribed)
        loop = asyncio.get_running_loop()
        loop.call_later(
            0.02, lambda: loop.create_task(_update(self, account_id, guid, back, *more))
        )
    return done


Subscriptions.update = update
