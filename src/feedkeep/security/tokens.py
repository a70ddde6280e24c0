"""Making tokens and account ids from the system's randomness."""

from __future__ import annotations

import secrets

from feedkeep.model import AccountId
from feedkeep.rules.credentials import MAX_ACCOUNT_ID, SECRET_BYTES, SESSION_PREFIX, write_token


def new_token(account_id: AccountId) -> str:
    """Return the text of a new token; only its hash may be stored."""
    return write_token(account_id, secrets.token_bytes(SECRET_BYTES))


def new_session(account_id: AccountId) -> str:
    """Return the text of a new session; only its hash may be stored."""
    return write_token(account_id, secrets.token_bytes(SECRET_BYTES), SESSION_PREFIX)


def new_account_id() -> AccountId:
    """Return a random id of 63 bits: accounts spread over machines, and cannot be counted."""
    return AccountId(secrets.randbelow(MAX_ACCOUNT_ID) + 1)
