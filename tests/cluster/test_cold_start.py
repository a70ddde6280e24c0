"""A service that starts with many clients before it listens."""

import asyncio
import time

import httpx
from crowds import Crowd

ACCOUNTS, CLIENTS = 100, 2
SECONDS, GRACE_SECONDS = 10.0, 2.0


async def test_a_cold_start_with_200_clients_refuses_no_request_after_two_seconds(start, figures):
    process = start(workers="4")
    crowd = Crowd(process, ACCOUNTS, CLIENTS)
    process.stop()
    await asyncio.to_thread(process.start)
    began = time.monotonic()
    async with crowd.writing(looks=False):
        await asyncio.sleep(SECONDS)
    late = [reply for reply in crowd.failed if reply.received - began > GRACE_SECONDS]
    first = min(reply.received for reply in crowd.replies if reply.status == httpx.codes.OK) - began
    figures(
        f"cold start with {ACCOUNTS * CLIENTS} clients: first write after {first:.2f} s,"
        f" {crowd.told()}, {len(late)} of them refused after the first {GRACE_SECONDS:g} s"
    )
    assert late == []
    assert await crowd.lost() == []
