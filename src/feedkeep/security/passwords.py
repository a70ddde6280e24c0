"""Checking and hashing passwords, off the event loop, a few at a time, each attempt counted."""

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
from feedkeep.security import argon2id
from feedkeep.security.address_queue import AddressQueue
from feedkeep.security.throttle import Throttle, network_of

AT_ONCE = 4
"""How many hashes all workers compute at the same time at most; each takes 64 MiB meanwhile."""

MAX_REMEMBERED = 10_000

_LESS_URGENT_BY = 5
"""A thread that hashes has a third of the share of one that answers requests."""

_SETTING = ""
"""What stands for the address of those who set a password: together they take turns with others."""


class Passwords:
    """Computes and checks hashes, and remembers which passwords were right.

    A right password is remembered under a keyed hash, with the stored hash that it matched, in
    memory only. It is valid as long as the account has that stored hash (C2.8, C2.9).
    """

    def __init__(self, throttle: Throttle, workers: int = 1) -> None:
        """Count attempts at `throttle`; `workers` processes share the processors and the memory."""
        at_once = hashed_at_once(_processors(), workers)
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
        """Return a hash that costs what new ones do, of a password that has an older one.

        It is computed when no login waits. Raises as `hash` does.
        """
        async with self._queue.turn(_SETTING, is_login=False):
            return await self._computed(partial(argon2id.renewed, stored_hash, password))

    async def hash_if_right(
        self, password: str, name_key: str, address: str, *, is_right: bool
    ) -> str | None:
        """Return what `hash` does; None if what came with it was wrong, which counts, as `verify`.

        It takes as long in both cases.

        Raises:
            TooManyAttempts: Too much was wrong, or too many passwords wait.
        """

        def compute() -> str | None:
            hashed = argon2id.new_hash(password)
            return hashed if is_right else None

        self._throttle.check(name_key, address, time.monotonic())
        return await self._attempt(name_key, address, compute)

    def remembers(self, name_key: str, password: str, stored_hash: str | None) -> bool:
        """Say whether this password was checked against this very hash, and was right."""
        found = self._remembered.get(self._fingerprint(name_key, password))
        if found is None or stored_hash is None:
            return False
        return hmac.compare_digest(found, stored_hash)

    def remember(self, name_key: str, password: str, stored_hash: str) -> None:
        """Remember that a password has this hash."""
        self._remember(self._fingerprint(name_key, password), stored_hash)

    async def verify(
        self,
        name_key: str,
        password: str,
        stored_hash: str | None,
        counted_key: str,
        address: str,
    ) -> bool:
        """Check a password with exactly one computation, even if there is no hash to match.

        It is counted by `counted_key` and by the address that it comes from, before it is computed.
        Requests that send the same password at the same time share the computation, and count as
        one attempt (C2.20), also if the caller has gone meanwhile.

        Raises:
            TooManyAttempts: Too many were wrong, or too many passwords wait to be checked.
        """
        shown = (self._fingerprint(name_key, password), stored_hash)
        check = self._checking.get(shown)
        if check is None:
            self._throttle.check(counted_key, address, time.monotonic())
            check = asyncio.ensure_future(self._check(shown, password, counted_key, address))
            self._checking[shown] = check
            check.add_done_callback(lambda _: self._checking.pop(shown))
        return await asyncio.shield(check)  # others may wait for it when this caller goes

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown()

    async def _check(
        self, shown: tuple[bytes, str | None], password: str, counted_key: str, address: str
    ) -> bool:
        fingerprint, stored_hash = shown
        # A quick reply would tell strangers that a name is unknown, or has no password (C2.13).
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
        """Return what `compute` does: None if the attempt was wrong. It is counted before.

        If attempts that are being checked fill a limit, it has its turn after one of these.
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
    """Return how many hashes each of some workers may compute at the same time.

    Together they leave half of the processors to requests that need no hash.
    """
    return max(1, min(AT_ONCE, processors // 2) // workers)


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _give_way() -> None:
    """Let other threads go first, on Linux, where `nice` is about the calling thread alone."""
    if sys.platform == "linux":
        # A sandbox may refuse it. Without it, hashes are as urgent as requests; no login fails.
        with suppress(OSError):
            os.nice(_LESS_URGENT_BY)
