"""The process that looks at feeds: nothing that a stranger sends is read where lists are served.

It is started by `Looker`, is given errands by its standard input, and reports by its standard
output. It ends when its input does, so that it never outlives the process that started it.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys

import msgspec

from feedkeep.feeds.door import Door
from feedkeep.feeds.door_policy import policy_of
from feedkeep.feeds.failures import Exhausted
from feedkeep.feeds.frames import Errand, Report, read_frame, write_frame
from feedkeep.feeds.looking import Looking
from feedkeep.model import Failure, Looked
from feedkeep.settings import Settings

MAX_MEMORY_BYTES = 1024 * 1024 * 1024
_LESS_URGENT_BY = 10

_ERRAND = msgspec.msgpack.Decoder(Errand)


async def run(chosen: Settings) -> None:
    """Carry out errands until there are no more."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout)
    under_way: set[asyncio.Task[None]] = set()
    async with Door(policy_of(chosen)) as door:
        looking = Looking(door)

        async def carry_out(errand: Errand) -> None:
            looked: Looked | None
            try:
                looked = await looking.look(errand.feed, errand.now)
            except (MemoryError, Exhausted):
                looked = None
            except Exception as error:  # noqa: BLE001 - or all other looks would be lost with it
                looked = Looked(failure=Failure.CRASHED, reason=repr(error))
            transport.write(write_frame(Report(errand.number, looked)))

        while (frame := await read_frame(reader)) is not None:
            task = asyncio.create_task(carry_out(_ERRAND.decode(frame)))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
    for task in under_way:
        task.cancel()


def main() -> None:
    """Run with the settings in the environment, in bounded memory, and after all else."""
    os.nice(_LESS_URGENT_BY)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    chosen = msgspec.json.decode(os.environ.pop("FEEDKEEP_LOOKS_WITH"), type=Settings)
    asyncio.run(run(chosen))


if __name__ == "__main__":
    main()
