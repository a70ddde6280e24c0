"""Hashing and checking passwords with argon2id, off the event loop and a few at a time."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from argon2.low_level import ARGON2_VERSION

from feedkeep.errors import TooManyAttempts

AT_ONCE = 4
"""How many hashes all workers compute at the same time; each takes 64 MiB meanwhile."""

MAX_WAITING = 128
"""How many passwords may wait to be checked; at a tenth of a second each, a few seconds' worth."""

RETRY_AFTER_SECONDS = 5
MAX_REMEMBERED = 10_000

_HASHER = PasswordHasher(time_cost=3, memory_cost=64 * 1024, parallelism=4)


def _nobodys_hash() -> str:
    """Return a well-formed hash that no password matches, without computing one, which is slow."""
    salt, digest = (
        base64.b64encode(secrets.token_bytes(size)).decode().rstrip("=")
        for size in (_HASHER.salt_len, _HASHER.hash_len)
    )
    cost = f"m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${cost}${salt}${digest}"


# Checked where there is no stored hash, so that it takes the same time.
_NOBODYS_HASH = _nobodys_hash()


class Passwords:
    """Computes and checks hashes, and remembers which passwords were right.

    A right password is remembered under a keyed hash, with the stored hash that it matched, in
    memory only. It is valid as long as the account has that stored hash (contract, section 2).
    """

    def __init__(self, workers: int = 1) -> None:
        # Strangers decide how many logins come at once; 64 MiB for each would take all memory.
        at_once = max(1, AT_ONCE // workers)
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="argon2")
        self._key = secrets.token_bytes(32)
        self._remembered: OrderedDict[bytes, str] = OrderedDict()
        self._checking: dict[tuple[bytes, str | None], asyncio.Future[bool]] = {}

    async def hash(self, password: str) -> str:
        """Return the argon2id hash of a password in PHC form."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _HASHER.hash, password)

    def remembers(self, name_key: str, password: str, stored_hash: str | None) -> bool:
        """Say whether this password was checked against this very hash, and was right."""
        found = self._remembered.get(self._fingerprint(name_key, password))
        if found is None or stored_hash is None:
            return False
        return hmac.compare_digest(found, stored_hash)

    async def verify(
        self,
        name_key: str,
        password: str,
        stored_hash: str | None,
        count_attempt: Callable[[], Callable[[], None]],
    ) -> bool:
        """Check a password with exactly one computation, even if there is no hash to match.

        Requests that send the same password at the same time share the computation, and count as
        one attempt. `count_attempt` is called before it; it returns a function that is called if
        the password was right.

        Raises:
            TooManyAttempts: `count_attempt` raised it, or too many passwords wait to be checked.
        """
        shown = (self._fingerprint(name_key, password), stored_hash)
        check = self._checking.get(shown)
        if check is None:
            if len(self._checking) >= MAX_WAITING:
                raise TooManyAttempts(RETRY_AFTER_SECONDS)
            check = asyncio.ensure_future(self._check(shown, password, count_attempt))
            self._checking[shown] = check
            check.add_done_callback(lambda _: self._checking.pop(shown))
        return await asyncio.shield(check)  # others may wait for it when this caller goes

    async def _check(
        self,
        shown: tuple[bytes, str | None],
        password: str,
        count_attempt: Callable[[], Callable[[], None]],
    ) -> bool:
        fingerprint, stored_hash = shown
        forgive = count_attempt()
        loop = asyncio.get_running_loop()
        # A quick reply would tell strangers that a name is unknown, or has no password.
        candidate = stored_hash or _NOBODYS_HASH
        is_right = await loop.run_in_executor(self._threads, _matches, candidate, password)
        if not is_right or stored_hash is None:
            return False
        forgive()
        self._remember(fingerprint, stored_hash)
        return True

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown()

    def _remember(self, fingerprint: bytes, stored_hash: str) -> None:
        self._remembered[fingerprint] = stored_hash
        self._remembered.move_to_end(fingerprint)
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)

    def _fingerprint(self, name_key: str, password: str) -> bytes:
        message = f"{name_key}\0{password}".encode()
        return hmac.digest(self._key, message, hashlib.sha256)


def _matches(stored_hash: str, password: str) -> bool:
    try:
        return _HASHER.verify(stored_hash, password)
    except VerifyMismatchError:  # any other error is the server's, not a wrong password
        return False
