"""Copying a SQLite database as a file, while others use it: checked, on the disk, never half."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from feedkeep.errors import StoreUnavailable, StoreUnusable
from feedkeep.store.sqlite.connection import (
    READER_PATIENCE_SECONDS,
    check_ours,
    damages,
    open_file,
    unavailable_if_it_fails,
)


def copy_file(source: Path, target: Path, *, believe_checksums: bool = True) -> None:
    """Make `target` a whole copy of the database `source` as it is at this moment.

    It holds every change that was committed before; who writes meanwhile is not held up. It is
    checked, and on the disk, before it gets its name; nothing is ever overwritten. Unless
    `believe_checksums`, pages are copied also where their checksum is wrong.

    Raises:
        StoreUnusable: `source` is no feedkeep database or is damaged, or `target` is there already
            or cannot be made.
        StoreUnavailable: There is no room, or the database is locked.
    """
    _refuse_what_is_there(target)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    with unavailable_if_it_fails(), _told(source, target):
        try:
            # Ours alone to read before anything is in it: there are hashes of passwords in it.
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            _vacuum(source, partial, believe_checksums)
            _add_checksums(partial)
            _check(partial)
            _sync(partial)
            _name(partial, target)
            _sync(target.parent)
        finally:
            partial.unlink(missing_ok=True)


def _refuse_what_is_there(target: Path) -> None:
    for path in (target, target.with_name(f"{target.name}-wal")):
        if os.path.lexists(path):
            raise StoreUnusable(f"{path} is there already; it is not overwritten.")


@contextmanager
def _told(source: Path, target: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.CantOpenError, apsw.NotADBError) as error:
        raise StoreUnusable(f"{source} cannot be read as a feedkeep database.") from error
    except apsw.FullError as error:
        raise StoreUnavailable(f"There is no room for {target}.") from error
    except OSError as error:
        raise StoreUnusable(f"Cannot write {target}: {error.strerror}.") from error


def _vacuum(source: Path, partial: Path, believe_checksums: bool) -> None:
    with closing(open_file(source, may_create=False)) as connection:
        connection.set_busy_timeout(int(READER_PATIENCE_SECONDS * 1000))
        if not believe_checksums:
            connection.execute("PRAGMA checksum_verification = OFF")
        check_ours(connection, source)
        connection.execute("VACUUM INTO ?", (str(partial),))


def _add_checksums(partial: Path) -> None:
    """Write all pages again.

    SQLite's extension learns from the first page of a file that there are checksums in it, and
    VACUUM INTO writes that page last: what did not fit into its cache has none.
    """
    with closing(open_file(partial)) as connection:
        connection.execute("PRAGMA checksum_verification = OFF")
        connection.execute("VACUUM")


def _check(partial: Path) -> None:
    with closing(open_file(partial)) as connection:
        found = damages(connection)
    if found:
        raise StoreUnusable(f"The database is damaged, and was not copied: {found[0]}.")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _name(partial: Path, target: Path) -> None:
    """Give the copy its name, unless something has it; a link never replaces anything."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links, such as a memory stick's
        _refuse_what_is_there(target)
        partial.rename(target)
