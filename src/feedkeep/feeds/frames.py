"""What the serving process and the one that looks at feeds say to each other, over pipes."""

from __future__ import annotations

import asyncio
import struct
from enum import StrEnum

import msgspec

from feedkeep.model import Feed, FetchResult, Stamp, Value

MAX_FRAME_BYTES = 4 * 1024 * 1024
"""No feed and no look is nearly as large; what claims to be is a broken pipe."""

_LENGTH = struct.Struct("!I")


class FetchJob(Value, frozen=True):
    """A feed to look at.

    Attributes:
        number: What the answer is matched by.
        feed: What is known of it.
        now: The present moment.
    """

    number: int
    feed: Feed
    now: Stamp


class Lack(StrEnum):
    """What a process did not have enough of to look at a feed."""

    MEMORY = "memory"
    FILES = "files"


class Report(Value, frozen=True):
    """What became of a fetch job.

    Attributes:
        number: That of the job.
        looked: What was found, or what the process lacked.
    """

    number: int
    looked: FetchResult | Lack


_ENCODER = msgspec.msgpack.Encoder()


def write_frame(message: FetchJob | Report) -> bytes:
    """Return a message as it is sent."""
    body = _ENCODER.encode(message)
    return _LENGTH.pack(len(body)) + body


async def read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next message; None if the other side has ended, or sends none of ours."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > MAX_FRAME_BYTES:
            return None
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
