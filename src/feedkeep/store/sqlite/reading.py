"""Reading a database whose disk accepts no writes, since it is full or read-only."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import apsw

from feedkeep.model.errors import FeedkeepError
from feedkeep.store.migrate import newest_version
from feedkeep.store.sqlite.connection import (
    APPLICATION_ID,
    READER_PATIENCE_SECONDS,
    check_ours,
    configure,
    connect,
    has_checksums,
    verifying_vfs,
)
from feedkeep.store.sqlite.file_identity import ENDINGS

_OF_THE_DISK = {errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def is_of_the_disk(error: BaseException | None) -> bool:
    """Whether an error means, or may mean, that a disk accepts no writes."""
    if isinstance(error, OSError):
        return error.errno in _OF_THE_DISK
    return isinstance(error, apsw.FullError | apsw.IOError | apsw.ReadOnlyError)


def can_be_read(path: Path) -> bool:
    """Whether all of a database can be read as it is, without a write."""
    try:
        with closing(connect_to_read(path)) as connection:
            is_up_to_date = check_ours(connection, path) == newest_version("sqlite")
            return is_up_to_date and has_checksums(connection)
    except (apsw.Error, OSError, FeedkeepError):
        return False


def write_nothing_new(path: Path) -> None:
    """Commit unchanged data to a database: only that shows that its disk accepts writes.

    Raises:
        apsw.Error: The disk accepts no writes, or another process is writing.
    """
    with closing(connect(path, READER_PATIENCE_SECONDS)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.pragma("application_id", APPLICATION_ID)
        connection.execute("COMMIT")


def connect_to_read(path: Path) -> apsw.Connection:
    """Open a read-only connection, which needs no disk space.

    With `readonly_shm`, SQLite keeps its index of the write-ahead log in memory while no process
    writes, and otherwise uses that of the writing process. Log and index must exist, and may be
    empty: a full disk has space for their names, a read-only disk has not. If that has no log, the
    file itself is complete, and with `immutable` SQLite needs no other file.

    Raises:
        apsw.Error, OSError: There is a log that cannot be read.
    """
    data = path.resolve()  # SQLite puts the others beside the file that a link points to
    log, index = (Path(f"{data}{ending}") for ending in ENDINGS)
    try:
        for file in (log, index):
            os.close(os.open(file, os.O_RDONLY | os.O_CREAT, 0o600))
        how = "readonly_shm"
    except OSError as error:
        has_log = log.exists() and log.stat().st_size > 0
        if has_log or error.errno != errno.EROFS:
            raise
        how = "immutable"
    url = f"file:{quote(os.fsencode(data))}?{how}=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return configure(apsw.Connection(url, flags, vfs=verifying_vfs()), READER_PATIENCE_SECONDS)
