"""Hashing and checking passwords with argon2id, off the event loop and a few at a time."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from argon2.low_level import ARGON2_VERSION

from feedkeep.errors import AccountError, TooManyAttempts

AT_ONCE = 4
"""How many hashes all workers compute at the same time; each takes 64 MiB meanwhile."""

MAX_WAITING = 128
"""How many passwords may wait to be hashed or checked; a tenth of a second each: a few seconds."""

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


_PHC = re.compile(
    r"\$argon2id\$v=19\$m=([1-9][0-9]{0,6}),t=([1-9][0-9]{0,2}),p=([1-9][0-9]?)"
    r"\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{16,86})"
)
_MAX_TIMES_OURS = 2


def check_hash(text: str) -> str:
    """Return an argon2id hash that was made elsewhere, if passwords can be checked against it.

    Raises:
        AccountError: It is not in PHC form, or a check would cost more than twice as much memory or
            time as with our own hashes.
    """
    found = _PHC.fullmatch(text)
    if found is None or not all(_is_base64(part) for part in found.groups()[3:]):
        raise AccountError(
            "A password_hash has to be an argon2id hash in PHC form: $argon2id$v=19$m=..."
        )
    memory, passes, lanes = map(int, found.groups()[:3])
    if (
        not 8 * lanes <= memory <= _MAX_TIMES_OURS * _HASHER.memory_cost
        or lanes > _MAX_TIMES_OURS * _HASHER.parallelism
        or memory * passes > _MAX_TIMES_OURS * _HASHER.memory_cost * _HASHER.time_cost
    ):
        raise AccountError(
            "That password_hash takes too much memory or time to check:"
            f" {_MAX_TIMES_OURS} times m={_HASHER.memory_cost},t={_HASHER.time_cost},"
            f"p={_HASHER.parallelism} is the limit, and m is at least 8 times p."
        )
    return text


def _is_base64(text: str) -> bool:
    """Say whether a text is base64 without padding, as argon2's own program reads it."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return False
    return base64.b64encode(raw).decode().rstrip("=") == text  # no bits are left over


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
        self._hashing = 0

    async def hash(self, password: str) -> str:
        """Return the argon2id hash of a password in PHC form.

        Raises:
            TooManyAttempts: Too many passwords wait to be hashed or checked.
        """
        self._check_room()
        self._hashing += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, _HASHER.hash, password)
        finally:
            self._hashing -= 1

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
        count_attempt: Callable[[], Callable[[bool], None]],
    ) -> bool:
        """Check a password with exactly one computation, even if there is no hash to match.

        Requests that send the same password at the same time share the computation, and count as
        one attempt. `count_attempt` is called before it; it returns a function that is told
        afterwards whether the password was right, also if the caller has gone meanwhile.

        Raises:
            TooManyAttempts: `count_attempt` raised it, or too many passwords wait to be checked.
        """
        shown = (self._fingerprint(name_key, password), stored_hash)
        check = self._checking.get(shown)
        if check is None:
            self._check_room()
            check = asyncio.ensure_future(self._check(shown, password, count_attempt))
            self._checking[shown] = check
            check.add_done_callback(lambda _: self._checking.pop(shown))
        return await asyncio.shield(check)  # others may wait for it when this caller goes

    async def _check(
        self,
        shown: tuple[bytes, str | None],
        password: str,
        count_attempt: Callable[[], Callable[[bool], None]],
    ) -> bool:
        fingerprint, stored_hash = shown
        settle = count_attempt()
        loop = asyncio.get_running_loop()
        # A quick reply would tell strangers that a name is unknown, or has no password.
        candidate = stored_hash or _NOBODYS_HASH
        is_right = await loop.run_in_executor(self._threads, _matches, candidate, password)
        if not is_right or stored_hash is None:
            settle(False)
            return False
        settle(True)
        self._remember(fingerprint, stored_hash)
        return True

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown()

    def _check_room(self) -> None:
        if len(self._checking) + self._hashing >= MAX_WAITING:
            raise TooManyAttempts(RETRY_AFTER_SECONDS)

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
