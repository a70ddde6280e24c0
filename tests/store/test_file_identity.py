"""A database whose files were moved away acknowledges nothing; what is in use is not restored."""

import asyncio
import fcntl
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_sqlite import ALICE, GUID, run

from feedkeep.model import Decision, Snapshot, Subscription
from feedkeep.model.errors import StoreUnavailable, StoreUnusable
from feedkeep.rules.list_limits import count
from feedkeep.runtime import wall_clock
from feedkeep.store.sqlite import SqliteStore, lock
from feedkeep.store.sqlite import file_identity as place
from feedkeep.store.sqlite.errors import unusable


def subscribe(snapshot: Snapshot) -> Decision[int]:
    stamp = snapshot.last_stamp + 1
    entry = Subscription(GUID, f"https://a.example/{stamp}", True, stamp)
    return Decision(stamp, [entry], [], stamp, count([entry]))


def renamed(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))


def replaced(file: Path) -> None:
    renamed(file)
    file.write_bytes(file.with_name("elsewhere").read_bytes())


def put_back(file: Path) -> None:
    file.with_name("elsewhere").replace(file)


@pytest.mark.parametrize("lose", [renamed, replaced])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
async def test_nothing_is_acknowledged_while_a_file_is_not_in_its_place(
    path, monkeypatch, ending, lose, store
):
    file = Path(f"{path}{ending}")

    async def work(store):
        await store.entries.change(ALICE, [GUID], subscribe)
        lose(file)
        for refused in (
            store.entries.change(ALICE, [GUID], subscribe),
            store.entries.view(ALICE, GUID),
            store.entries.whole(ALICE),
            store.assert_ready(),
        ):
            with pytest.raises(StoreUnavailable, match="deleted, renamed or replaced"):
                await refused
        put_back(file)
        monkeypatch.setattr(store._runner._translating.place, "_next_look", 0.0)  # a second later
        await store.assert_ready()
        stamp = await store.entries.change(ALICE, [GUID], subscribe)
        view = await store.entries.view(ALICE, GUID)
        assert view is not None
        assert view.subscription.subscription_changed == stamp

    run(path, work)
    assert list(await store.faults()) == []
    assert (await store.entries.whole(ALICE)).entries != {}


async def test_a_database_behind_a_link_has_its_log_beside_the_file(path, store):
    real = path.with_name("real.db")
    path.symlink_to(real)
    renamed(real.with_name("real.db-wal"))
    with pytest.raises(StoreUnavailable, match="deleted, renamed or replaced"):
        await store.entries.change(ALICE, [GUID], subscribe)


async def test_whoever_only_reads_notices_within_a_second(path, monkeypatch, store):
    now = 1_000.0
    monkeypatch.setattr(place.time, "monotonic", lambda: now)
    await store.entries.change(ALICE, [GUID], subscribe)
    renamed(path)
    now += 0.99
    assert await store.entries.view(ALICE, GUID) is not None
    now += 0.02
    with pytest.raises(StoreUnavailable, match="deleted, renamed or replaced"):
        await store.entries.view(ALICE, GUID)


def test_what_is_in_use_is_not_restored(path):
    async def work(_):
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
        with pytest.raises(StoreUnusable, match="is in use: stop the service"), lock.alone(path):
            pass

    run(path, work)
    with lock.alone(path):
        assert not path.exists()


def test_what_is_being_restored_is_not_opened(path):
    async def open_it():
        await SqliteStore.open(path, wall_clock.now)

    with lock.alone(path), pytest.raises(StoreUnusable, match="is being restored"):
        asyncio.run(open_it())
    assert not path.exists()


def test_two_use_a_database_and_a_third_that_fails_leaves_it(path):
    first, second = lock.use(path), lock.use(path)
    os.close(first)
    with pytest.raises(StoreUnusable, match="is in use"), lock.alone(path):
        pass
    path.write_bytes(b"a letter to my aunt" * 100)
    with pytest.raises(StoreUnusable, match="Cannot use"):
        asyncio.run(SqliteStore.open(path, wall_clock.now))
    os.close(second)
    with lock.alone(path):
        pass


def test_a_place_where_nothing_can_be_locked_is_told(path, monkeypatch):
    (path.parent / "file").touch()
    with pytest.raises(StoreUnusable, match="as the database: Not a directory"):
        lock.use(path.parent / "file" / "folder" / "feedkeep.db")

    def unsupported(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(StoreUnusable, match=r"Cannot lock .*Operation not supported"):
        lock.use(path)


def test_a_file_that_may_not_be_opened_is_told_with_whose_it_has_to_be(path):
    told = str(unusable(path, PermissionError(13, "Permission denied", str(path))))
    assert "as the database: Permission denied. " in told
    assert told.endswith(
        f"{path.parent} and all files in it have to belong to the user who runs this."
    )


def test_a_folder_on_a_read_only_file_system_is_told_with_what_to_do(path, monkeypatch):
    """`tests/proofs/test_damage.py` has a real one, where one can be mounted."""
    flags = os.ST_RDONLY
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=flags))
    told = str(unusable(path, OSError(30, "Read-only file system", f"{path}-wal")))
    assert f"Read-only file system ({path}-wal). " in told
    assert "Copy it, with its -wal if there is one" in told
