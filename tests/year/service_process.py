"""The process that a year's service runs in: started, stopped, killed, and asked over a socket."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

from front import receive, send

FRONT = Path(__file__).with_name("front.py")
TESTS = FRONT.parent.parent


class Refused(Exception):
    """A request was refused: `kind` is the name of feedkeep's error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class ServiceProcess:
    """A service on one database, which is started as often as wanted."""

    def __init__(self, database: str) -> None:
        self.database = database
        self.first: list[str] = []
        """Modules that it imports before anything else, from its next start on."""
        self.asked = 0
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self, us: int) -> None:
        """Start it at a time, and wait until it answers.

        Raises:
            RuntimeError: It ended instead; its standard error says why.
        """
        ours, its = socket.socketpair()
        where = [str(TESTS / "proofs"), os.environ.get("PYTHONPATH", "")]
        self._process = await asyncio.to_thread(
            subprocess.Popen,
            [sys.executable, FRONT, str(its.fileno()), self.database, str(us), *self.first],
            pass_fds=[its.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(where)},
        )
        its.close()
        self._reader, self._writer = await asyncio.open_connection(sock=ours)
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._receiving = asyncio.create_task(self._receive())
        await self.ask("ready")

    async def ask(self, name: str, *arguments: Any) -> Any:
        """Return the answer to a request.

        Raises:
            Refused: The service refused it.
            RuntimeError: The process has ended.
        """
        if self._receiving.done():
            raise RuntimeError("The service has ended.")
        self.asked += 1
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        send(self._writer, (number, name, arguments))
        await self._writer.drain()
        return await answer

    async def stop(self) -> None:
        """Shut the process down, and wait until it has closed its database."""
        self._writer.close()
        await self._ended()

    async def kill(self) -> None:
        """End it at once, as a crash would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._writer.close()
        await self._ended()

    async def _ended(self) -> None:
        assert self._process is not None
        await asyncio.to_thread(self._process.wait)
        await self._receiving

    async def _receive(self) -> None:
        try:
            while True:
                number, answer, error, message = await receive(self._reader)
                waiting = self._waiting.pop(number)
                if error:
                    waiting.set_exception(Refused(error, message))
                else:
                    waiting.set_result(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            for waiting in self._waiting.values():
                waiting.set_exception(RuntimeError("The service ended before it answered."))
