"""Connections to a SQLite file: durable, checked, brought up to date; and what its errors mean."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from feedkeep.errors import StoreUnavailable, StoreUnusable
from feedkeep.model import T
from feedkeep.store.migrate import migrations

APPLICATION_ID = 0x666B6565
"""Marks a SQLite file as feedkeep's: the letters "fkee"."""

WRITER_PATIENCE_SECONDS = 5.0
"""How long a writer waits for another process that is writing."""

READER_PATIENCE_SECONDS = 0.25
"""How long a reader waits: in WAL mode only while another process recovers from a crash."""

_RETRY_SECONDS = 0.01

# On every connection: `synchronous` and `foreign_keys` are not kept in the file.
_SETTINGS: dict[str, str | int] = {
    "journal_mode": "wal",
    "synchronous": 2,  # FULL: a commit is on the disk before it returns
    "fullfsync": 1,  # on macOS, fsync alone leaves data in the drive's own cache
    "checkpoint_fullfsync": 1,
    "foreign_keys": 1,
    "trusted_schema": 0,
    "cell_size_check": 1,
}

# What waiting, or an administrator, can mend. Anything else is a defect of ours.
_UNAVAILABLE = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.FullError,
    apsw.IOError,
    apsw.InterruptError,
    apsw.LockedError,
    apsw.NoMemError,
    apsw.NotADBError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
)


@contextmanager
def unavailable_if_it_fails() -> Iterator[None]:
    """Turn SQLite's errors that are nobody's fault here into `StoreUnavailable`."""
    try:
        yield
    except _UNAVAILABLE as error:
        raise StoreUnavailable(f"The SQLite database cannot be used now: {error}") from error


def connect(path: Path, patience_seconds: float) -> apsw.Connection:
    """Open a connection with every setting that durability and integrity need, each verified."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(int(patience_seconds * 1000))
    for name, value in _SETTINGS.items():
        connection.pragma(name, value)
        found = connection.pragma(name)
        if found != value:
            raise StoreUnusable(f"SQLite does not take {name}={value} for {path}: it says {found}.")
    return connection


def prepare(path: Path) -> int:
    """Create the file if it is not there, and bring it up to date; return the version it had.

    Raises:
        StoreUnusable: It cannot be opened, is not feedkeep's, or is newer than this program.
        StoreUnavailable: It is locked or full.
    """
    try:
        _create_private(path)
        return _patiently(_bring_up_to_date, path)
    except (apsw.CantOpenError, apsw.NotADBError, apsw.ReadOnlyError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StoreUnusable(f"Cannot use {path} as the database: {reason}.") from error
    except _UNAVAILABLE as error:
        raise StoreUnavailable(f"Cannot use {path} as the database now: {error}.") from error


def newest_version() -> int:
    """Return the version of the schema that this program works with."""
    return len(migrations("sqlite"))


def _create_private(path: Path) -> None:
    """Let only the owner read it: it holds hashes of passwords, and people's lists."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _patiently(work: Callable[[Path], T], path: Path) -> T:
    """Repeat what another process holds up: SQLite's own timeout does not cover every lock.

    While one process turns a new file to WAL mode, the others fail at once.
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
    with closing(apsw.Connection(str(path))) as connection:
        found = check_ours(connection, path)  # before a setting changes a file that is not ours
    with closing(connect(path, WRITER_PATIENCE_SECONDS)) as connection:
        for step in migrations("sqlite")[found:]:
            with _transaction(connection, "BEGIN IMMEDIATE"):
                # Another process may have been first; under the write lock the answer is final.
                if connection.pragma("user_version") < step.number:
                    connection.execute(step.sql)
                    connection.pragma("application_id", APPLICATION_ID)
                    connection.pragma("user_version", step.number)
    return found


def damages(connection: apsw.Connection) -> list[str]:
    """Return a sentence for everything that SQLite finds wrong with a file."""
    try:
        found = [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
        orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    except (apsw.CorruptError, apsw.NotADBError) as error:  # too broken to be searched
        return [str(error)]
    return found + [f"a row of table {row[0]} refers to a row that is missing" for row in orphans]


def check_ours(connection: apsw.Connection, path: Path) -> int:
    """Return the version of the schema in a file; 0 if it is empty.

    Raises:
        StoreUnusable: It is another program's, or newer than this one.
    """
    with _transaction(connection, "BEGIN"):
        version = connection.pragma("user_version")
        is_ours = connection.pragma("application_id") == APPLICATION_ID
        is_empty = connection.execute("SELECT count(*) FROM sqlite_schema").get == 0
    if not is_ours and not is_empty:
        raise StoreUnusable(f"{path} is a database of another program; give feedkeep its own file.")
    if version > newest_version():
        raise StoreUnusable(
            f"{path} has schema version {version}; this feedkeep knows versions up to"
            f" {newest_version()}. Install the newer feedkeep that wrote it."
        )
    assert isinstance(version, int)
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


def roll_back(connection: apsw.Connection) -> None:
    """End the transaction, if SQLite has not ended it by itself."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
