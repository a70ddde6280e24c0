"""Create tokens and account ids from the system's randomness."""

from __future__ import annotations

import secrets

from feedkeep.model import AccountId
from feedkeep.rules.credentials import (
    MAX_ACCOUNT_ID,
    RECOVERY_CHARACTERS,
    RECOVERY_LETTERS,
    SECRET_BYTES,
    TOKEN_PREFIX,
    write_recovery_code,
    write_token,
)


def new_token(account_id: AccountId, prefix: str = TOKEN_PREFIX) -> str:
    """Return the text of a new token, session or link; only its hash may be stored (C2.6)."""
    return write_token(account_id, secrets.token_bytes(SECRET_BYTES), prefix)


def new_recovery_code() -> str:
    """Return a new recovery code in its displayed form; only its hash may be stored."""
    return write_recovery_code(
        "".join(secrets.choice(RECOVERY_LETTERS) for _ in range(RECOVERY_CHARACTERS))
    )


def new_epoch() -> int:
    """Return a random 63-bit number that identifies the state after a restore."""
    return secrets.randbits(63)


def new_account_id() -> AccountId:
    """Return a random 63-bit id: accounts spread over machines and cannot be counted."""
    return AccountId(secrets.randbelow(MAX_ACCOUNT_ID) + 1)
