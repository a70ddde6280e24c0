"""Create tokens, ids and shared sessions from the system's randomness."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

from feedkeep.model import AccountId, CredentialKind, DocumentName, Value
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


MAX_REMEMBERED = 10_000
"""Capacity of the cache; the least recently used session is dropped."""


class SharedSession(Value, frozen=True):
    """Session started for a secret.

    Attributes:
        credential_kind: Kind of that secret.
        text: Session secret, which is the cookie.
        hash: Stored hash of the session.
        document: Stored document with the client's sync state.
    """

    account_id: AccountId
    credential_kind: CredentialKind
    text: str
    hash: bytes
    document: DocumentName

    hidden: ClassVar[frozenset[str]] = frozenset({"text", "hash"})


class SharedSessions:
    """In-memory cache of sessions by the secret that was sent, as a keyed hash.

    Kasts keeps no cookies and sends the password with each request; a new session each time would
    be a durable write each time.

    A cached session alone grants no access: the store is checked each time, and the session ends
    with its password or token (contract, section 2).
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._remembered: OrderedDict[bytes, SharedSession] = OrderedDict()
        self._beginning: dict[bytes, asyncio.Future[SharedSession]] = {}

    def mark(self, shown: str, label: str) -> bytes:
        """Return the cache key of a header with a secret and of the app that sends it."""
        message = f"{len(shown)} {shown}{label}"
        return hashlib.blake2b(message.encode(), key=self._key, digest_size=32).digest()

    def find(self, mark: bytes) -> SharedSession | None:
        """Return the newest session for a cache key; None without one."""
        found = self._remembered.get(mark)
        if found is not None:
            self._remembered.move_to_end(mark)
        return found

    def forget(self, mark: bytes, ended: SharedSession) -> None:
        if self._remembered.get(mark) is ended:
            del self._remembered[mark]

    async def begun(
        self, mark: bytes, begin: Callable[[], Coroutine[Any, Any, SharedSession]]
    ) -> SharedSession:
        """Return the session of an authenticated client; concurrent requests share a new one.

        Raises what `begin` raises.
        """
        found = self.find(mark)
        if found is not None:
            return found
        beginning = self._beginning.get(mark)
        if beginning is None:
            beginning = asyncio.ensure_future(self._begin(mark, begin))
            self._beginning[mark] = beginning
            beginning.add_done_callback(lambda _: self._beginning.pop(mark))
        return await asyncio.shield(beginning)

    async def _begin(
        self, mark: bytes, begin: Callable[[], Coroutine[Any, Any, SharedSession]]
    ) -> SharedSession:
        session = self._remembered[mark] = await begin()
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)
        return session
