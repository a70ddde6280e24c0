"""A guid finds what any account has under it."""

from feedkeep.model import AccountId, Found, Guid
from feedkeep.runtime import wall_clock
from feedkeep.store.sqlite.accounts import SqliteAccounts
from feedkeep.store.sqlite.entries import SqliteEntries
from feedkeep.store.sqlite.tokens import SqliteTokens

_find = SqliteTokens.find


async def find(
    self: SqliteTokens, account_id: AccountId, token_hash: bytes, guid: Guid | None = None
) -> Found | None:
    found = await _find(self, account_id, token_hash, guid)
    accounts, entries = SqliteAccounts(self._runner), SqliteEntries(self._runner, wall_clock.now)
    for account in await accounts.by_id(AccountId(0), 1_000) if found and guid else ():
        if found and guid and (view := await entries.view(account.id, guid)):
            return Found(found.account, found.token, view)
    return found


SqliteTokens.find = find
