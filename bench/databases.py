"""Empty databases for the bench: SQLite files, and PostgreSQL as a provider would run it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

# The tests have a PostgreSQL server from a package, and what starts and stops it.
sys.path.append(str(Path(__file__).parent.parent / "tests"))
from postgres_server import PostgresServer, execute, new_database

_POSTGRES = {
    "fsync": "on",
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
}
_numbers = count()
_ENTRY_BYTES = "SELECT pg_total_relation_size('feedkeep.entry')"


def sqlite(folder: Path) -> Callable[[], str]:
    """Return what names a new SQLite file each time."""
    return lambda: f"sqlite:///{folder}/{next(_numbers)}.db"


def sqlite_bytes(database: str) -> int:
    """Return how large a closed SQLite database is."""
    return Path(database.removeprefix("sqlite:///")).stat().st_size


@contextmanager
def postgres() -> Iterator[Callable[[], str]]:
    """Start a PostgreSQL server; give what names a new database of it each time."""
    with PostgresServer(**_POSTGRES) as server:
        yield lambda: new_database(server.url)


def postgres_bytes(database: str) -> int:
    """Return how much room the entries of a PostgreSQL database take up, with their indexes."""
    return int(execute(database, _ENTRY_BYTES))
