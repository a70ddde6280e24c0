"""Compute and verify argon2id password hashes in PHC form.

Each hash is computed by a single thread, and so occupies one processor. Its number of lanes
(earlier versions used four) does not affect the time.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from collections.abc import Iterator

from argon2.exceptions import HashingError, InvalidHashError
from argon2.low_level import ARGON2_VERSION, Type, core, error_to_str, ffi, hash_secret

from feedkeep.model import Value
from feedkeep.model.errors import AccountError


class Cost(Value, frozen=True):
    """Cost of a hash: memory in KiB, passes over it, and lanes."""

    memory_kib: int
    passes: int
    lanes: int


OURS = Cost(64 * 1024, 3, 1)
"""Cost of new hashes (SECURITY.md)."""

_MOST_KIB, _MOST_KIB_TIMES_PASSES, _MOST_LANES = 128 * 1024, 2 * 64 * 1024 * 3, 8
"""Maximum cost of imported hashes: twice the memory and time of ours."""

_SALT_BYTES, _DIGEST_BYTES, _MIN_KIB = 16, 32, 8

_PHC = re.compile(
    r"\$argon2id\$v=19\$m=([1-9][0-9]{0,6}),t=([1-9][0-9]{0,2}),p=([1-9][0-9]?)"
    r"\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{16,86})"
)


def new_hash(password: str, salt: bytes | None = None) -> str:
    """Hash a password (C2.7), with a new salt by default."""
    salt = salt or secrets.token_bytes(_SALT_BYTES)
    cost = (OURS.passes, OURS.memory_kib, OURS.lanes, _DIGEST_BYTES)
    return hash_secret(password.encode(), salt, *cost, Type.ID).decode()


def matches(stored_hash: str, password: str) -> bool:
    """Whether the password has this hash; takes as long as for a hash of ours.

    Raises:
        InvalidHashError: The hash is damaged.
    """
    cost, salt, digest = _read(stored_hash)
    found = _digest(cost, salt, password, len(digest))
    for more in padding(cost):
        _digest(more, salt, password, len(digest))
    return hmac.compare_digest(found, digest)


def padding(cost: Cost) -> Iterator[Cost]:
    """Yield computations that bring checking a cheaper hash up to the cost of ours.

    Together with the hash, they fill an equal amount of memory and make an equal number of passes.
    Nothing is yielded for a hash that costs more.
    """
    missing = OURS.memory_kib * OURS.passes - cost.memory_kib * cost.passes
    if missing <= 0:
        return
    # With little memory left to fill, a few KiB would need thousands of passes.
    memory_kib = max(OURS.memory_kib - cost.memory_kib, OURS.memory_kib // _MIN_KIB)
    passes, once_more_kib = divmod(missing, memory_kib)
    for kib, times in ((memory_kib - once_more_kib, passes), (once_more_kib, passes + 1)):
        if kib >= _MIN_KIB and times:
            yield Cost(kib, times, 1)


def is_outdated(stored_hash: str) -> bool:
    cost, *_ = _read(stored_hash)
    return cost != OURS


def renewed(stored_hash: str, password: str) -> str:
    """Rehash the password with the current cost and the same salt."""
    _, salt, _ = _read(stored_hash)
    return new_hash(password, salt)


def decoy_hash() -> str:
    """Return a well-formed random hash, without the slow computation; no password matches it."""
    salt, digest = map(_base64, map(secrets.token_bytes, (_SALT_BYTES, _DIGEST_BYTES)))
    cost = f"m={OURS.memory_kib},t={OURS.passes},p={OURS.lanes}"
    return f"$argon2id$v={ARGON2_VERSION}${cost}${salt}${digest}"


def check_hash(text: str) -> str:
    """Return an imported argon2id hash if passwords can be checked against it.

    Raises:
        AccountError: The hash is not in PHC form, or a check would need more than twice the memory
            or
        time of our own hashes.
    """
    try:
        cost, *_ = _read(text)
    except InvalidHashError:
        raise AccountError(
            "A password_hash has to be an argon2id hash in PHC form: $argon2id$v=19$m=..."
        ) from None
    if (
        not _MIN_KIB * cost.lanes <= cost.memory_kib <= _MOST_KIB
        or cost.memory_kib * cost.passes > _MOST_KIB_TIMES_PASSES
        or cost.lanes > _MOST_LANES
    ):
        raise AccountError(
            "That password_hash takes too much memory or time to check: m=131072, p=8 and m times"
            " t=393216 are the limits, and m is at least 8 times p."
        )
    return text


def _read(stored_hash: str) -> tuple[Cost, bytes, bytes]:
    found = _PHC.fullmatch(stored_hash)
    if found is None:
        raise InvalidHashError
    memory_kib, passes, lanes, *texts = found.groups()
    salt, digest = map(_from_base64, texts)
    return Cost(int(memory_kib), int(passes), int(lanes)), salt, digest


def _base64(raw: bytes) -> str:
    # Without padding, as argon2's own program writes it.
    return base64.b64encode(raw).decode().rstrip("=")


def _from_base64(text: str) -> bytes:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise InvalidHashError from None
    if _base64(raw) != text:  # bits are left over
        raise InvalidHashError
    return raw


def _digest(cost: Cost, salt: bytes, password: str, size_bytes: int) -> bytes:
    """Compute a digest on this thread, whatever the number of lanes.

    The functions of `argon2-cffi` start a thread for each lane, so this calls its C function.
    """
    secret = password.encode()
    digest, own_secret, own_salt = (
        ffi.new("uint8_t[]", raw) for raw in (bytes(size_bytes), secret, salt)
    )
    context = {  # missing fields are 0 or NULL
        "out": digest,
        "outlen": size_bytes,
        "pwd": own_secret,
        "pwdlen": len(secret),
        "salt": own_salt,
        "saltlen": len(salt),
        "m_cost": cost.memory_kib,
        "t_cost": cost.passes,
        "lanes": cost.lanes,
        "threads": 1,
        "version": ARGON2_VERSION,
    }
    status = core(ffi.new("argon2_context *", context), Type.ID.value)
    if status != 0:
        raise HashingError(error_to_str(status))
    return bytes(ffi.buffer(digest, size_bytes))
