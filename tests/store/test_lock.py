"""The lock that the programs that use an SQLite file share."""

import fcntl
import os
import threading

import pytest

from feedkeep.model.errors import StoreUnusable
from feedkeep.store.sqlite import lock


def test_lock_taken_by_a_restore_while_a_migration_returns_it_is_refused(tmp_path):
    path = tmp_path / "feedkeep.db"
    mine, theirs = lock.use(path), os.open(lock.lock_of(path), os.O_RDWR)
    try:
        with (  # noqa: PT012 - the lock is given up at the end of the block
            pytest.raises(StoreUnusable),
            lock.used_alone(path, mine),
        ):
            fcntl.flock(mine, fcntl.LOCK_UN)  # flock releases before it acquires the other kind
            fcntl.flock(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(mine)
        os.close(theirs)


def test_migration_waits_for_a_command_that_ends_soon(tmp_path, monkeypatch):
    path = tmp_path / "feedkeep.db"
    mine, command = lock.use(path), lock.use(path)
    waits = threading.Event()

    def ends(_):
        waits.set()
        os.close(command)

    monkeypatch.setattr("feedkeep.store.sqlite.lock.time.sleep", ends)
    with lock.used_alone(path, mine):
        assert waits.is_set()
    os.close(mine)
