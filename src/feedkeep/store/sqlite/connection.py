"""Connections to a SQLite file: durable, verified and migrated."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import cache
from itertools import islice
from pathlib import Path

import apsw
import apsw.sqlite_extra

from feedkeep.model import T
from feedkeep.model.errors import StoreUnusable
from feedkeep.store.migrate import (
    PendingMigrations,
    check_version,
    logged,
    pending_migrations,
)
from feedkeep.store.sqlite.errors import UNAVAILABLE, as_store_error, is_damage, unusable
from feedkeep.store.sqlite.file_identity import assert_not_gone, gone, is_missing
from feedkeep.store.sqlite.lock import lock_of, make_folder, says_made

APPLICATION_ID = 0x666B6565
"""Marks a SQLite file as feedkeep's: the letters "fkee"."""

WRITER_PATIENCE_SECONDS = 5.0
"""Maximum wait of a writer for another process's write."""

READER_PATIENCE_SECONDS = 0.25
"""Maximum wait of a reader: in WAL mode only while another process recovers from a crash."""

_CHECKSUM_BYTES = 8
"""Size of the checksum that SQLite's extension stores at the end of each page."""

_RETRY_SECONDS = 0.01

_MAX_ORPHANS = 100
"""Maximum number of reported rows whose referenced row is missing; SQLite limits other faults."""

# For every connection: the file does not store `synchronous` and `foreign_keys`.
_SETTINGS: dict[str, str | int] = {
    "journal_mode": "wal",
    "synchronous": 2,  # FULL: a commit is on the disk before it returns (C8.1)
    "fullfsync": 1,  # on macOS, fsync alone leaves data in the drive's own cache
    "checkpoint_fullfsync": 1,
    "foreign_keys": 1,
    # For writes outside of `SqliteRunner`, such as filling a new file: services have a thread for
    # it (`checkpoints`). Waits for another connection's checkpoint stay short.
    "wal_autocheckpoint": 100,
}

_OF_READING: dict[str, int] = {
    "trusted_schema": 0,
    "cell_size_check": 1,
    # 8 MiB for each connection hold the inner pages of an index of millions of entries. These need
    # not be read again for each request, and reading an entry takes a third less time. More gained
    # nothing.
    "cache_size": -8_192,
}


def open_file(path: Path, *, may_create: bool = True) -> apsw.Connection:
    """Open a connection that verifies the checksum of each page that it reads.

    New files have checksums; the caller must check whether an older file has them.

    Raises:
        StoreUnusable: This build of APSW lacks the extension.
    """
    create = apsw.SQLITE_OPEN_CREATE if may_create else 0
    flags = apsw.SQLITE_OPEN_READWRITE | create  # with a WAL, readers must write, too
    connection = apsw.Connection(str(path), flags, vfs=verifying_vfs())
    connection.reserve_bytes("main", _CHECKSUM_BYTES)
    return connection


@cache
def verifying_vfs() -> str:
    """Return the name of the VFS that verifies checksums."""
    with closing(apsw.Connection(":memory:")) as connection:
        try:
            apsw.sqlite_extra.load(connection, "cksumvfs")  # it stays loaded for the whole process
        except apsw.sqlite_extra.NotAvailable as error:
            raise StoreUnusable(
                "This APSW was built without SQLite's checksum extension; install its binary"
                " package, which has it."
            ) from error
    return "cksmvfs"


def connect(path: Path, patience_seconds: float) -> apsw.Connection:
    """Open a connection with all settings for durability and integrity, each of them verified.

    Raises:
        StoreUnusable: SQLite does not accept a setting, or the file has no checksums.
    """
    for _ in range(2):
        connection = _configured(path, patience_seconds)
        if has_checksums(connection):
            return connection
        # Another process may have created the file after this connection found it empty.
        close(connection)
    raise StoreUnusable(
        f"{path} has no checksums, or its first page, which says so, is damaged. Make a copy with"
        " `feedkeep backup`, which adds checksums, and put it in the place of the file."
    )


def close(connection: apsw.Connection) -> None:
    """Close a connection; without checksums, it leaves the write-ahead log to others."""
    if not has_checksums(connection):
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close()


def configure(connection: apsw.Connection, patience_seconds: float) -> apsw.Connection:
    """Apply the settings that only affect reading, and return the connection."""
    connection.set_busy_timeout(int(patience_seconds * 1000))
    # A plan must not depend on the values of parameters: SQLite would plan a prepared statement
    # again for each of them, and a join by key took 26 microseconds instead of 6.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for name, value in _OF_READING.items():
        connection.pragma(name, value)
    return connection


def _configured(path: Path, patience_seconds: float) -> apsw.Connection:
    connection = open_file(path)
    try:
        configure(connection, patience_seconds)
        _make_durable(connection, path)
    except BaseException:
        # Do not leave it to the garbage collector: all connections of a process share SQLite's
        # state of the log, and one that could not write it would keep the next one from reading it.
        connection.close()
        raise
    return connection


def _make_durable(connection: apsw.Connection, path: Path) -> None:
    for name, value in _SETTINGS.items():
        connection.pragma(name, value)
        found = connection.pragma(name)
        if found != value:
            raise StoreUnusable(f"SQLite does not accept {name}={value} for {path}: it is {found}.")


def has_checksums(connection: apsw.Connection) -> bool:
    """Whether the pages that a connection reads have checksums, and are verified."""
    return bool(connection.pragma("checksum_verification") == "1")


def assert_there(path: Path) -> None:
    """Check that the file exists and is not empty.

    Raises:
        StoreUnusable: It does not exist, is empty, or has disappeared.
    """
    assert_not_gone(path)
    if is_missing(path):
        raise StoreUnusable(
            f"There is no database sqlite:///{path}. Name another one by --database or"
            " FEEDKEEP_DATABASE; `feedkeep account create` and `feedkeep serve` create one."
        )


def prepare(path: Path) -> int:
    """Create the file if it does not exist, and migrate it; return the version it had.

    Raises:
        StoreUnusable: It cannot be opened, is not feedkeep's, is newer than this program, or has
            disappeared.
        StoreUnavailable: It is locked or full.
    """
    with _opening(path):
        assert_not_gone(path)
        _create_private(path)
        return _patiently(_bring_up_to_date, path)


def pending_in(path: Path, *, to_write: bool = False) -> PendingMigrations:
    """Return the pending migrations of a file, which may be missing, without running them.

    Raises as `prepare` does; unless it is `to_write`, a file may be read-only.
    """
    with _opening(path):
        assert_not_gone(path)
        if is_missing(path):
            return pending_migrations("sqlite", 0)
        if to_write:
            os.close(os.open(path, os.O_RDWR))
        return pending_migrations("sqlite", _patiently(_version, path))


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.CantOpenError, apsw.NotADBError, apsw.ReadOnlyError, OSError) as error:
        raise unusable(path, error) from error
    except UNAVAILABLE as error:
        raise as_store_error(error) from error


def _create_private(path: Path) -> None:
    """Create a file that only its owner can read: it has password hashes and people's lists."""
    make_folder(path)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _patiently(work: Callable[[Path], T], path: Path) -> T:
    """Retry work while another process holds a lock that SQLite's own timeout does not cover.

    While one process switches a new file to WAL mode, others fail immediately.
    """
    deadline = time.monotonic() + WRITER_PATIENCE_SECONDS
    while True:
        try:
            return work(path)
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def _bring_up_to_date(path: Path) -> int:
    was_made = says_made(path)  # first, since another process may create the database
    found = _version(path)  # before a setting changes a file that is not ours
    if found == 0 and was_made:
        raise gone(path, [lock_of(path)])
    with closing(connect(path, WRITER_PATIENCE_SECONDS)) as connection:
        for step in pending_migrations("sqlite", found).steps:
            with (
                logged(step) if found else nullcontext(),
                _transaction(connection, "BEGIN IMMEDIATE"),
            ):
                # Another process may have been first; under the write lock the answer is final.
                if connection.pragma("user_version") < step.number:
                    connection.execute(step.sql)
                    connection.pragma("application_id", APPLICATION_ID)
                    connection.pragma("user_version", step.number)
    return found


def _version(path: Path) -> int:
    looking = open_file(path, may_create=False)
    try:
        return check_ours(looking, path)
    finally:
        close(looking)


def faults(connection: apsw.Connection) -> list[str]:
    """Return a sentence for each fault that SQLite finds in a file."""
    try:
        found = [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
        orphans = list(islice(connection.execute("PRAGMA foreign_key_check"), _MAX_ORPHANS))
    except UNAVAILABLE as error:  # too damaged to be searched
        if not is_damage(error):
            raise
        return [f"a page cannot be read as it was written ({error})"]
    return found + [f"a row of table {row[0]} refers to a row that is missing" for row in orphans]


def check_ours(connection: apsw.Connection, path: Path) -> int:
    """Return the schema version of a file; 0 if it is empty.

    Raises:
        StoreUnusable: Another program, a build before 1.0 or a newer feedkeep wrote the file.
    """
    # Outside a transaction: damage to the planner's tables would end it without an error.
    connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    with _transaction(connection, "BEGIN"):
        version = connection.pragma("user_version")
        is_ours = connection.pragma("application_id") == APPLICATION_ID
        is_empty = connection.execute("SELECT count(*) FROM sqlite_schema").get == 0
    if not is_ours and (version or not is_empty):
        raise StoreUnusable(f"{path} is a database of another program; give feedkeep its own file.")
    assert isinstance(version, int)
    check_version("sqlite", version, str(path))
    return version


@contextmanager
def _transaction(connection: apsw.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


@contextmanager
def one_moment(connection: apsw.Connection) -> Iterator[None]:
    """Context manager: all reads see the file as of one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        roll_back(connection)


def roll_back(connection: apsw.Connection) -> None:
    """End the transaction, unless SQLite has already ended it."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
