"""A status is turned back 20 ms after the change of it was acknowledged."""

import asyncio
from typing import Any

from feedkeep.service.subscriptions import Subscriptions

_update = Subscriptions.update


async def update(self: Subscriptions, *what: Any, **change: Any) -> Any:
    done = await _update(self, *what, **change)
    if change.get("is_subscribed") is not None:
        back = not change["is_subscribed"]
        asyncio.get_running_loop().call_later(
            0.02, lambda: asyncio.ensure_future(_update(self, *what, is_subscribed=back))
        )
    return done


Subscriptions.update = update
