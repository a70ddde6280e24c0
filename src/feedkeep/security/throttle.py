"""Limits on wrong passwords, and on requests that other servers refuse, by account and address."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import math
import time
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias
from weakref import WeakSet

from feedkeep.model import AccountId
from feedkeep.model.errors import TooManyAttempts

WINDOW_SECONDS = 300
"""Period in which at most `limit` attempts are allowed."""

KEPT_SECONDS = 12 * WINDOW_SECONDS
"""Age at which an attempt is dropped, even if its delay is not over (C2.19)."""


def wait_seconds(counted: Iterable[Iterable[float]], limit: int, now_seconds: float) -> float:
    """Return the delay in seconds until the next attempt; 0 for none.

    `counted` holds the times of earlier attempts, by process. Processes share their counts with
    some lag, so together they may allow too many. Attempts beyond the limit count from when they
    would have been allowed: an attacker who got more from several processes at once waits for it
    later, and in the long run gets as many as from one process (C2.19).
    """
    since = now_seconds - KEPT_SECONDS
    times = sorted(at for some in counted for at in some if at > since)
    if len(times) < limit:
        return 0
    forgotten_seconds = times[-limit] + KEPT_SECONDS
    _date_to_when_allowed(times, limit)
    return max(0.0, min(times[-limit] + WINDOW_SECONDS, forgotten_seconds) - now_seconds)


def with_attempt(
    own: Sequence[float], others: Iterable[Iterable[float]], limit: int, now_seconds: float
) -> Sequence[float]:
    """Return a process's own attempts, with one added; the last ones, in order.

    At most `limit` are kept. They are dated to when they would have been allowed if all attempts of
    other processes came first, so that dropping the rest gives an attacker no further attempts.
    """
    since = now_seconds - KEPT_SECONDS
    known = [(at, False) for some in others for at in some if at > since]
    known += [(at, True) for at in own if at > since]
    known.sort()
    known.append((now_seconds, True))
    times = [at for at, _ in known]
    _date_to_when_allowed(times, limit)
    return [at for at, (_, is_own) in zip(times, known, strict=True) if is_own][-limit:]


def _date_to_when_allowed(times: list[float], limit: int) -> None:
    for place in range(limit, len(times)):
        times[place] = max(times[place], times[place - limit] + WINDOW_SECONDS)


# Against one machine that guesses one password, one that tries many accounts, and many machines
# that guess the password of one account (C2.15).
PER_ACCOUNT_AND_ADDRESS = 10
PER_ADDRESS = 50
PER_ACCOUNT = 100
SIGN_UPS_PER_ADDRESS = 10
"""Maximum number of sign-up attempts of an address while registration is open."""

CODES_PER_ADDRESS = 20
"""Maximum number of codes of an address that the sign-in provider may refuse."""

REMOTE_PER_ACCOUNT = REMOTE_PER_ADDRESS = 10
REMOTE_PER_SERVER = 100
"""Maximum number of passwords that another server may refuse when people move in from it."""

MAX_KEYS = 20_000
"""Maximum number of names and addresses watched; the longest quiet are dropped.

They need less than 24 MB, however long the names in requests are: a name is stored as 16 bytes, and
has at most 100 times of 8 bytes. The counts of other processes need less than 28 MB more.
"""

_KEY_BYTES = 16
_NONE = array("d")

Limits: TypeAlias = Sequence[tuple[bytes, int]]
"""Keys that an attempt counts for, each with its maximum number of attempts."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Attempt:
    """Pending attempt; counts as wrong until settled."""

    limits: Limits
    at_seconds: float


class Throttle:
    """Counts wrong passwords in memory, beside the counts of other processes.

    All times are of a monotonic clock.

    Attributes:
        has_news: Set while some counts are not shared with other processes.
    """

    def __init__(self) -> None:
        self._attempts: OrderedDict[bytes, array[float]] = OrderedDict()
        self._others: OrderedDict[bytes, dict[int, array[float]]] = OrderedDict()
        self._others_count = 0
        self._checking: WeakSet[Attempt] = WeakSet()
        self._unshared: dict[bytes, None] = {}
        self._last_seconds = -math.inf
        self.has_unshared = asyncio.Event()
        self._settling = asyncio.Event()

    def check(self, name_key: str, address: str, now_seconds: float) -> None:
        """Raise if an attempt is not allowed, whatever the outcome of pending attempts.

        Raises:
            TooManyAttempts: A limit is reached.
        """
        self._check(_limits(name_key, address), now_seconds, self._checking)

    def begin(self, name_key: str, address: str, now_seconds: float) -> Attempt | None:
        """Count an attempt before it is verified, so that concurrent attempts are limited.

        Returns None, and counts nothing, if pending attempts fill a limit (C2.22); retry after
        `one_is_settled`.

        Raises:
            TooManyAttempts: A limit is reached; this attempt is not counted.
        """
        self.check(name_key, address, now_seconds)
        limits = _limits(name_key, address)
        if self._wait_seconds(limits, now_seconds, ()) > 0:
            return None
        return self._count(limits, now_seconds)

    async def one_is_settled(self) -> None:
        await self._settling.wait()

    def settle(self, attempt: Attempt, *, is_right: bool) -> None:
        """Settle an attempt: keep a wrong one for sharing; drop a right or unverified one."""
        self._checking.discard(attempt)
        self._settling.set()
        self._settling = asyncio.Event()
        if not is_right:
            self._last_seconds = max(self._last_seconds, attempt.at_seconds)
            self._tell(key for key, _ in attempt.limits)
            return
        for key, _ in attempt.limits:
            # If many others came during the check, the attempt may have been dropped or dated
            # later. A later one stays: better to count one too many than one of a guesser's too
            # few.
            times = self._attempts.get(key, _NONE)
            _take_out(times, key, [attempt])
            if not times:
                self._forget(key)

    def begin_by(self, limits: Limits, now_seconds: float) -> Attempt:
        """Count an attempt other than a login by its own limits; raises as `check`."""
        self._check(limits, now_seconds, ())
        return self._count(limits, now_seconds)

    def take_unshared(self, limit: int) -> dict[bytes, array[float]]:
        """Remove and return the unshared attempt times of up to `limit` keys.

        Pending attempts are excluded. The caller shares them, or calls `return_unshared`.
        """
        keys = list(islice(self._unshared, limit))
        for key in keys:
            del self._unshared[key]
        told = {key: array("d", self._attempts[key]) for key in keys}
        for key, times in told.items():
            _take_out(times, key, self._checking)
        if not self._unshared:
            self.has_unshared.clear()
        return told

    def return_unshared(self, keys: Iterable[bytes]) -> None:
        """Mark keys returned by `take_unshared` as unshared again."""
        self._tell(keys)

    def learn(self, key: bytes, process: int, times: array[float]) -> None:
        """Replace the counts of another process for a key; `times` is sorted and not empty."""
        of_key = self._others.setdefault(key, {})
        self._others_count += process not in of_key
        of_key[process] = times
        self._others.move_to_end(key)
        self._last_seconds = max(self._last_seconds, times[-1])
        while self._others_count > MAX_KEYS:
            self._others_count -= len(self._others.popitem(last=False)[1])

    def is_quiet(self, now_seconds: float) -> bool:
        return self._last_seconds + WINDOW_SECONDS <= now_seconds

    def _check(self, limits: Limits, now_seconds: float, left_out: Iterable[Attempt]) -> None:
        self._forget_what_is_over(now_seconds)
        wait = self._wait_seconds(limits, now_seconds, left_out)
        if wait > 0:
            raise TooManyAttempts(math.ceil(wait))

    def _count(self, limits: Limits, now_seconds: float) -> Attempt:
        for key, limit in limits:
            own, others = self._attempts.get(key, _NONE), self._others.get(key, {})
            times = with_attempt(own, others.values(), limit, now_seconds)
            self._attempts[key] = array("d", times)
            self._attempts.move_to_end(key)
        while len(self._attempts) > MAX_KEYS:
            self._forget(next(iter(self._attempts)))
        attempt = Attempt(limits, now_seconds)
        self._checking.add(attempt)
        return attempt

    def _wait_seconds(
        self, limits: Limits, now_seconds: float, left_out: Iterable[Attempt]
    ) -> float:
        """Return the delay of an attempt, without counting `left_out`."""
        longest = 0.0
        for key, limit in limits:
            own, others = array("d", self._attempts.get(key, _NONE)), self._others.get(key, {})
            _take_out(own, key, left_out)
            longest = max(longest, wait_seconds((own, *others.values()), limit, now_seconds))
        return longest

    def _tell(self, keys: Iterable[bytes]) -> None:
        # Dropped keys are not shared.
        self._unshared.update((key, None) for key in keys if key in self._attempts)
        if self._unshared:
            self.has_unshared.set()

    def _forget(self, key: bytes) -> None:
        self._attempts.pop(key, None)
        self._unshared.pop(key, None)

    def _forget_what_is_over(self, now_seconds: float) -> None:
        since = now_seconds - KEPT_SECONDS
        while self._attempts:
            key, times = next(iter(self._attempts.items()))  # quiet for longest
            if times[-1] > since:
                break
            self._forget(key)
        while self._others:
            key, of_key = next(iter(self._others.items()))
            if any(times[-1] > since for times in of_key.values()):
                break
            self._others_count -= len(self._others.pop(key))


def sign_up_limits(address: str) -> Limits:
    return [(_key("sign-up", network_of(address)), SIGN_UPS_PER_ADDRESS)]


def provider_limits(address: str) -> Limits:
    return [(_key("provider", network_of(address)), CODES_PER_ADDRESS)]


def remote_limits(account_id: AccountId, address: str, host: str) -> Limits:
    return [
        (_key("remote account", str(account_id)), REMOTE_PER_ACCOUNT),
        (_key("remote address", network_of(address)), REMOTE_PER_ADDRESS),
        (_key("remote server", host), REMOTE_PER_SERVER),
    ]


def _limits(name_key: str, address: str) -> Limits:
    network = network_of(address)
    return (
        (_key("both", name_key, network), PER_ACCOUNT_AND_ADDRESS),
        (_key("address", network), PER_ADDRESS),
        (_key("account", name_key), PER_ACCOUNT),
    )


def _take_out(times: array[float], key: bytes, attempts: Iterable[Attempt]) -> None:
    """Remove the attempts counted for a key, except those that have been dated later."""
    for attempt in attempts:
        if any(key == one for one, _ in attempt.limits) and attempt.at_seconds in times:
            times.remove(attempt.at_seconds)


def _key(*parts: str) -> bytes:
    """Return a fixed-size hash of a name, an address or both, the same in every process.

    It is not keyed: the processes share only the database, where a key would lie beside what it
    hides. An attacker who reads the database can try names and addresses.
    """
    text = "\0".join(parts).encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=_KEY_BYTES, person=b"feedkeep attempt").digest()


def network_of(address: str) -> str:
    """Return the network of one client: an IPv4 address or an IPv6 /64 (C2.16)."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    # A client with one of these addresses has 2**64, and could use another for each guess.
    return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))


class Refusals:
    """Counts refusals by their own limits, separate from wrong passwords of this service."""

    def __init__(self, throttle: Throttle) -> None:
        self._throttle = throttle

    @contextmanager
    def counted(self, limits: Limits, refusal: type[Exception]) -> Iterator[None]:
        """Context manager: count the request if it ends with a `refusal`.

        Raises:
            TooManyAttempts: A limit is reached; the request must not be sent.
        """
        attempt, is_refused = self._throttle.begin_by(limits, time.monotonic()), False
        try:
            yield
        except refusal:
            is_refused = True
            raise
        finally:
            self._throttle.settle(attempt, is_right=not is_refused)
