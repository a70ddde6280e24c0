"""What the two processes say to each other."""

import asyncio

import msgspec
import pytest

from feedkeep.feeds.frames import MAX_FRAME_BYTES, Report, read_frame, write_frame
from feedkeep.model import Failure, FetchResult

REPORT = Report(7, FetchResult(failure=Failure.GONE, reason="The host answers 410."))


def read(data: bytes) -> bytes | None:
    async def go() -> bytes | None:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await read_frame(reader)

    return asyncio.run(go())


def test_a_message_arrives_as_it_was_sent():
    frame = read(write_frame(REPORT))
    assert frame is not None
    assert msgspec.msgpack.decode(frame, type=Report) == REPORT


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0", write_frame(REPORT)[:-1], (MAX_FRAME_BYTES + 1).to_bytes(4, "big") + b"x"],
    ids=["nothing", "half a length", "half a message", "too long"],
)
def test_what_is_not_a_whole_message_ends_the_conversation(data):
    assert read(data) is None
