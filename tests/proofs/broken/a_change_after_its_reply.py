"""A status is turned back 20 ms after the change of it was acknowledged."""

import asyncio
from typing import Any

from feedkeep.model import AccountId, Author
from feedkeep.rules.subscriptions import Update
from feedkeep.service.subscriptions import Subscriptions

_update = Subscriptions.update


async def update(
    self: Subscriptions,
    account_id: AccountId,
    guid: str,
    wanted: Update,
    author: Author,
    *more: Any,
) -> Any:
    done = await _update(self, account_id, guid, wanted, author, *more)
    if wanted.is_subscribed is not None:
        back = Update(is_subscribed=not wanted.is_subscribed)
        asyncio.get_running_loop().call_later(
            0.02, lambda: asyncio.ensure_future(_update(self, account_id, guid, back, author))
        )
    return done


Subscriptions.update = update
