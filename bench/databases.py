"""Empty databases: SQLite files, and PostgreSQL configured as in production."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

# The tests install a PostgreSQL server from a package, and can start and stop it.
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
    """Return a function that returns the URL of a new SQLite file at each call."""
    return lambda: f"sqlite:///{folder}/{next(_numbers)}.db"


def sqlite_bytes(database: str) -> int:
    """Return the size of a closed SQLite database."""
    return Path(database.removeprefix("sqlite:///")).stat().st_size


@contextmanager
def postgres() -> Iterator[Callable[[], str]]:
    """Context manager: start a PostgreSQL server; yield a function that creates databases in it."""
    with PostgresServer(**_POSTGRES) as server:
        yield lambda: new_database(server.url)


def postgres_bytes(database: str) -> int:
    """Return the size of the entries in a PostgreSQL database, with their indexes."""
    return int(execute(database, _ENTRY_BYTES))
