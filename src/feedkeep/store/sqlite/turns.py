"""Which process writes a SQLite file next: those that want to take turns."""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import ExitStack
from pathlib import Path
from threading import Lock, Thread

from feedkeep.store.sqlite.lock import open_turn

PATIENCE_SECONDS = 1.0
"""How long a process waits for its turn before it goes on without."""

PATIENCE_AFTERWARDS_SECONDS = 0.05
"""How long it waits each time after that, until its turn has come."""


class WriteTurns:
    """The turn to write, which one process has at a time; the next one waits in front of it.

    SQLite's own lock keeps writers apart, and this is about who gets it. A process that finds it
    taken sleeps, up to a tenth of a second at a time, and meanwhile the one that has it takes it
    again and again. Here, a process that gives its turn away and wants it back waits behind the
    next one: with two processes, they alternate.

    Both places are files that are locked by flock(2), so a process that is killed leaves them. One
    that is stopped keeps its place, and then the others go on without: the order is lost, and
    nothing else.
    """

    def __init__(self, path: Path) -> None:
        """Open the locks beside a database.

        Raises:
            StoreUnusable: They cannot be made there.
        """
        with ExitStack() as opened:
            self._next = open_turn(path, "next")
            opened.callback(os.close, self._next)
            self._turn = open_turn(path, "turn")
            opened.pop_all()
        self._has_turn = False
        self._taking: asyncio.Future[None] | None = None
        self._is_wanted = False
        self._lock = Lock()  # of what the thread that waits looks at, too
        self._is_waiting = False
        self._is_closed = False

    async def take(self) -> None:
        """Return once it is this process's turn, until `give`; or without it after a while."""
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
        """Leave the turn to the next process, if this one has it."""
        if self._has_turn:
            self._has_turn = False
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Leave the turn, and close the locks; a thread that waits for them does so after that."""
        with self._lock:
            self._is_closed = True
            if not self._is_waiting:
                self._close()

    def _close(self) -> None:
        os.close(self._next)
        os.close(self._turn)

    def _is_free(self) -> bool:
        """Take the turn if no process has it or waits for it; say whether."""
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
        """Let a thread wait for the turn; nothing but the lock ends that system call."""
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
        except RuntimeError:  # the machine has no room for a thread
            self._is_waiting = False
        else:
            self._taking = taking
