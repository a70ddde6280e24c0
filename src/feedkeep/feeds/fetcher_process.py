"""Run fetches in a separate process, which is restarted when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from typing import TypeAlias

import msgspec
import structlog
from msgspec.structs import asdict

from feedkeep.config.settings import Settings
from feedkeep.feeds.frames import FetchJob, Lack, Report, read_frame, write_frame
from feedkeep.model import Failure, Feed, FetchResult, Guid, Stamp
from feedkeep.outbound.failures import MachineFailed

LOOK_SECONDS = 120.0
"""Timeout of a fetch.

That is 45 seconds for responses, 20 for name lookups pending at that time, and the rest for
reading.
"""

REST_SECONDS = 10.0
"""Pause after this machine could not fetch."""

MAX_SUSPECTS = 1_000
_ENDING_SECONDS = 5.0

_REPORT = msgspec.msgpack.Decoder(Report)
_CRASHED = FetchResult(failure=Failure.CRASHED, reason="What came could not be read.")
_TOO_LARGE = FetchResult(
    failure=Failure.CRASHED, reason="What came takes too much memory to be read."
)
_FAULTS = {-fault for fault in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE)}
"""Exit codes of faults in the process itself; others are signals from outside or lack of memory."""

_FEW_ARENAS = {"MALLOC_ARENA_MAX": "2"}
"""glibc reserves 64 MiB of address space for each arena, and creates eight per processor."""

_BRIEF_LOOK_UPS = {"RES_OPTIONS": "timeout:2 attempts:2"}
"""glibc waits 10 to 30 seconds for unresponsive name servers; with this, 4 to 10 seconds."""

_PASSED_ON = ("PATH", "HOME", "LANG", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "PYTHONPATH")

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class _Lost(Exception):
    """The process ended before its report, or a fetch timed out.

    Attributes:
        is_fault: Whether the content caused that rather than this machine.
        is_shared: Whether the process was fetching other feeds, too.
    """

    def __init__(self, *, is_fault: bool, is_shared: bool) -> None:
        self.is_fault = is_fault
        self.is_shared = is_shared


_Waiting: TypeAlias = dict[int, asyncio.Future[FetchResult | Lack]]


class FetcherProcess:
    """Client of the fetcher process, which starts with the first fetch.

    A crash or timeout counts as a failure of a feed only if the process was fetching no other feed.
    With several, each becomes a suspect, and so does a feed for which memory runs out or whose
    process is killed. A suspect is next fetched in a process of its own, which shows whether it is
    to blame. Problems of this machine are no failure of a feed. They are logged once, until a fetch
    succeeds.
    """

    def __init__(self, chosen: Settings) -> None:
        self._chosen = chosen
        self._process: _Process | None = None
        self._starting = asyncio.Lock()
        self._suspects: dict[Guid, None] = {}
        self._alone: _Process | None = None
        self._rests_until = 0.0
        self._is_logged = False

    async def look(self, feed: Feed, now: Stamp) -> FetchResult:
        """Fetch a feed.

        Raises:
            MachineFailed: This machine could not fetch.
        """
        return await self._look(feed, now)

    async def look_briefly(self, feed: Feed, now: Stamp) -> FetchResult:
        """Fetch the beginning of a feed (`Fetcher.look_briefly`).

        Raises:
            MachineFailed: This machine could not fetch.
        """
        return await self._look(feed, now, is_brief=True)

    async def _look(self, feed: Feed, now: Stamp, *, is_brief: bool = False) -> FetchResult:
        if asyncio.get_running_loop().time() < self._rests_until:
            raise MachineFailed("This machine could not look at feeds just now.")
        is_alone = feed.guid in self._suspects
        try:
            if is_alone:
                looked = await self._look_alone(feed, now, is_brief=is_brief)
            else:
                looked = await (await self._started()).look(feed, now, is_brief=is_brief)
        except OSError as error:
            raise self._failed(str(error)) from error
        except _Lost as lost:
            return self._judged(feed, lost)
        if looked is Lack.FILES:
            raise self._failed("Too many files are open.")
        if looked is Lack.MEMORY:
            if is_alone:
                return self._blamed(feed, _TOO_LARGE)
            self._suspect(feed)
            raise self._failed("There is not enough memory.")
        self._suspects.pop(feed.guid, None)
        self._is_logged = False
        return looked

    async def close(self) -> None:
        for process in (self._process, self._alone):
            if process is not None:
                await process.end()

    async def _started(self) -> _Process:
        async with self._starting:
            if self._process is None or self._process.has_ended:
                self._process = await _start(self._chosen)
            return self._process

    async def _look_alone(self, feed: Feed, now: Stamp, *, is_brief: bool) -> FetchResult | Lack:
        async with self._starting:
            if self._alone is not None:  # fetched later
                raise MachineFailed("Another feed is being looked at alone.")
            self._alone = process = await _start(self._chosen)
        try:
            return await process.look(feed, now, is_brief=is_brief)
        finally:
            await process.end()
            self._alone = None

    def _judged(self, feed: Feed, lost: _Lost) -> FetchResult:
        """Blame a feed for the loss of the process if it is certainly the cause."""
        if lost.is_shared or not lost.is_fault:
            self._suspect(feed)
        if not lost.is_fault:  # ended by an operator, or by the kernel for lack of memory
            raise self._failed("The process that looks at feeds was ended.")
        if lost.is_shared:
            raise MachineFailed("It is not known which feed could not be read.")
        return self._blamed(feed, _CRASHED)

    def _suspect(self, feed: Feed) -> None:
        if len(self._suspects) < MAX_SUSPECTS:
            self._suspects[feed.guid] = None

    def _blamed(self, feed: Feed, looked: FetchResult) -> FetchResult:
        self._suspects.pop(feed.guid, None)
        _log.warning("cannot read feed", feed=feed.guid, reason=looked.reason)
        return looked

    def _failed(self, reason: str) -> MachineFailed:
        self._rests_until = asyncio.get_running_loop().time() + REST_SECONDS
        if not self._is_logged:
            self._is_logged = True
            _log.warning("cannot run feed fetcher; will retry", reason=reason)
        return MachineFailed("This machine cannot look at feeds: {reason}", reason=reason)


class _Process:
    """A running fetcher process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._waiting: _Waiting = {}
        self._numbers = itertools.count()
        self._reports = asyncio.create_task(self._receive())

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    async def look(self, feed: Feed, now: Stamp, *, is_brief: bool) -> FetchResult | Lack:
        """Fetch a feed in the process.

        Raises:
            _Lost: The process did not report.
        """
        number = next(self._numbers)
        report: asyncio.Future[FetchResult | Lack] = asyncio.get_running_loop().create_future()
        self._waiting[number] = report
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(write_frame(FetchJob(number, feed, now, is_brief)))
            async with asyncio.timeout(LOOK_SECONDS):
                return await report
        except TimeoutError:
            lost = self._lost(is_fault=True)
            self._fail(lost)
            await self.end()
            raise lost from None
        finally:
            self._waiting.pop(number, None)

    async def end(self) -> None:
        await self._kill()
        await asyncio.wait([self._reports])

    async def _receive(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(msgspec.MsgspecError):
            while (frame := await read_frame(self._process.stdout)) is not None:
                report = _REPORT.decode(frame)
                one = self._waiting.get(report.number)
                if one is not None and not one.done():  # it may have timed out
                    one.set_result(report.looked)
        with contextlib.suppress(TimeoutError):
            # Killing it now would hide its exit code.
            async with asyncio.timeout(_ENDING_SECONDS):
                await self._process.wait()
        await self._kill()
        self._fail(self._lost(is_fault=self._process.returncode in _FAULTS))

    def _lost(self, *, is_fault: bool) -> _Lost:
        return _Lost(is_fault=is_fault, is_shared=len(self._waiting) > 1)

    def _fail(self, lost: _Lost) -> None:
        for one in self._waiting.values():
            if not one.done():
                one.set_exception(lost)

    async def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


async def _start(chosen: Settings) -> _Process:
    """Start a fetcher process.

    Raises:
        OSError: This machine lacks resources for it.
    """
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    # It reads untrusted content, and other settings include the database's password.
    fetching = {name: value for name, value in asdict(chosen).items() if name.startswith("fetch_")}
    return _Process(
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "feedkeep.feeds.child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={
                **passed_on,
                **_FEW_ARENAS,
                **_BRIEF_LOOK_UPS,
                "FEEDKEEP_LOOKS_WITH": msgspec.json.encode(fetching).decode(),
            },
            start_new_session=True,  # Ctrl-C at a terminal is for the serving process
        )
    )
