"""Online copies of a SQLite database: verified, durable and atomic."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from feedkeep.model import Stamp
from feedkeep.model.errors import StoreUnavailable, StoreUnusable
from feedkeep.store.portable.accounts import DecideRestored, note_restored
from feedkeep.store.sqlite.connection import (
    READER_PATIENCE_SECONDS,
    check_ours,
    connect,
    faults,
    has_checksums,
    open_file,
    prepare,
)
from feedkeep.store.sqlite.driver import SqliteStatements, done, with_id
from feedkeep.store.sqlite.errors import Translating
from feedkeep.store.sqlite.lock import alone, note_made
from feedkeep.store.sqlite.rows import ROWS


def restore_file(source: Path, target: Path, decide: DecideRestored) -> None:
    """Copy a backup to the database `target`, and store the result of `decide` for each account.

    Raises as `copy_file` does.

    Raises:
        StoreUnusable: Also if `target` is in use, even if its file was removed.
    """
    with alone(target) as lock:
        copy_file(source, target, finish=lambda partial: _note_restored(partial, decide))
        note_made(lock)


def copy_file(
    source: Path,
    target: Path,
    *,
    believe_checksums: bool = True,
    finish: Callable[[Path], None] = lambda _: None,
) -> None:
    """Copy the database `source` to the new file `target`.

    The copy has every change committed before the call; writers are not delayed. It is checked and
    synced before it is renamed to `target`; no file is ever overwritten.

    Without `believe_checksums`, pages with a wrong checksum are copied, too. `finish` may change
    the copy before it is renamed.

    Raises:
        StoreUnusable: `source` is damaged or not a feedkeep database, or `target` exists or cannot
            be created.
        StoreUnavailable: The disk is full, or the database is locked.
    """
    _refuse_what_is_there(target)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    with Translating(), _file_errors_translated(source, target):
        try:
            # Readable by the owner only, from the start: it contains password hashes.
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            _copy(source, partial, believe_checksums)
            _check(partial)
            finish(partial)
            _sync(partial)
            _name(partial, target)
            _sync(target.parent)
        finally:
            partial.unlink(missing_ok=True)


def note_backup(source: Path, now: Stamp) -> None:
    """Record the time of a backup beside the database; no effect if nothing can be written."""
    note = _note_of(source)
    new = note.with_name(f"{note.name}.new")
    with contextlib.suppress(OSError):
        try:
            new.write_text(f"{now}\n")
            new.replace(note)  # a full disk leaves the former file
        finally:
            new.unlink(missing_ok=True)


def last_backup(source: Path) -> Stamp | None:
    """Return the recorded time of the last backup; None if unknown."""
    try:
        return Stamp(int(_note_of(source).read_text()))
    except (OSError, ValueError):
        return None


def _note_of(source: Path) -> Path:
    return source.with_name(f"{source.name}-backup")


def _refuse_what_is_there(target: Path) -> None:
    for path in (target, target.with_name(f"{target.name}-wal")):
        if os.path.lexists(path):
            raise StoreUnusable(f"{path} exists, and is not overwritten; move it away first.")


@contextmanager
def _file_errors_translated(source: Path, target: Path) -> Iterator[None]:
    if not source.exists():
        raise StoreUnusable(f"There is no file {source}.")
    try:
        yield
    except (apsw.CantOpenError, apsw.NotADBError, apsw.ReadOnlyError) as error:
        if not os.access(source.parent, os.W_OK, effective_ids=True):
            raise StoreUnusable(
                f"{source} cannot be opened, since its folder is read-only: SQLite writes a file"
                " beside it. Copy it, with its -wal if there is one, to a folder that can be"
                " written to."
            ) from error
        raise StoreUnusable(f"{source} cannot be read as a feedkeep database.") from error
    except apsw.FullError as error:
        raise StoreUnavailable(f"The disk has no room for {target}.") from error
    except OSError as error:
        raise StoreUnusable(f"Cannot write {target}: {error.strerror}.") from error


def _copy(source: Path, partial: Path, believe_checksums: bool) -> None:
    with (
        closing(open_file(source, may_create=False)) as original,
        closing(open_file(partial)) as copy,
    ):
        original.set_busy_timeout(int(READER_PATIENCE_SECONDS * 1000))
        if check_ours(original, source) == 0:
            raise StoreUnusable(f"{source} is empty: nothing of feedkeep was ever stored in it.")
        is_complete = has_checksums(original)
        if not believe_checksums:
            original.execute("PRAGMA checksum_verification = OFF")
        copy.pragma("user_version", 1)  # writes a first page, which enables checksums
        with copy.backup("main", original, "main") as pages:
            pages.step(-1)
    if not is_complete:
        with closing(open_file(partial)) as copy:
            copy.execute("VACUUM")  # writes each page again, with its checksum


def _check(partial: Path) -> None:
    with closing(open_file(partial)) as connection:
        found = faults(connection)
    if found:
        raise StoreUnusable(f"The database is damaged, and was not copied: {found[0]}.")


def _note_restored(partial: Path, decide: DecideRestored) -> None:
    prepare(partial)  # a backup from an older feedkeep may lack a clock
    with closing(connect(partial, READER_PATIENCE_SECONDS)) as copy:
        accounts: list[tuple[Any, ...]] = copy.execute("SELECT account_id FROM account").fetchall()
        statements = SqliteStatements(copy)
        copy.execute("BEGIN")
        for (account_id,) in accounts:
            if (account := with_id(copy, account_id)) is not None:
                done(note_restored(statements, account, ROWS, decide))
        copy.execute("COMMIT")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _name(partial: Path, target: Path) -> None:
    """Rename the copy, but never replace a file: a link fails if the name exists."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links, such as a memory stick's
        _refuse_what_is_there(target)
        partial.rename(target)
