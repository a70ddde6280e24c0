"""Messages between the serving process and the fetcher process, over pipes."""

from __future__ import annotations

import asyncio
import struct
from enum import StrEnum

import msgspec

from feedkeep.model import Feed, FetchResult, Stamp, Value

MAX_FRAME_BYTES = 4 * 1024 * 1024
"""Far more than any feed or result needs; a larger length means a broken pipe."""

_LENGTH = struct.Struct("!I")


class FetchJob(Value, frozen=True):
    """Request to fetch a feed.

    Attributes:
        number: Number that the report repeats.
        feed: Stored record of the feed.
        now: Current time.
        is_brief: Whether to fetch only the beginning of the feed, and not its picture.
    """

    number: int
    feed: Feed
    now: Stamp
    is_brief: bool = False


class Lack(StrEnum):
    """Resource that the fetcher process lacked."""

    MEMORY = "memory"
    FILES = "files"


class Report(Value, frozen=True):
    """Result of a fetch job.

    Attributes:
        number: Number of the job.
        looked: Result of the fetch, or the missing resource.
    """

    number: int
    looked: FetchResult | Lack


_ENCODER = msgspec.msgpack.Encoder()


def write_frame(message: FetchJob | Report) -> bytes:
    body = _ENCODER.encode(message)
    return _LENGTH.pack(len(body)) + body


async def read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next message; None after the end of the pipe, or if it is broken."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > MAX_FRAME_BYTES:
            return None
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
