"""Looks at feeds in a process of its own, which is started anew if it ends."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from typing import TypeAlias

import msgspec
import structlog

from feedkeep.feeds.frames import Errand, Report, read_frame, write_frame
from feedkeep.model import Failure, Feed, Looked, Stamp
from feedkeep.settings import Settings

LOOK_SECONDS = 120.0
"""How long a look may take: three answers, each within its own bounds, and reading them."""

_REPORT = msgspec.msgpack.Decoder(Report)
_CRASHED = Looked(failure=Failure.CRASHED, reason="What came could not be read.")
_NOT_STARTED = Looked(failure=Failure.CRASHED, reason="This machine could not look.")
_PASSED_ON = ("PATH", "HOME", "LANG", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "PYTHONPATH")

_Waiting: TypeAlias = dict[int, asyncio.Future[Looked]]

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Looker:
    """Sends feeds to the process that looks at them; one begins with the first look.

    What takes that process down, or too long, is a failure of the feeds that it was looking at.
    """

    def __init__(self, chosen: Settings) -> None:
        self._chosen = chosen
        self._process: asyncio.subprocess.Process | None = None
        self._reports: asyncio.Task[None] | None = None
        self._waiting: _Waiting = {}
        self._numbers = itertools.count()
        self._starting = asyncio.Lock()

    async def look(self, feed: Feed, now: Stamp) -> Looked:
        """Return what is at the URL of a feed now."""
        try:
            process = await self._started()
        except OSError as error:
            _log.warning("feeds cannot be looked at for now", reason=str(error))
            return _NOT_STARTED
        number = next(self._numbers)
        report: asyncio.Future[Looked] = asyncio.get_running_loop().create_future()
        waiting = self._waiting
        waiting[number] = report
        assert process.stdin is not None
        try:
            process.stdin.write(write_frame(Errand(number, feed, now)))
            async with asyncio.timeout(LOOK_SECONDS):
                return await report
        except TimeoutError:
            _log.warning("a feed took too long to read", feed=feed.guid)
            await self._end(process)
            return _CRASHED
        finally:
            waiting.pop(number, None)

    async def close(self) -> None:
        """End the process."""
        if self._process is not None and self._reports is not None:
            await self._end(self._process)
            await self._reports

    async def _started(self) -> asyncio.subprocess.Process:
        async with self._starting:
            process = self._process
            if process is not None and process.returncode is None:
                return process
            passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
            chosen = msgspec.json.encode(self._chosen).decode()
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "feedkeep.feeds.child",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**passed_on, "FEEDKEEP_LOOKS_WITH": chosen},
                start_new_session=True,  # Ctrl-C at a terminal is for the process that serves
            )
            self._waiting = {}  # who waits for another process is not concerned by this one's end
            self._reports = asyncio.create_task(self._receive(process, self._waiting))
            return process

    async def _receive(self, process: asyncio.subprocess.Process, waiting: _Waiting) -> None:
        assert process.stdout is not None
        with contextlib.suppress(msgspec.MsgspecError):
            while (frame := await read_frame(process.stdout)) is not None:
                report = _REPORT.decode(frame)
                one = waiting.get(report.number)
                if one is not None and not one.done():  # it may have come too late
                    one.set_result(report.looked)
        await self._end(process)
        for one in waiting.values():
            if not one.done():
                one.set_result(_CRASHED)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
