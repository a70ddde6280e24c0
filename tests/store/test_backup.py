"""Backups of a SQLite file: whole, checked, made while others write, and never over anything."""

import asyncio
import os
import stat
import subprocess
import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from unittest import mock

import apsw
import pytest
from library import library

from feedkeep.model import Decision, Restored, Subscription, replace
from feedkeep.model.errors import StoreDamaged, StoreUnavailable, StoreUnusable
from feedkeep.rules.list_limits import counted
from feedkeep.runtime import wall_clock
from feedkeep.store.migrate import newest_version
from feedkeep.store.sqlite import SqliteStore, backup, copy_file, restore_file
from feedkeep.store.sqlite.connection import APPLICATION_ID, connect, has_checksums, open_file
from feedkeep.store.tables import TABLES

NOBODY = 65_534
ACCOUNT = 2**62
CACHE_BYTES = 2_000 * 1_024
"""Default size of SQLite's page cache, in bytes."""


@pytest.fixture
async def filled(path):
    """A database with a library."""
    store = await SqliteStore.open(path, wall_clock.now)
    await store.fill(library(2, 10))
    await store.close()
    return path


@pytest.fixture
def target(tmp_path):
    return tmp_path / "copy.db"


def without_extension(*lines):
    """Use SQLite as another program does."""
    script = "\n".join(["import apsw", *lines])
    subprocess.run([sys.executable, "-c", script], check=True)


async def contents(path):
    store = await SqliteStore.open(path, wall_clock.now)
    async with store.archive() as archive:
        found = [item async for some in archive.records() for item in some]
    await store.close()
    return found


def files(folder):
    """Return the names of all files but locks, also hidden ones."""
    return sorted(file.name for file in folder.iterdir() if file.suffix != ".lock")


async def test_copy_has_everything_is_ours_and_its_owners_alone(filled, target):
    with closing(connect(filled, 1)) as opened:  # more than fits into a cache
        long = f"printf('%.*c', {2 * CACHE_BYTES}, 'x')"
        opened.execute(f"UPDATE document SET body = {long} WHERE name = 'phone'")
    assert filled.stat().st_size > 2 * CACHE_BYTES
    copy_file(filled, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert files(target.parent) == ["copy.db", "feedkeep.db"]
    with connect(target, 1) as opened:
        assert opened.pragma("application_id") == APPLICATION_ID
        assert opened.pragma("user_version") == newest_version("sqlite")
    assert await contents(target) == await contents(filled)


async def test_copy_made_while_others_write_has_all_that_was_stored_before(filled, tmp_path):
    first = 10**15 + 10 * 10 + 1  # the stamp of the first change
    stored, is_over = 0, False

    def subscribe(snapshot):
        stamp = snapshot.last_stamp + 1
        guid = f"{stamp % 2**32:08x}-0000-4000-9000-000000000009"
        entry = Subscription(guid, f"https://{stamp}.example", True, stamp)
        return Decision(None, [entry], [], stamp, counted(snapshot.counts, None, entry))

    async def write():
        nonlocal stored
        store = await SqliteStore.open(filled, wall_clock.now)
        while not is_over:
            await asyncio.gather(*(store.entries.change(ACCOUNT, [], subscribe) for _ in range(16)))
            stored += 16
        await store.close()

    writing = asyncio.create_task(write())
    for number in range(10):
        before = stored
        target = tmp_path / f"{number}.db"
        await asyncio.to_thread(copy_file, filled, target)
        with connect(target, 1) as opened:
            entries = opened.execute("SELECT count(*) FROM entry").get - 20
            clock = opened.execute("SELECT max(last_stamp) FROM account").get
            newest = opened.execute(
                "SELECT max(revision) FROM entry WHERE account_id = ?", (ACCOUNT,)
            ).get
            assert entries >= before
            assert clock == newest or newest < first  # no half of a batch
    is_over = True
    await writing
    assert stored > 16


def test_time_of_a_backup_is_stored_beside_the_database(path):
    assert backup.last_backup(path) is None
    backup.note_backup(path, 1_700_000_000_000_001)
    assert backup.last_backup(path) == 1_700_000_000_000_001
    path.with_name(f"{path.name}-backup").write_bytes(b"\xff nothing that can be read")
    assert backup.last_backup(path) is None


async def test_no_file_is_overwritten_nor_one_that_appears_meanwhile(filled, target, monkeypatch):
    log = target.with_name("copy.db-wal")
    for existing in (target, log):
        existing.write_bytes(b"precious")
        with pytest.raises(StoreUnusable, match="exists, and is not overwritten"):
            copy_file(filled, target)
        assert existing.read_bytes() == b"precious"
        existing.unlink()
    sync = backup._sync

    def and_another(file):
        sync(file)
        target.write_bytes(b"precious")

    monkeypatch.setattr(backup, "_sync", and_another)
    with pytest.raises(StoreUnusable, match="File exists"):
        copy_file(filled, target)
    assert target.read_bytes() == b"precious"
    assert files(target.parent) == ["copy.db", "feedkeep.db"]


async def test_copy_is_renamed_where_files_cannot_be_linked(filled, target, monkeypatch):
    unsupported = mock.Mock(side_effect=PermissionError(1, "Operation not permitted"))
    monkeypatch.setattr(os, "link", unsupported)
    copy_file(filled, target)
    assert await contents(target) == await contents(filled)
    assert files(target.parent) == ["copy.db", "feedkeep.db"]


async def test_copy_is_on_the_disk_before_it_has_its_name(filled, target, monkeypatch):
    seen = []
    sync = os.fsync

    def noted(descriptor):
        seen.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), target.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    copy_file(filled, target)
    assert seen == [(False, False), (True, True)]


async def test_damaged_database_is_not_copied(filled, target):
    with closing(apsw.Connection(str(filled))) as opened:
        opened.execute("DELETE FROM account")  # without a look at what refers to it
    with pytest.raises(StoreUnusable, match="damaged, and was not copied"):
        copy_file(filled, target)
    content = bytearray(filled.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    filled.write_bytes(content)
    with pytest.raises(StoreDamaged):
        copy_file(filled, target)
    assert files(target.parent) == ["feedkeep.db"]


async def test_changes_of_another_program_are_copied_if_that_is_requested(filled, target):
    without_extension(
        f"c = apsw.Connection({str(filled)!r})",
        "c.execute('UPDATE entry SET feed_url = ? WHERE new_guid IS NULL', ('https://x.example',))",
    )
    with pytest.raises(StoreDamaged):
        copy_file(filled, target)
    copy_file(filled, target, believe_checksums=False)
    opened = open_file(target)
    assert has_checksums(opened)
    assert opened.execute("SELECT max(feed_url) FROM entry").get == "https://x.example"


async def test_file_without_checksums_is_refused_and_its_copy_has_them(filled, target):
    plain = target.with_name("plain.db")
    without_extension(
        "from feedkeep.store.migrate import migrations",
        f"c = apsw.Connection({str(plain)!r})",
        "c.execute(migrations('sqlite')[0].sql)",
        f"c.execute('PRAGMA application_id = {APPLICATION_ID}')",
        f"c.execute('PRAGMA user_version = {newest_version('sqlite')}')",
        f"c.execute('ATTACH ? AS other', ({str(filled)!r},))",
        f"for table in {[table.name for table in TABLES]!r}:",
        "    c.execute(f'INSERT INTO {table} SELECT * FROM other.{table}')",
    )
    with pytest.raises(StoreUnusable, match="no checksums"):
        await contents(plain)
    copy_file(plain, target)
    assert await contents(target) == await contents(filled)


async def test_file_in_a_read_only_folder_is_not_called_unreadable(filled):
    # Root may write everywhere, and no other user may read what pytest keeps.
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        read_only, writable = Path(folder) / "backups", Path(folder) / "here"
        read_only.mkdir()
        writable.mkdir()
        copy_file(filled, read_only / "copy.db")
        for place, mode in (
            (Path(folder), 0o755), (writable, 0o777), (read_only / "copy.db", 0o644),
            (read_only, 0o555),
        ):  # fmt: skip
            place.chmod(mode)
        stack.callback(read_only.chmod, 0o755)
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
            stack.callback(os.seteuid, 0)
        with pytest.raises(StoreUnusable, match=r"since its folder is read-only.*Copy it"):
            copy_file(read_only / "copy.db", writable / "copy.db")


def test_file_that_is_no_database_of_ours_is_neither_copied_nor_restored(path, target):
    with pytest.raises(StoreUnusable, match="There is no file"):
        copy_file(path, target)
    path.write_bytes(b"a letter to my aunt" * 100)
    with pytest.raises(StoreUnusable, match="cannot be read as a feedkeep database"):
        copy_file(path, target)
    path.unlink()
    apsw.Connection(str(path)).execute("CREATE TABLE theirs (id)")
    with pytest.raises(StoreUnusable, match="another program"):
        copy_file(path, target)
    assert not target.exists()
    path.unlink()
    path.touch()
    for version in (None, 0, 1):
        if version is not None:
            with closing(apsw.Connection(str(path))) as opened:
                opened.pragma("user_version", version)
        with pytest.raises(StoreUnusable, match=r"is empty|another program"):
            restore_file(path, target, Restored)
        assert files(path.parent) == ["feedkeep.db"]


def clocks(path):
    with closing(open_file(path)) as opened:
        return opened.execute("SELECT last_stamp, last_action_stamp FROM account").fetchall()


async def test_restored_file_has_everything_and_clocks_that_were_moved(filled, tmp_path):
    def moved_on(account, newest):
        one, two = account.last_stamp + 5, account.last_action_stamp + 5
        return Restored(replace(account, last_stamp=one, last_action_stamp=two), newest)

    restore_file(filled, tmp_path / "copy.db", moved_on)
    assert clocks(tmp_path / "copy.db") == [(one + 5, two + 5) for one, two in clocks(filled)]
    restore_file(filled, tmp_path / "same.db", Restored)
    assert await contents(tmp_path / "same.db") == await contents(filled)
    # But none where a store is open.
    store = await SqliteStore.open(filled, wall_clock.now)
    filled.unlink()
    with pytest.raises(StoreUnusable, match="is in use"):
        restore_file(tmp_path / "same.db", filled, lambda last: last)
    await store.close()
    assert not filled.exists()


async def test_copy_that_cannot_be_written_is_told_and_leaves_nothing(filled, target, monkeypatch):
    with pytest.raises(StoreUnusable, match="No such file or directory"):
        copy_file(filled, target.parent / "nowhere" / "copy.db")

    def full(_, partial, _believe):
        partial.write_bytes(b"half")
        raise apsw.FullError

    monkeypatch.setattr(backup, "_copy", full)
    with pytest.raises(StoreUnavailable, match="no room"):
        copy_file(filled, target)
    assert files(target.parent) == ["feedkeep.db"]
