"""`feedkeep backup --into`: a folder of backups, of which old ones go once the new one is whole."""

import shutil
from pathlib import Path

import pytest
from feedkeep_process import FeedkeepProcess

from feedkeep.assembly import back_up_into
from feedkeep.config.settings import Settings
from feedkeep.model import Stamp
from feedkeep.model.errors import StoreUnusable
from feedkeep.rules.clock import DAY_US
from feedkeep.runtime import wall_clock
from feedkeep.store.backups import backup_name, backups_in

OTHERS = (
    "feedkeep-2001-01-01.db", "feedkeep-2001-01-01T00-00-00.000000Z.db.bak",
    "feedkeep-2001-13-01T00-00-00.000000Z.db", ".feedkeep-2001-01-01T00-00-00.000000Z.db.partial",
)  # fmt: skip


@pytest.fixture
def process(tmp_path):
    process = FeedkeepProcess(tmp_path)
    process.must("account", "create", "alice")
    process.must("import", "alice", "-", stdin="https://a.example\n")
    return process


@pytest.fixture
def backups(tmp_path):
    backups = tmp_path / "backups"
    backups.mkdir()
    return backups


def days_ago(days: int) -> str:
    return backup_name(Stamp(wall_clock.now() - days * DAY_US))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_seven_days_and_four_weeks_are_kept_and_only_its_own_backups_go(process, backups):
    old = [days_ago(day) for day in range(1, 61)]
    for name in old:
        (backups / name).touch()
    folder_of_that_name, link = days_ago(90), days_ago(91)
    (backups / folder_of_that_name).mkdir()
    (backups / link).symlink_to(process.folder / "feedkeep.db")
    for name in OTHERS:
        (backups / name).touch()

    told = process.must("backup", "--into", str(backups)).splitlines()

    there = names(backups) - {*OTHERS, folder_of_that_name, link}
    (new,) = there - set(old)
    assert told[0] == f"Backed up to {backups / new}."
    assert {line.removeprefix("Removed ").removesuffix(".") for line in told[1:]} == {
        str(backups / name) for name in set(old) - there
    }
    assert {*old[:6], new} <= there
    assert 9 <= len(there) <= 11  # the last of a week may be one of the days
    assert names(backups) >= {*OTHERS, folder_of_that_name, link}

    elsewhere = f"sqlite:///{process.folder / 'restored.db'}"
    process.must("restore", str(backups / new), "--database", elsewhere)
    listed = process.must("export", "alice", "--format", "urls", "--database", elsewhere)
    assert listed == "https://a.example\n"


def test_how_many_are_kept_can_be_told(process, backups):
    for day in range(1, 20):
        (backups / days_ago(day)).touch()
    process.must("backup", "--into", str(backups), "--keep-daily", "2", "--keep-weekly", "0")
    assert len(names(backups)) == 2
    none = process.run("backup", "--into", str(backups), "--keep-daily", "0")
    assert none.returncode == 2
    assert len(names(backups)) == 2


def test_how_many_are_kept_is_not_told_of_a_single_file(process):
    file = process.folder / "copy.db"
    refused = process.run("backup", str(file), "--keep-daily", "2")
    assert (refused.returncode, file.exists()) == (2, False)
    assert "give --into" in refused.stderr


def test_nothing_goes_if_the_new_one_is_not_whole(process, backups):
    old = {days_ago(day) for day in range(1, 60)}
    for name in old:
        (backups / name).touch()
    file = process.folder / "feedkeep.db"
    content = bytearray(file.read_bytes())
    content[-100] ^= 0xFF
    file.write_bytes(content)
    done = process.run("backup", "--into", str(backups))
    assert done.returncode == 1
    assert "damaged" in done.stderr
    assert names(backups) == old


def test_an_old_one_that_cannot_be_removed_is_reported(process, backups, monkeypatch):
    def refuse(_, *, missing_ok):
        raise PermissionError(1, "Operation not permitted")

    (backups / days_ago(3)).touch()
    chosen = Settings(database=process.database)
    back_up_into(chosen, backups, 2, 0)
    unlink = Path.unlink
    monkeypatch.setattr(
        Path,
        "unlink",
        lambda path, missing_ok=False: (
            refuse(path, missing_ok=missing_ok)
            if path in backups_in(backups).values()
            else unlink(path, missing_ok=missing_ok)
        ),
    )
    with pytest.raises(StoreUnusable, match=r"Cannot remove .*: Operation not permitted"):
        back_up_into(chosen, backups, 1, 0)


@pytest.mark.parametrize("arguments", [[], ["x.db", "--into", "folder"]])
def test_it_is_either_a_file_or_a_folder(process, arguments):
    done = process.run("backup", *arguments)
    assert done.returncode == 2
    assert "either a file, or a folder" in " ".join(done.stderr.split())


def test_a_folder_that_is_not_there_is_not_made(process, tmp_path):
    done = process.run("backup", "--into", str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert "nowhere; make it first." in done.stderr
    assert not (tmp_path / "nowhere").exists()


def test_postgres_has_its_own_means(process, backups):
    url = "postgresql://127.0.0.1/feedkeep"
    done = process.run("backup", "--into", str(backups), "--database", url)
    assert done.returncode == 1
    assert "pg_dump" in done.stderr
    shutil.rmtree(backups)
