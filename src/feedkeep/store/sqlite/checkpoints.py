"""Checkpoints: move the write-ahead log into the file, concurrently with commits."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import apsw

from feedkeep.store.sqlite.connection import WRITER_PATIENCE_SECONDS, connect

BEGUN_AT_PAGES = 100
"""Pages of the log that start a checkpoint: in small steps, commits wait less for the disk."""

MOST_PAGES = 4_000
"""Size of the log, in pages, at which commits wait; a large commit can exceed it.

That is 16 MiB. With a fourth of it, uploads of a hundred feeds wait for a tenth of their time.
"""

_PATIENCE_SECONDS = 1.0
"""Maximum wait of a commit for another process's checkpoint."""

_RETRY_SECONDS = 0.002


class Checkpoints:
    """Moves the log into the file in a separate thread and connection.

    SQLite itself does so in the commit that finds the log long, so that each of its requests waits
    for three more syncs. Concurrent checkpoints store a third more changes in the same time.

    SQLite restarts the log once all of it was moved and nobody reads it, so it grows while commits
    never pause: at `MOST_PAGES`, the next transaction waits for that. Each process sees the size of
    the log when it commits; the process whose turn it is to write keeps the log short, since no
    other process can extend it at that time.

    Args:
        writer: The connection that commits; its own checkpoints are switched off.
    """

    def __init__(self, path: Path, writer: apsw.Connection) -> None:
        with ExitStack() as opened:
            self._connection = opened.enter_context(closing(connect(path, WRITER_PATIENCE_SECONDS)))
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-checkpoint")
            # Starts now: a system that refuses a thread must not do so after a commit.
            self._thread.submit(lambda: None).result()
            opened.pop_all()
        self._under_way: asyncio.Future[None] | None = None
        self._log_pages = 0
        writer.set_wal_hook(self._count)

    def begin_if_due(self) -> None:
        """Begin a checkpoint if the log is long and none is running; called after each commit.

        Failed commits count, too: on a full disk there is space again once the log restarts.
        """
        if self._log_pages >= BEGUN_AT_PAGES and (
            self._under_way is None or self._under_way.done()
        ):
            self._under_way = self._begin()

    async def keep_short(self) -> None:
        """Before a transaction, move all of the log if it is too long."""
        # It runs after the current checkpoint, and finds the few pages committed since. A process
        # that reads can delay it, as in SQLite itself: then each transaction tries.
        if self._log_pages >= MOST_PAGES:
            await self._begin(_PATIENCE_SECONDS)

    async def close(self) -> None:
        """Wait for the current checkpoint, and close the connection."""
        await asyncio.to_thread(self._thread.shutdown)
        self._connection.close()

    def _begin(self, patience_seconds: float = 0.0) -> asyncio.Future[None]:
        return asyncio.get_running_loop().run_in_executor(
            self._thread, self._move, patience_seconds
        )

    def _move(self, patience_seconds: float) -> None:
        deadline = time.monotonic() + patience_seconds
        # A failing disk makes commits fail, too, which report it. The log still has everything.
        with suppress(apsw.Error):
            while not self._moves() and time.monotonic() < deadline:
                time.sleep(_RETRY_SECONDS)

    def _moves(self) -> bool:
        """Move the pages that no reader needs; return False if another process is doing so."""
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.BusyError:
            return False
        return True

    def _count(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK
