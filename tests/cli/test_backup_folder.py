"""`feedkeep backup --into`: a folder of backups, of which old ones go once the new one is whole."""

from pathlib import Path

import pytest
from command_line import refusal

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
def process(offline):
    offline.must("account", "create", "alice")
    offline.must("import", "alice", "-", stdin="https://a.example\n")
    return offline


@pytest.fixture
def backups(tmp_path):
    backups = tmp_path / "backups"
    backups.mkdir()
    return backups


def days_ago(days):
    return backup_name(Stamp(wall_clock.now() - days * DAY_US))


def names(folder):
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
    process.must("backup", "--into", str(backups), "--keep-daily", "2", "--keep-weekly", "0")
    assert len(names(backups) - {*OTHERS, folder_of_that_name, link}) == 2


def test_nothing_goes_if_there_is_no_whole_new_one(process, backups):
    old = {days_ago(day) for day in range(1, 60)}
    for name in old:
        (backups / name).touch()
    file = process.folder / "feedkeep.db"
    content = bytearray(file.read_bytes())
    content[-100] ^= 0xFF
    file.write_bytes(content)
    assert "damaged" in refusal(process, "backup", "--into", str(backups))
    assert names(backups) == old
    nowhere = process.folder / "nowhere"
    assert "nowhere; make it first." in refusal(process, "backup", "--into", str(nowhere))
    assert not nowhere.exists()


def test_an_old_one_that_cannot_be_removed_is_reported(process, backups, monkeypatch):
    unlink = Path.unlink

    def refuse_backups(path, missing_ok=False):
        if path in backups_in(backups).values():
            raise PermissionError(1, "Operation not permitted")
        unlink(path, missing_ok=missing_ok)

    (backups / days_ago(3)).touch()
    chosen = Settings(database=process.database)
    back_up_into(chosen, backups, 2, 0)
    monkeypatch.setattr(Path, "unlink", refuse_backups)
    with pytest.raises(StoreUnusable, match=r"Cannot remove .*: Operation not permitted"):
        back_up_into(chosen, backups, 1, 0)
