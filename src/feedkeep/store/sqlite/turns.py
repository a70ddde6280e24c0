"""Fair turns of the processes that write a SQLite file."""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import ExitStack
from pathlib import Path
from threading import Lock, Thread

from feedkeep.store.sqlite.lock import open_turn

PATIENCE_SECONDS = 1.0
"""Maximum wait of a process for its turn, before it writes without it."""

PATIENCE_AFTERWARDS_SECONDS = 0.05
"""Maximum wait for each later write, until its turn has come."""


class WriteTurns:
    """The turn to write, which one process has at a time while the next one waits.

    SQLite's own lock excludes concurrent writers; this decides who gets it. A process that finds
    SQLite's lock taken sleeps, up to a tenth of a second at a time, and the process that has the
    lock can acquire it again and again. Here, a process that gives its turn away and wants it back
    waits behind the next one: two processes alternate.

    The turn and the next place are files locked by flock(2), so a killed process releases them. A
    stopped process keeps its place, and the others continue without: only the order is lost.

    Raises:
        StoreUnusable: The locks cannot be created beside the database.
    """

    def __init__(self, path: Path) -> None:
        with ExitStack() as opened:
            self._next = open_turn(path, "next")
            opened.callback(os.close, self._next)
            self._turn = open_turn(path, "turn")
            opened.pop_all()
        self._has_turn = False
        self._taking: asyncio.Future[None] | None = None
        self._is_wanted = False
        self._lock = Lock()  # for state shared with the waiting thread
        self._is_waiting = False
        self._is_closed = False

    async def take(self) -> None:
        """Wait for the turn, which lasts until `give`; return without it after a while."""
        if self._has_turn or (self._taking is None and self._is_free()):
            self._has_turn = True
            return
        patience_seconds = PATIENCE_AFTERWARDS_SECONDS
        if self._taking is None:
            patience_seconds = PATIENCE_SECONDS
            self._begin_to_take()
        if self._taking is None:
            return
        self._is_wanted = True
        try:
            await asyncio.wait([self._taking], timeout=patience_seconds)
        finally:
            self._is_wanted = False

    def give(self) -> None:
        """Pass the turn to the next process, if this one has it."""
        if self._has_turn:
            self._has_turn = False
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Pass the turn, and close the locks, which a waiting thread does at its end."""
        with self._lock:
            self._is_closed = True
            if not self._is_waiting:
                self._close()

    def _close(self) -> None:
        os.close(self._next)
        os.close(self._turn)

    def _is_free(self) -> bool:
        """Take the turn if no process has it or waits for it; return whether that succeeded."""
        try:
            fcntl.flock(self._next, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            fcntl.flock(self._next, fcntl.LOCK_UN)
        return True

    def _begin_to_take(self) -> None:
        """Wait for the turn in a thread; only the lock ends that system call."""
        loop = asyncio.get_running_loop()
        taking: asyncio.Future[None] = loop.create_future()

        def taken() -> None:
            taking.set_result(None)
            self._taking = None
            self._has_turn = not self._is_closed
            if not self._is_wanted:  # it came too late
                self.give()

        def wait() -> None:
            fcntl.flock(self._next, fcntl.LOCK_EX)
            if not self._is_closed:
                fcntl.flock(self._turn, fcntl.LOCK_EX)
            fcntl.flock(self._next, fcntl.LOCK_UN)
            with self._lock:
                self._is_waiting = False
                if self._is_closed:
                    self._close()
                    return
                try:
                    loop.call_soon_threadsafe(taken)
                except RuntimeError:  # the loop has ended
                    fcntl.flock(self._turn, fcntl.LOCK_UN)

        self._is_waiting = True
        try:
            Thread(target=wait, name="sqlite-turn", daemon=True).start()
        except RuntimeError:  # the machine cannot start a thread
            self._is_waiting = False
        else:
            self._taking = taking
