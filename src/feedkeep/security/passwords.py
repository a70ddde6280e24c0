"""Hash and verify passwords in a few threads, with every attempt counted."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from feedkeep.model import T
from feedkeep.runtime.processors import count_processors
from feedkeep.security import argon2id
from feedkeep.security.address_queue import AddressQueue
from feedkeep.security.throttle import Throttle, network_of

AT_ONCE = 4
"""Maximum number of concurrent hashes of all workers; each needs 64 MiB."""

MAX_REMEMBERED = 10_000

_LESS_URGENT_BY = 5
"""Niceness of hashing threads: a third of the processor share of threads that answer requests."""

_SETTING = ""
"""Queue address of everyone who sets a password: together they count as one address."""


class Passwords:
    """Computes and verifies password hashes; caches successful verifications.

    A verified password is cached in memory, as a keyed hash, with the stored hash that it matched.
    The entry is valid while the account has that stored hash (C2.8, C2.9).

    Args:
        throttle: Counts the attempts.
        workers: Number of processes that share the processors and the memory.
    """

    def __init__(self, throttle: Throttle, workers: int = 1) -> None:
        at_once = hashed_at_once(count_processors(), workers)
        self._throttle = throttle
        self._queue = AddressQueue(at_once)
        self._threads = ThreadPoolExecutor(at_once, "argon2", initializer=_give_way)
        self._key = secrets.token_bytes(32)
        self._remembered: OrderedDict[bytes, str] = OrderedDict()
        self._checking: dict[tuple[bytes, str | None], asyncio.Future[bool]] = {}

    async def hash(self, password: str) -> str:
        """Return the argon2id hash of a password in PHC form.

        Raises:
            TooManyAttempts: Too many passwords wait to be hashed or checked.
        """
        async with self._queue.turn(_SETTING):
            return await self._computed(partial(argon2id.new_hash, password))

    async def renewed(self, password: str, stored_hash: str) -> str:
        """Rehash a password with the current cost while no login waits; raises as `hash`."""
        async with self._queue.turn(_SETTING, is_login=False):
            return await self._computed(partial(argon2id.renewed, stored_hash, password))

    async def hash_if_right(
        self, password: str, name_key: str, address: str, *, is_right: bool
    ) -> str | None:
        """Hash a password if `is_right`; otherwise count a wrong attempt and return None.

        Both cases take the same time.

        Raises:
            TooManyAttempts: There were too many wrong attempts, or too many passwords wait.
        """

        def compute() -> str | None:
            hashed = argon2id.new_hash(password)
            return hashed if is_right else None

        self._throttle.check(name_key, address, time.monotonic())
        return await self._attempt(name_key, address, compute)

    def remembers(self, name_key: str, password: str, stored_hash: str | None) -> bool:
        """Whether a successful check of this password against this hash is cached."""
        found = self._remembered.get(self._fingerprint(name_key, password))
        if found is None or stored_hash is None:
            return False
        return hmac.compare_digest(found, stored_hash)

    def remember(self, name_key: str, password: str, stored_hash: str) -> None:
        self._remember(self._fingerprint(name_key, password), stored_hash)

    async def verify(
        self,
        name_key: str,
        password: str,
        stored_hash: str | None,
        counted_key: str,
        address: str,
    ) -> bool:
        """Verify a password with exactly one computation, even without a stored hash.

        The attempt counts for `counted_key` and `address` before it is computed. Concurrent
        requests with the same password share the computation and count as one attempt (C2.20), even
        if the first caller is cancelled.

        Raises:
            TooManyAttempts: There were too many wrong attempts, or too many passwords wait.
        """
        shown = (self._fingerprint(name_key, password), stored_hash)
        check = self._checking.get(shown)
        if check is None:
            self._throttle.check(counted_key, address, time.monotonic())
            check = asyncio.ensure_future(self._check(shown, password, counted_key, address))
            self._checking[shown] = check
            check.add_done_callback(lambda _: self._checking.pop(shown))
        return await asyncio.shield(check)  # others may await it when this caller is cancelled

    def close(self) -> None:
        self._threads.shutdown()

    async def _check(
        self, shown: tuple[bytes, str | None], password: str, counted_key: str, address: str
    ) -> bool:
        fingerprint, stored_hash = shown
        # A fast reply would reveal that the account does not exist or has no password (C2.13).
        candidate = stored_hash or argon2id.decoy_hash()

        def compute() -> str | None:
            return stored_hash if argon2id.matches(candidate, password) else None

        found = await self._attempt(counted_key, address, compute)
        if found is not None:
            self._remember(fingerprint, found)
        return found is not None

    async def _attempt(
        self, name_key: str, address: str, compute: Callable[[], str | None]
    ) -> str | None:
        """Count an attempt, then return the result of `compute`: None for a wrong attempt.

        While pending attempts fill a limit, this waits until one of them is settled.
        """
        while True:
            async with self._queue.turn(network_of(address)):
                attempt = self._throttle.begin(name_key, address, time.monotonic())
                if attempt is not None:
                    found = None
                    try:
                        found = await self._computed(compute)
                    finally:
                        self._throttle.settle(attempt, is_right=found is not None)
                    return found
            await self._throttle.one_is_settled()

    async def _computed(self, compute: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, compute)

    def _remember(self, fingerprint: bytes, stored_hash: str) -> None:
        self._remembered[fingerprint] = stored_hash
        self._remembered.move_to_end(fingerprint)
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)

    def _fingerprint(self, name_key: str, password: str) -> bytes:
        message = f"{name_key}\0{password}".encode()
        return hmac.digest(self._key, message, hashlib.sha256)


def hashed_at_once(processors: int, workers: int) -> int:
    """Return the number of concurrent hashes for each of `workers` processes.

    Together they leave half of the processors to other requests.
    """
    return max(1, min(AT_ONCE, processors // 2) // workers)


def _give_way() -> None:
    """Lower this thread's priority, on Linux, where `nice` applies to the calling thread only."""
    if sys.platform == "linux":
        # Sandboxes may refuse it; hashes then compete with requests, but logins work.
        with suppress(OSError):
            os.nice(_LESS_URGENT_BY)
