"""The fetcher process, which keeps untrusted content out of the serving processes.

`FetcherProcess` starts it, sends it jobs by standard input, and gets reports by standard output. It
ends with its input, so that it never outlives its parent.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from concurrent.futures import ThreadPoolExecutor

import msgspec
import structlog

from feedkeep.config.settings import Settings
from feedkeep.feeds.fetcher import Fetcher
from feedkeep.feeds.frames import FetchJob, Lack, Report, read_frame, write_frame
from feedkeep.model import Failure, FetchResult
from feedkeep.outbound.client import GuardedClient
from feedkeep.outbound.failures import Exhausted
from feedkeep.outbound.policy import policy_of
from feedkeep.runtime.logs import configure_logs

_MEBIBYTE = 1024 * 1024
_log = structlog.get_logger()

_READ_AT_ONCE = 4
"""Maximum number of feeds and pictures read concurrently; other fetches wait for hosts."""

_LESS_URGENT_BY = 10

_JOB = msgspec.msgpack.Decoder(FetchJob)


def max_memory_bytes(chosen: Settings) -> int:
    """Return the address space limit, which grows with the number of concurrent fetches.

    A hundred fetches of 4 MiB feeds with large pictures need 770 MiB, eight of them 450 MiB; feeds
    may have twice that size. First looks need 128 MiB, mostly for the stacks of lookups.
    """
    return (1_024 + 16 * chosen.fetch_connections) * _MEBIBYTE


async def run(chosen: Settings) -> None:
    """Carry out jobs until the input ends."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(_READ_AT_ONCE))
    reader = asyncio.StreamReader(loop=loop)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout)
    under_way: set[asyncio.Task[None]] = set()
    async with GuardedClient(policy_of(chosen)) as client:
        fetcher = Fetcher(client, chosen.fetch_episodes)

        async def carry_out(job: FetchJob) -> None:
            looked: FetchResult | Lack
            try:
                look = fetcher.look_briefly if job.is_brief else fetcher.look
                looked = await look(job.feed, job.now)
            except MemoryError:
                looked = Lack.MEMORY
            except Exhausted:
                looked = Lack.FILES
            except Exception as error:  # noqa: BLE001 - keep the other fetches running
                _log.error("internal error while fetching a feed", exc_info=error)
                looked = FetchResult(failure=Failure.CRASHED, reason=repr(error))
            transport.write(write_frame(Report(job.number, looked)))

        while (frame := await read_frame(reader)) is not None:
            task = asyncio.create_task(carry_out(_JOB.decode(frame)))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
    for task in under_way:
        task.cancel()


def main() -> None:
    """Run with the settings in the environment, limited memory and low priority."""
    os.nice(_LESS_URGENT_BY)
    configure_logs("warning")
    chosen = msgspec.json.decode(os.environ.pop("FEEDKEEP_LOOKS_WITH"), type=Settings)
    bytes_at_most = max_memory_bytes(chosen)
    resource.setrlimit(resource.RLIMIT_AS, (bytes_at_most, bytes_at_most))
    asyncio.run(run(chosen))


if __name__ == "__main__":
    main()
