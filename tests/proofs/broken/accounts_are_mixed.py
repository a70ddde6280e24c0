"""A guid finds what any account has under it."""

from feedkeep.model import AccountId, Found, Guid
from feedkeep.store.sqlite import SqliteStore

_find_token = SqliteStore.find_token


async def find_token(
    self: SqliteStore, account_id: AccountId, token_hash: bytes, guid: Guid | None = None
) -> Found | None:
    found = await _find_token(self, account_id, token_hash, guid)
    for account in await self.accounts() if found and guid else ():
        if found and guid and (view := await self.view(account.id, guid)):
            return Found(found.account, found.token, view)
    return found


SqliteStore.find_token = find_token
