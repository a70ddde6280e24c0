"""Making tokens and account ids from the system's randomness."""

from __future__ import annotations

import secrets

from feedkeep.model import AccountId
from feedkeep.rules.credentials import MAX_ACCOUNT_ID, SECRET_BYTES, SESSION_PREFIX, write_token


def new_token(account_id: AccountId) -> str:
    """Return the text of a token that nobody has seen; only its hash is to be kept."""
    return write_token(account_id, secrets.token_bytes(SECRET_BYTES))


def new_session(account_id: AccountId) -> str:
    """Return the text of a session that nobody has seen; only its hash is to be kept."""
    return write_token(account_id, secrets.token_bytes(SECRET_BYTES), SESSION_PREFIX)


def new_account_id() -> AccountId:
    """Return a random id: 63 bits, so that accounts spread over machines and cannot be counted."""
    return AccountId(secrets.randbelow(MAX_ACCOUNT_ID) + 1)
