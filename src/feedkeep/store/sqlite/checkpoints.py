"""Checkpoints: the write-ahead log is moved into the file, beside commits."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import apsw

from feedkeep.store.sqlite.connection import WRITER_PATIENCE_SECONDS, connect

BEGUN_AT_PAGES = 100
"""From how many pages on the log is moved: with few at a time, commits wait less for the disk."""

MOST_PAGES = 4_000
"""How many pages the log may have before commits wait; with one large commit it has more.

That is 16 MiB. With a fourth of it, uploads of a hundred feeds wait for a tenth of their time.
"""

_PATIENCE_SECONDS = 1.0
"""How long a commit waits for the checkpoint that another process has under way."""

_RETRY_SECONDS = 0.002


class Checkpoints:
    """Moves the log into the file in a thread and by a connection of its own.

    SQLite itself does it in the commit that finds the log long, so that each of its requests waits
    for three more syncs. Beside commits, a third more changes are stored in the same time.

    SQLite begins the log anew once all of it was moved and nobody reads it, so while commits never
    pause it grows: at `MOST_PAGES`, the next transaction waits until that is so. Of several
    processes, each counts the pages of all when it commits; the one whose turn it is to write
    keeps the log short, since meanwhile no other one makes it longer.
    """

    def __init__(self, path: Path, writer: apsw.Connection) -> None:
        """Take over from SQLite the checkpoints of `writer`, which has the file open."""
        with ExitStack() as opened:
            self._connection = opened.enter_context(closing(connect(path, WRITER_PATIENCE_SECONDS)))
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-checkpoint")
            # It starts now: where the system refuses a thread, that must not come after a commit.
            self._thread.submit(lambda: None).result()
            opened.pop_all()
        self._under_way: asyncio.Future[None] | None = None
        self._log_pages = 0
        writer.set_wal_hook(self._count)

    def begin_if_due(self) -> None:
        """Begin a checkpoint if the log is long, and none is under way; it is called after commits.

        After one that failed, too: on a full disk there is room again once the log begins anew.
        """
        if self._log_pages >= BEGUN_AT_PAGES and (
            self._under_way is None or self._under_way.done()
        ):
            self._under_way = self._begin()

    async def keep_short(self) -> None:
        """Return at once, or move all of the log if it is too long: before a transaction begins."""
        # It comes after the one that is under way, and finds the little that was committed since.
        # A process that reads may hold it up, as it does in SQLite: then each transaction tries.
        if self._log_pages >= MOST_PAGES:
            await self._begin(_PATIENCE_SECONDS)

    async def close(self) -> None:
        """Wait for the one that is under way, and close the connection."""
        await asyncio.to_thread(self._thread.shutdown)
        self._connection.close()

    def _begin(self, patience_seconds: float = 0.0) -> asyncio.Future[None]:
        return asyncio.get_running_loop().run_in_executor(
            self._thread, self._move, patience_seconds
        )

    def _move(self, patience_seconds: float) -> None:
        deadline = time.monotonic() + patience_seconds
        # A disk that fails fails commits, too, which tell of it. Until then the log has everything.
        with suppress(apsw.Error):
            while not self._moves() and time.monotonic() < deadline:
                time.sleep(_RETRY_SECONDS)

    def _moves(self) -> bool:
        """Move what no reader holds up; return False if another process does so just now."""
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.BusyError:
            return False
        return True

    def _count(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK
