"""Copying all data from one store to another, with verification."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import msgspec

from feedkeep.model import AccountId, Records
from feedkeep.model.errors import StoreUnusable
from feedkeep.store.base import Archive, Store
from feedkeep.store.kinds import kind_of

Advance = Callable[[int], None]
"""Called with the number of further records that were processed."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """The number of one account's records of one kind, and a hash of them."""

    account_id: AccountId
    kind: str
    count: int
    sha256: str


async def copy(archive: Archive, target: Store, advance: Advance) -> dict[str, int]:
    """Copy all data into an empty store and verify it; return the number of records by kind.

    Raises:
        StoreUnusable: The target is not empty, or a record would differ there. Nothing is stored.
    """
    counts: dict[str, int] = {}

    async def compare(copied: Archive) -> None:
        ours, theirs = checksums(archive.records(), advance), checksums(copied.records())
        async for wanted in ours:
            _compare(wanted, await anext(theirs, None))
            counts[wanted.kind] = counts.get(wanted.kind, 0) + wanted.count
        _compare(None, await anext(theirs, None))

    await target.fill(_advancing(archive.records(), advance), compare)
    return counts


async def checksums(
    records: AsyncIterator[Records], advance: Advance = lambda _: None
) -> AsyncIterator[Checksum]:
    """Yield a checksum for each account and kind, in the order of the records."""
    encoder = msgspec.msgpack.Encoder()
    account_id, kind, count, digest = AccountId(0), "", 0, hashlib.sha256()
    async for chunk in records:
        for owner, record in chunk:
            name = kind_of(record).name
            if (owner, name) != (account_id, kind):
                if count:
                    yield Checksum(account_id, kind, count, digest.hexdigest())
                account_id, kind, count, digest = owner, name, 0, hashlib.sha256()
            count += 1
            digest.update(encoder.encode(record))
        advance(len(chunk))
    if count:
        yield Checksum(account_id, kind, count, digest.hexdigest())


async def _advancing(records: AsyncIterator[Records], advance: Advance) -> AsyncIterator[Records]:
    async for chunk in records:
        yield chunk
        advance(len(chunk))


def _compare(wanted: Checksum | None, found: Checksum | None) -> None:
    if wanted != found:
        raise StoreUnusable(
            f"The copy differs from its source: {_description(wanted)} became"
            f" {_description(found)}. Nothing was stored; the target is still empty."
        )


def _description(checksum: Checksum | None) -> str:
    if checksum is None:
        return "nothing"
    return (
        f"{checksum.count:,} {checksum.kind} of account {checksum.account_id}"
        f" (checksum {checksum.sha256[:12]})"
    )
