"""Which process writes a SQLite file next: those that want to take turns."""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from threading import Thread

from feedkeep.model.errors import StoreUnavailable
from feedkeep.store.sqlite.lock import open_turn


class WriteTurns:
    """The turn to write, which one process has at a time; the next one waits in front of it.

    SQLite's own lock keeps writers apart, and this is about who gets it. A process that finds it
    taken sleeps, up to a tenth of a second at a time, and meanwhile the one that has it takes it
    again and again. Here, who gives the turn away and wants it back waits behind the next one:
    with two processes, they alternate.

    Both places are files that are locked by flock(2), so a process that is killed leaves them. A
    process that hangs keeps its turn: then `take` fails after a while, as SQLite's lock does.
    """

    def __init__(self, path: Path) -> None:
        """Open the locks beside a database.

        Raises:
            StoreUnusable: They cannot be made there.
        """
        self._next = open_turn(path, "next")
        self._turn = open_turn(path, "turn")
        self._taking: asyncio.Future[None] | None = None
        self._is_wanted = False

    async def take(self, patience_seconds: float) -> None:
        """Return once it is this process's turn, until `give`.

        Raises:
            StoreUnavailable: Another process has it for longer than the patience.
        """
        if self._taking is None and self._is_free():
            return
        taking = self._taking = self._taking or self._begin_to_take()
        self._is_wanted = True
        try:
            await asyncio.wait([taking], timeout=patience_seconds)
        finally:
            self._is_wanted = False
        if not taking.done():
            raise StoreUnavailable(
                "The SQLite database cannot be used now: another process writes it."
            )
        self._taking = None

    def give(self) -> None:
        """Leave the turn to the next process."""
        fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the locks, unless this process still waits in front of them: then its end does."""
        if self._taking is None:
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

    def _begin_to_take(self) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        taking: asyncio.Future[None] = loop.create_future()

        def taken() -> None:
            taking.set_result(None)
            if not self._is_wanted:  # it came too late
                self._taking = None
                self.give()

        def wait() -> None:
            fcntl.flock(self._next, fcntl.LOCK_EX)
            fcntl.flock(self._turn, fcntl.LOCK_EX)
            fcntl.flock(self._next, fcntl.LOCK_UN)
            with suppress(RuntimeError):  # the loop has ended, and this process does
                loop.call_soon_threadsafe(taken)

        # Nothing ends this system call but the lock, so a stop must not wait for the thread.
        Thread(target=wait, name="sqlite-turn", daemon=True).start()
        return taking
