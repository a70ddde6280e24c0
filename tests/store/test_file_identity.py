"""A database whose files were moved away acknowledges nothing; what is in use is not restored."""

import fcntl
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from small_lists import ALICE, G1, opened, subscribe

from feedkeep.model.errors import StoreUnavailable, StoreUnusable
from feedkeep.runtime import wall_clock
from feedkeep.store.sqlite import SqliteStore, lock
from feedkeep.store.sqlite import file_identity as place
from feedkeep.store.sqlite.errors import unusable


def renamed(file):
    file.rename(file.with_name("elsewhere"))


def replaced(file):
    renamed(file)
    file.write_bytes(file.with_name("elsewhere").read_bytes())


def put_back(file):
    file.with_name("elsewhere").replace(file)


@pytest.mark.parametrize("lose", [renamed, replaced])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
async def test_nothing_is_acknowledged_while_a_file_is_not_in_its_place(
    path, monkeypatch, ending, lose
):
    file = Path(f"{path}{ending}")
    async with opened(path) as store:
        await store.entries.change(ALICE, [G1], subscribe)
        lose(file)
        for refused in (
            store.entries.change(ALICE, [G1], subscribe),
            store.entries.view(ALICE, G1),
            store.entries.whole(ALICE),
            store.assert_ready(),
        ):
            with pytest.raises(StoreUnavailable, match="deleted, renamed or replaced"):
                await refused
        put_back(file)
        monkeypatch.setattr(store._runner._translating.place, "_next_look", 0.0)  # a second later
        await store.assert_ready()
        stamp = await store.entries.change(ALICE, [G1], subscribe)
        assert (await store.entries.view(ALICE, G1)).subscription.subscription_changed == stamp
    async with opened(path) as store:
        assert list(await store.faults()) == []
        assert (await store.entries.whole(ALICE)).entries != {}


async def test_database_behind_a_link_has_its_log_beside_the_file(path):
    real = path.with_name("real.db")
    path.symlink_to(real)
    async with opened(path) as store:
        renamed(real.with_name("real.db-wal"))
        with pytest.raises(StoreUnavailable, match="deleted, renamed or replaced"):
            await store.entries.change(ALICE, [G1], subscribe)


async def test_reader_notices_within_a_second_that_a_file_is_lost(path, monkeypatch):
    now = 1_000.0
    monkeypatch.setattr(place.time, "monotonic", lambda: now)
    async with opened(path) as store:
        await store.entries.change(ALICE, [G1], subscribe)
        renamed(path)
        now += 0.99
        assert await store.entries.view(ALICE, G1) is not None
        now += 0.02
        with pytest.raises(StoreUnavailable, match="deleted, renamed or replaced"):
            await store.entries.view(ALICE, G1)


async def test_database_in_use_is_not_restored_and_one_being_restored_is_not_opened(path):
    async with opened(path):
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
        with pytest.raises(StoreUnusable, match="is in use: stop the service"), lock.alone(path):
            pass
    with lock.alone(path):
        assert not path.exists()
        with pytest.raises(StoreUnusable, match="is being restored"):
            await SqliteStore.open(path, wall_clock.now)
    assert not path.exists()


async def test_two_use_a_database_and_a_third_that_fails_leaves_it(path):
    first, second = lock.use(path), lock.use(path)
    os.close(first)
    with pytest.raises(StoreUnusable, match="is in use"), lock.alone(path):
        pass
    path.write_bytes(b"a letter to my aunt" * 100)
    with pytest.raises(StoreUnusable, match="Cannot use"):
        await SqliteStore.open(path, wall_clock.now)
    os.close(second)
    with lock.alone(path):
        pass


def test_lock_taken_by_a_restore_while_a_migration_returns_it_is_refused(path):
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


def test_migration_waits_for_a_command_that_ends_soon(path, monkeypatch):
    mine, command = lock.use(path), lock.use(path)
    waits = threading.Event()

    def ends(_):
        waits.set()
        os.close(command)

    monkeypatch.setattr("feedkeep.store.sqlite.lock.time.sleep", ends)
    with lock.used_alone(path, mine):
        assert waits.is_set()
    os.close(mine)


def test_place_where_nothing_can_be_locked_is_told(path, monkeypatch):
    (path.parent / "file").touch()
    with pytest.raises(StoreUnusable, match="as the database: Not a directory"):
        lock.use(path.parent / "file" / "folder" / "feedkeep.db")
    unsupported = mock.Mock(side_effect=OSError(95, "Operation not supported"))
    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(StoreUnusable, match=r"Cannot lock .*Operation not supported"):
        lock.use(path)


def test_file_that_cannot_be_opened_is_told_with_what_to_do(path, monkeypatch):
    """`tests/proofs/test_damage.py` has a real read-only file system, where one can be mounted."""
    told = str(unusable(path, PermissionError(13, "Permission denied", str(path))))
    assert "as the database: Permission denied. " in told
    assert told.endswith(
        f"{path.parent} and all files in it have to belong to the user who runs this."
    )
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    told = str(unusable(path, OSError(30, "Read-only file system", f"{path}-wal")))
    assert f"Read-only file system ({path}-wal). " in told
    assert "Copy it, with its -wal if there is one" in told
