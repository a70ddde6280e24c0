"""Setting the status turns it over, so that doing so twice is not doing it once."""

from typing import Any

from feedkeep.model import AccountId, Guid, replace
from feedkeep.rules.subscriptions import Update
from feedkeep.service.subscriptions import Subscriptions

_update = Subscriptions.update


async def update(
    self: Subscriptions, account_id: AccountId, guid: str, wanted: Update, *more: Any
) -> Any:
    if wanted.is_subscribed is not None:
        view = await self._store.entries.view(account_id, Guid(guid))
        is_subscribed = view is not None and not view.subscription.is_subscribed
        wanted = replace(wanted, is_subscribed=is_subscribed)
    return await _update(self, account_id, guid, wanted, *more)


Subscriptions.update = update
