"""A read is answered with what was read up to 20 ms before it came."""

import time

from feedkeep.model import AccountId, Found, Guid
from feedkeep.store.postgres.tokens import PostgresTokens

_find = PostgresTokens.find
_seen: dict[object, tuple[float, Found | None]] = {}


async def find(
    self: PostgresTokens, account_id: AccountId, token_hash: bytes, guid: Guid | None = None
) -> Found | None:
    key = (account_id, token_hash, guid)
    when, found = _seen.get(key, (0.0, None))
    if time.monotonic() - when > 0.02:
        asked = time.monotonic()
        found = await _find(self, account_id, token_hash, guid)
        _seen[key] = asked, found
    return found


PostgresTokens.find = find
