"""A SQLite file that vanished: no start makes an empty one, an empty list for every phone."""

import signal
from contextlib import closing

import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of
from running_services import refusal, refused_start

from feedkeep.store.sqlite.connection import open_file

FEED = "https://kept.example/feed"


def with_a_feed(folder):
    """Return a service that runs, and the account there that is subscribed to one feed."""
    process = FeedkeepProcess(folder)
    process.start()
    name = process.new_account()
    with process.client(name) as client:
        added = client.post("/subscriptions", json={"subscriptions": [{"feed_url": FEED}]})
    assert added.json()["failure"] == []
    return process, name


def has_the_feed(process, name):
    with process, process.client(name) as client:
        entries = client.get("/subscriptions").json()["subscriptions"]
    return [entry["feed_url"] for entry in entries] == [FEED]


def files(folder):
    """Return the names of a database's files, without the locks of those who wait to write."""
    names = {file.name for file in folder.iterdir() if "feedkeep.db" in file.name}
    return names - {".feedkeep.db.turn.lock", ".feedkeep.db.next.lock"}


# systemd's watchdog kills a service, once it is not fed any more.
@pytest.mark.parametrize("number", first_of(signal.SIGKILL, signal.SIGTERM))
def test_a_restart_replaces_no_database_that_is_gone_or_emptied(tmp_path, number):
    file, elsewhere = tmp_path / "feedkeep.db", tmp_path / "elsewhere"
    process, name = with_a_feed(tmp_path)
    file.rename(elsewhere)
    process.stop(number)
    left = files(tmp_path)
    told = refused_start(process)
    assert f"The database {file} is missing or empty" in told
    assert f"{tmp_path / '.feedkeep.db.lock'}" in told
    assert 'restore a backup; docs/backup.md says how under "Damage"' in told
    assert files(tmp_path) == left  # nothing was made; the newest changes may be in the -wal
    elsewhere.rename(file)
    assert has_the_feed(process, name)
    process.start()
    process.new_account()
    process.stop(number)
    content, left = file.read_bytes(), files(tmp_path)
    file.write_bytes(b"")
    assert "is missing or empty" in refused_start(process)
    assert (file.read_bytes(), files(tmp_path)) == (b"", left)
    file.write_bytes(content)
    assert has_the_feed(process, name)


def test_a_restart_makes_no_tables_in_a_file_whose_log_is_gone(tmp_path):
    """Like a copy of the file alone, before its first checkpoint."""
    process = FeedkeepProcess(tmp_path)
    process.must("migrate")
    file = tmp_path / "feedkeep.db"
    file.unlink()
    with closing(open_file(file)) as opened:
        opened.pragma("journal_mode", "wal")
    content = file.read_bytes()
    assert content
    assert "is missing or empty" in refused_start(process)
    assert file.read_bytes() == content


def test_a_service_starts_again_once_a_backup_is_restored(tmp_path):
    process, name = with_a_feed(tmp_path)
    backup = str(tmp_path / "backup")
    process.must("backup", backup)
    process.stop()
    (tmp_path / "feedkeep.db").unlink()
    refused_start(process)
    process.must("restore", backup)
    assert has_the_feed(process, name)
    # A database that was restored and never opened is not replaced either.
    there = FeedkeepProcess(tmp_path, f"sqlite:///{tmp_path / 'there.db'}")
    there.must("restore", backup)
    (tmp_path / "there.db").unlink()
    assert "is missing or empty" in refused_start(there)


def test_what_the_sentence_names_is_removed_to_begin_again(tmp_path):
    process, _ = with_a_feed(tmp_path)
    (tmp_path / "feedkeep.db").unlink()
    process.stop(signal.SIGKILL)
    told = refused_start(process)
    assert files(tmp_path) == {".feedkeep.db.lock", "feedkeep.db-wal", "feedkeep.db-shm"}
    for name in files(tmp_path):
        assert str(tmp_path / name) in told
        (tmp_path / name).unlink()
    # A first start that failed before there was anything is no sign of a database.
    (tmp_path / ".feedkeep.db.lock").touch()
    with process:
        assert any("/sign-up/" in line for line in process.printed)


def test_no_command_makes_one_either_or_says_that_there_never_was_one(tmp_path):
    process, file = FeedkeepProcess(tmp_path), tmp_path / "feedkeep.db"
    process.must("migrate")
    file.unlink()
    for command in ("account create anna", "account list", "migrate", "check", "backup to"):
        assert "is missing or empty" in refusal(process, *command.split())
        assert files(tmp_path) == {".feedkeep.db.lock"}
    # A database of an earlier version, which left its lock so, is known once it was opened.
    (tmp_path / ".feedkeep.db.lock").write_bytes(b"")
    process.must("migrate")
    (tmp_path / ".feedkeep.db.lock").write_bytes(b"")
    process.must("check")
    file.unlink()
    assert "is missing or empty" in refused_start(process)
