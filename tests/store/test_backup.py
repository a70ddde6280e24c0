"""Backups of a SQLite file: whole, checked, made while others write, and never over anything."""

import asyncio
import os
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, closing
from pathlib import Path

import apsw
import pytest
from forms import in_the_long_form
from library import library

from feedkeep.model import (
    Account,
    AccountId,
    Decision,
    Entry,
    Guid,
    Restored,
    Stamp,
    Subscription,
    replace,
)
from feedkeep.model.errors import StoreDamaged, StoreUnavailable, StoreUnusable
from feedkeep.rules.list_limits import counted
from feedkeep.runtime import wall_clock
from feedkeep.store.migrate import newest_version
from feedkeep.store.sqlite import SqliteStore, backup, copy_file, restore_file
from feedkeep.store.sqlite.connection import (
    APPLICATION_ID,
    connect,
    has_checksums,
    open_file,
)

NOBODY = 65_534
ACCOUNT = AccountId(2**62)
TABLES = (
    "account", "token", "entry", "former_entry", "deletion", "episode_action", "document",
    "feed_label",
)  # fmt: skip
CACHE_BYTES = 2_000 * 1_024
"""How much of a file SQLite keeps in memory by default."""


def fill(path: Path, accounts: int = 2, entries: int = 10) -> None:
    async def go() -> None:
        store = await SqliteStore.open(path, wall_clock.now)
        await store.fill(library(accounts, entries))
        await store.close()

    asyncio.run(go())


def without_extension(*lines: str) -> None:
    """Use SQLite as another program does."""
    script = "\n".join(["import apsw", *lines])
    subprocess.run([sys.executable, "-c", script], check=True)


def contents(path: Path) -> list[object]:
    async def go() -> list[object]:
        store = await SqliteStore.open(path, wall_clock.now)
        async with store.archive() as archive:
            found: list[object] = [item async for some in archive.records() for item in some]
        await store.close()
        return found

    return asyncio.run(go())


def files(folder: Path) -> list[str]:
    """Return the names of all files but locks, also hidden ones."""
    return sorted(file.name for file in folder.iterdir() if file.suffix != ".lock")


def test_a_copy_has_everything_is_ours_and_its_owners_alone(path, tmp_path):
    fill(path)
    target = tmp_path / "copy.db"
    copy_file(path, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert files(tmp_path) == ["copy.db", "feedkeep.db"]
    with connect(target, 1) as opened:
        assert opened.pragma("application_id") == APPLICATION_ID
        assert opened.pragma("user_version") == newest_version("sqlite")
    assert contents(target) == contents(path)


@in_the_long_form
def test_a_copy_of_more_than_fits_into_a_cache_is_whole(path, tmp_path):
    fill(path, accounts=1, entries=20_000)
    assert path.stat().st_size > 1.5 * CACHE_BYTES
    copy_file(path, tmp_path / "copy.db")
    assert contents(tmp_path / "copy.db") == contents(path)


def test_a_copy_made_while_others_write_has_all_that_was_stored_before(path, tmp_path):
    fill(path)
    first = 10**15 + 10 * 10 + 1  # the stamp of the first change
    stored = 0
    is_over = threading.Event()

    def subscribe(snapshot):
        stamp = snapshot.last_stamp + 1
        guid = Guid(f"{stamp % 2**32:08x}-0000-4000-9000-000000000009")
        entry = Subscription(guid, f"https://{stamp}.example", True, stamp)
        return Decision(None, [entry], [], stamp, counted(snapshot.counts, None, entry))

    async def write():
        nonlocal stored
        store = await SqliteStore.open(path, wall_clock.now)
        while not is_over.is_set():
            await asyncio.gather(*(store.entries.change(ACCOUNT, [], subscribe) for _ in range(16)))
            stored += 16
        await store.close()

    writing = threading.Thread(target=asyncio.run, args=(write(),))
    writing.start()
    try:
        for number in range(10):
            before = stored
            target = tmp_path / f"{number}.db"
            copy_file(path, target)
            with connect(target, 1) as opened:
                entries = opened.execute("SELECT count(*) FROM entry").get - 20
                clock = opened.execute("SELECT max(last_stamp) FROM account").get
                newest = opened.execute(
                    "SELECT max(revision) FROM entry WHERE account_id = ?", (ACCOUNT,)
                ).get
                assert entries >= before
                assert clock == newest or newest < first  # no half of a batch
    finally:
        is_over.set()
        writing.join()
    assert stored > 16


def test_when_it_was_backed_up_is_noted_beside_it(path):
    fill(path)
    assert backup.last_backup(path) is None
    backup.note_backup(path, Stamp(1_700_000_000_000_001))
    assert backup.last_backup(path) == 1_700_000_000_000_001
    path.with_name(f"{path.name}-backup").write_bytes(b"\xff nothing that can be read")
    assert backup.last_backup(path) is None


@pytest.mark.parametrize("name", ["copy.db", "copy.db-wal"])
def test_nothing_is_overwritten(path, tmp_path, name):
    fill(path)
    (tmp_path / name).write_bytes(b"precious")
    with pytest.raises(StoreUnusable, match="exists, and is not overwritten"):
        copy_file(path, tmp_path / "copy.db")
    assert (tmp_path / name).read_bytes() == b"precious"


def test_a_file_that_comes_up_meanwhile_is_not_overwritten(path, tmp_path, monkeypatch):
    fill(path)
    target = tmp_path / "copy.db"
    sync = backup._sync

    def and_another(file):
        sync(file)
        target.write_bytes(b"precious")

    monkeypatch.setattr(backup, "_sync", and_another)
    with pytest.raises(StoreUnusable, match="File exists"):
        copy_file(path, target)
    assert target.read_bytes() == b"precious"
    assert files(tmp_path) == ["copy.db", "feedkeep.db"]


def test_where_files_cannot_be_linked_the_copy_is_renamed(path, tmp_path, monkeypatch):
    def unsupported(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    fill(path)
    copy_file(path, tmp_path / "copy.db")
    assert contents(tmp_path / "copy.db") == contents(path)
    assert files(tmp_path) == ["copy.db", "feedkeep.db"]


def test_the_copy_is_on_the_disk_before_it_has_its_name(path, tmp_path, monkeypatch):
    fill(path)
    target, seen = tmp_path / "copy.db", []
    sync = os.fsync

    def noted(descriptor):
        seen.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), target.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    copy_file(path, target)
    assert seen == [(False, False), (True, True)]


def test_a_damaged_database_is_not_copied(path, tmp_path):
    fill(path)
    opened = apsw.Connection(str(path))
    opened.execute("DELETE FROM account")  # without a look at what refers to it
    opened.close()
    with pytest.raises(StoreUnusable, match="damaged, and was not copied"):
        copy_file(path, tmp_path / "copy.db")
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    path.write_bytes(content)
    with pytest.raises(StoreDamaged):
        copy_file(path, tmp_path / "copy.db")
    assert files(tmp_path) == ["feedkeep.db"]


def test_what_another_program_wrote_is_copied_if_that_is_asked_for(path, tmp_path):
    fill(path)
    without_extension(
        f"c = apsw.Connection({str(path)!r})",
        "c.execute('UPDATE entry SET feed_url = ? WHERE new_guid IS NULL', ('https://x.example',))",
    )
    with pytest.raises(StoreDamaged):
        copy_file(path, tmp_path / "copy.db")
    copy_file(path, tmp_path / "copy.db", believe_checksums=False)
    opened = open_file(tmp_path / "copy.db")
    assert has_checksums(opened)
    assert opened.execute("SELECT max(feed_url) FROM entry").get == "https://x.example"


def test_a_file_that_was_made_without_checksums_is_refused_and_its_copy_has_them(path, tmp_path):
    fill(path)
    plain = tmp_path / "plain.db"
    without_extension(
        "from feedkeep.store.migrate import migrations",
        f"c = apsw.Connection({str(plain)!r})",
        "c.execute(migrations('sqlite')[0].sql)",
        f"c.execute('PRAGMA application_id = {APPLICATION_ID}')",
        f"c.execute('PRAGMA user_version = {newest_version('sqlite')}')",
        f"c.execute('ATTACH ? AS other', ({str(path)!r},))",
        f"for table in {TABLES!r}:",
        "    c.execute(f'INSERT INTO {table} SELECT * FROM other.{table}')",
    )
    with pytest.raises(StoreUnusable, match="no checksums"):
        contents(plain)
    copy_file(plain, tmp_path / "copy.db")
    assert contents(tmp_path / "copy.db") == contents(path)


def test_a_file_in_a_read_only_folder_is_not_called_unreadable(path):
    fill(path)
    # Root may write everywhere, and nobody else may read what pytest keeps.
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        read_only, writable = Path(folder) / "backups", Path(folder) / "here"
        read_only.mkdir()
        writable.mkdir()
        copy_file(path, read_only / "copy.db")
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


def test_what_is_no_database_of_ours_is_not_copied(path, tmp_path):
    target = tmp_path / "copy.db"
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


@pytest.mark.parametrize("made", ["an empty file", "a file without tables", "a marked one"])
def test_what_nothing_of_ours_was_ever_in_is_not_restored(path, tmp_path, made):
    path.touch()
    if made != "an empty file":
        with closing(apsw.Connection(str(path))) as opened:
            opened.pragma("user_version", 1 if made == "a marked one" else 0)
    with pytest.raises(StoreUnusable, match=r"is empty|another program"):
        restore_file(path, tmp_path / "copy.db", Restored)
    assert files(tmp_path) == ["feedkeep.db"]


def moved_on(account: Account, newest: Entry | None) -> Restored:
    clocks = Stamp(account.last_stamp + 5), Stamp(account.last_action_stamp + 5)
    return Restored(replace(account, last_stamp=clocks[0], last_action_stamp=clocks[1]), newest)


def clocks(path: Path) -> list[tuple[int, int]]:
    with closing(open_file(path)) as opened:
        return opened.execute("SELECT last_stamp, last_action_stamp FROM account").fetchall()


def test_a_restored_file_has_everything_and_clocks_that_were_moved(path, tmp_path):
    fill(path)
    restore_file(path, tmp_path / "copy.db", moved_on)
    assert clocks(tmp_path / "copy.db") == [(one + 5, two + 5) for one, two in clocks(path)]
    restore_file(path, tmp_path / "same.db", Restored)
    assert contents(tmp_path / "same.db") == contents(path)


def test_nothing_is_restored_where_a_store_is_open(path, tmp_path):
    fill(path)
    copy_file(path, tmp_path / "copy.db")

    def restore_over_it():
        path.unlink()
        with pytest.raises(StoreUnusable, match="is in use"):
            restore_file(tmp_path / "copy.db", path, lambda last: last)

    async def go():
        store = await SqliteStore.open(path, wall_clock.now)
        restore_over_it()
        await store.close()

    asyncio.run(go())
    assert not path.exists()


def test_a_place_that_cannot_be_written_is_told(path, tmp_path):
    fill(path)
    with pytest.raises(StoreUnusable, match="No such file or directory"):
        copy_file(path, tmp_path / "nowhere" / "copy.db")


def test_no_room_for_the_copy_is_told_and_leaves_nothing(path, tmp_path, monkeypatch):
    def full(_, partial, _believe):
        partial.write_bytes(b"half")
        raise apsw.FullError

    fill(path)
    monkeypatch.setattr(backup, "_copy", full)
    with pytest.raises(StoreUnavailable, match="no room"):
        copy_file(path, tmp_path / "copy.db")
    assert files(tmp_path) == ["feedkeep.db"]
