"""How many wrong passwords may come before the next attempt has to wait (contract, section 2)."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import secrets
from array import array
from collections import OrderedDict
from dataclasses import dataclass

from feedkeep.errors import TooManyAttempts

WINDOW_SECONDS = 300
# Against one machine that guesses one password, one that tries many accounts, and many machines
# that guess the password of one account.
PER_ACCOUNT_AND_ADDRESS = 10
PER_ADDRESS = 50
PER_ACCOUNT = 100
SIGN_UPS_PER_ADDRESS = 10
"""How many people may try to create an account from one address, where everybody may."""

MAX_KEYS = 20_000
"""How many names and addresses are watched; beyond that, those quiet for longest are forgotten.

Together they take less than 24 MB, however long the names in requests are: 16 bytes stand for a
name, and each has at most 100 times of 8 bytes.
"""

_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that is being checked; it counts as a wrong one until it is found right."""

    keys: tuple[tuple[bytes, int], ...]
    at_seconds: float


class Throttle:
    """Counts wrong passwords of the last five minutes, in this process's memory."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(_KEY_BYTES)
        self._attempts: OrderedDict[bytes, array[float]] = OrderedDict()

    def begin(self, name_key: str, address: str, now_seconds: float) -> Attempt:
        """Count an attempt before it is checked, so that many at once cannot slip through.

        `now_seconds` is a clock that never goes back.

        Raises:
            TooManyAttempts: One of the limits is reached; this attempt is not counted.
        """
        network = _network(address)
        return self._count(
            now_seconds,
            (self._key("both", name_key, network), PER_ACCOUNT_AND_ADDRESS),
            (self._key("address", network), PER_ADDRESS),
            (self._key("account", name_key), PER_ACCOUNT),
        )

    def count_sign_up(self, address: str, now_seconds: float) -> None:
        """Count that somebody creates an account, or tries to; raises as `begin` does."""
        key = self._key("sign-up", _network(address))
        self._count(now_seconds, (key, SIGN_UPS_PER_ADDRESS))

    def _count(self, now_seconds: float, *keys: tuple[bytes, int]) -> Attempt:
        self._forget_what_is_over(now_seconds)
        waits = [self._wait_seconds(key, limit, now_seconds) for key, limit in keys]
        if max(waits) > 0:
            raise TooManyAttempts(math.ceil(max(waits)))
        for key, limit in keys:
            times = self._attempts.setdefault(key, array("d"))
            times.append(now_seconds)
            del times[:-limit]  # only the last ones decide
            self._attempts.move_to_end(key)
        while len(self._attempts) > MAX_KEYS:
            self._attempts.popitem(last=False)
        return Attempt(keys, now_seconds)

    def forgive(self, attempt: Attempt) -> None:
        """Take an attempt back: its password was right, or was never checked."""
        for key, _ in attempt.keys:
            # The attempt may be forgotten by now, if many others came while it was checked.
            times = self._attempts.get(key)
            if times is not None and attempt.at_seconds in times:
                times.remove(attempt.at_seconds)
            if not times:
                self._attempts.pop(key, None)

    def _key(self, *parts: str) -> bytes:
        """Return a keyed hash of a name, an address or both: of a fixed size, and not readable."""
        text = "\0".join(parts).encode(errors="surrogatepass")
        return hashlib.blake2b(text, digest_size=_KEY_BYTES, key=self._secret).digest()

    def _wait_seconds(self, key: bytes, limit: int, now_seconds: float) -> float:
        times = self._attempts.get(key, ())
        return times[-limit] + WINDOW_SECONDS - now_seconds if len(times) >= limit else 0

    def _forget_what_is_over(self, now_seconds: float) -> None:
        while self._attempts:
            key, times = next(iter(self._attempts.items()))  # quiet for longest
            if times[-1] + WINDOW_SECONDS > now_seconds:
                break
            del self._attempts[key]


def _network(address: str) -> str:
    """Return the addresses of one client: an IPv4 address, or 64 bits of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    # A client with one of these addresses has 2**64, and could guess from another one each time.
    return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
