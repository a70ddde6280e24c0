"""Setting the status turns it over, so that doing so twice is not doing it once."""

from typing import Any

from feedkeep.model import AccountId, Author, Guid
from feedkeep.service.subscriptions import Subscriptions

_update = Subscriptions.update


async def update(
    self: Subscriptions, account_id: AccountId, guid: str, by: Author, **change: Any
) -> Any:
    if change.get("is_subscribed") is not None:
        view = await self._store.entries.view(account_id, Guid(guid))
        change["is_subscribed"] = view is not None and not view.subscription.is_subscribed
    return await _update(self, account_id, guid, by, **change)


Subscriptions.update = update
