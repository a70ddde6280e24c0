"""An older database is back: its clocks are moved on, and people are told what to do."""

import asyncio
import time
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from authors import TESTER
from command_line import refusal

from feedkeep.model import Clock, Stamp
from feedkeep.rules.clock import DAY_US, RESTORED_AHEAD_US
from feedkeep.rules.subscriptions import want
from feedkeep.store.sqlite.connection import open_file

ACCOUNTS = 300


ON_BOTH = pytest.mark.parametrize("offline", ["sqlite", "postgres"], indirect=True)
"""On a database of each kind."""


def account(process, name):
    return process.use(lambda service: service.accounts.named(name))


def assert_moved(found):
    a_while_ago = time.time_ns() // 1_000 - 600_000_000
    assert found.last_stamp > a_while_ago + RESTORED_AHEAD_US
    assert found.last_action_stamp > a_while_ago + RESTORED_AHEAD_US


@ON_BOTH
def test_database_restored_moves_the_clocks_of_all_accounts(offline):
    names = [f"user{number}" for number in range(ACCOUNTS)]

    async def create_all(service):
        await asyncio.gather(*(service.accounts.create(name, None) for name in names))

    offline.use(create_all)
    told = offline.must("database", "restored")
    assert "Force full synchronization" in told
    assert f"{time.gmtime().tm_year}-" in told
    for name in (names[0], names[-1]):
        assert_moved(account(offline, name))
    before = account(offline, names[0])
    wanted = [want("https://a.example", None)]
    changed = offline.use(lambda service: service.subscriptions.add(before.id, wanted, TESTER))
    [added] = changed.outcome
    assert added.subscription.subscription_changed > before.last_stamp


# C6.4, C6.5, C6.6, C6.9
@ON_BOTH
def test_a_client_that_followed_a_lost_state_gets_the_whole_list_and_another_epoch(offline):
    offline.start()
    anna, empty = (offline.client(offline.new_account()) for _ in range(2))
    with anna, empty:
        for url in ("https://a.example", "https://b.example"):
            anna.post("/subscriptions", json={"subscriptions": [{"feed_url": url}]})
        before, none = anna.get("/subscriptions"), empty.get("/subscriptions")
        followed = anna.get("/subscriptions", params={"per_page": 1}).json()["next"]
        known = {"If-None-Match": none.headers["etag"]}
        same = empty.get("/subscriptions", headers=known)
        assert same.status_code == 304
        assert same.headers["feedkeep-epoch"] == none.headers["feedkeep-epoch"]
        assert offline.stop() == 0
        offline.must("database", "restored")
        offline.start()
        anna.base_url = empty.base_url = offline.base_url
        assert empty.get("/subscriptions", headers=known).status_code == 200

        first, second = before.json()["subscriptions"]
        since = second["subscription_changed"]
        after = anna.get("/subscriptions", params={"since": since})
        assert after.headers["feedkeep-epoch"] != before.headers["feedkeep-epoch"]
        (newest,) = after.json()["subscriptions"]
        assert newest == second | {"subscription_changed": newest["subscription_changed"]}
        lost = f"{since[:-7]}999999Z"  # in the same second, after the backup
        beyond = "2999-12-31T00:00:00Z"
        for stamp in (lost, beyond):
            whole = anna.get("/subscriptions", params={"since": stamp}).json()
            assert (whole["total"], whole["subscriptions"]) == (2, [first, newest])
        anew = anna.get(f"/subscriptions?{urlsplit(followed).query}").json()
        assert (anew["subscriptions"], anew["page"], "previous" in anew) == ([first], 1, False)
        again = anna.get("/subscriptions", params={"since": lost, "per_page": 1}).json()
        assert again["subscriptions"] == [first]
        assert anna.get(again["next"]).json()["subscriptions"] == [newest]
        gone_on = {"since": newest["subscription_changed"]}
        assert anna.get("/subscriptions", params=gone_on).json()["subscriptions"] == []
    assert offline.stop() == 0


def test_no_clock_is_moved_while_the_service_runs_or_where_nothing_is(offline):
    with offline:
        name = offline.new_account()
        before = account(offline, name)
        told = refusal(offline, "database", "restored")
        assert "is in use: stop the service, and all commands that use it, first." in told
        assert account(offline, name) == before
    nowhere = f"sqlite:///{offline.folder}/other/feedkeep.db"
    told = refusal(offline, "database", "restored", "--database", nowhere)
    assert "There is no database" in told
    assert not (offline.folder / "other").exists()


def test_a_backup_of_a_running_service_is_restored_where_nothing_is(offline, tmp_path):
    """Its clocks are moved, and people are told what to do in apps."""
    name, feed = offline.new_account(), "https://a.example\n"
    offline.must("import", name, "-", stdin=feed)
    backup, file = str(tmp_path / "backup"), tmp_path / "feedkeep.db"
    with offline:
        assert offline.must("backup", backup) == f"Backed up to {backup}.\n"
        assert refusal(offline, "backup", backup) == (
            f"{backup} exists, and is not overwritten; move it away first."
        )
    assert "not overwritten" in refusal(offline, "restore", backup)
    file.unlink()
    told = offline.must("restore", backup)
    assert told.startswith(f"{offline.database} is restored.\n")
    assert 'in AntennaPod, choose "Force full synchronization"' in told
    assert "in other apps, log out and in again" in told
    assert_moved(account(offline, name))
    elsewhere = ["--database", f"sqlite:///{tmp_path / 'new' / 'restored.db'}"]
    (tmp_path / "new").mkdir()
    offline.must("restore", backup, *elsewhere)
    assert offline.must("export", name, "--format", "urls", *elsewhere) == feed
    offline.must("check", *elsewhere)
    file.unlink()
    with closing(open_file(tmp_path / "backup")) as opened:
        opened.pragma("user_version", 999)
    assert "has schema version 99" in refusal(offline, "restore", backup)
    for content in (b"", b"hello", b"\0" * 600, b"a letter to my aunt\n" * 100):
        (tmp_path / "backup").write_bytes(content)
        refusal(offline, "restore", backup)
    assert not file.exists()


@ON_BOTH
def test_a_clock_ten_years_ahead_is_reported_and_corrected_once_confirmed(offline):
    names = [offline.new_account() for _ in range(2)]
    ahead = Stamp(time.time_ns() // 1_000 + 10 * 366 * DAY_US)

    async def move(service):
        anna = await service.accounts.named(names[0])
        await service.store.accounts.advance(anna.id, Clock.SUBSCRIPTIONS, lambda _: ahead)

    offline.use(move)
    checked = offline.run("check")
    assert checked.returncode == 1
    assert f"account {names[0]}: its clock is far ahead of this machine's" in checked.stderr
    assert "database repair-clocks` sets it right" in checked.stderr.replace("\n", " ")
    asked = offline.run("database", "repair-clocks")
    assert (asked.returncode, account(offline, names[0]).last_stamp) == (1, ahead)
    assert f"This machine's clock says {time.gmtime().tm_year}-" in asked.stdout
    assert "give --yes" in asked.stderr
    told = offline.must("database", "repair-clocks", "--yes")
    assert f"{names[0]}: clock corrected; it was at {time.gmtime().tm_year + 10}-" in told
    assert names[1] not in told
    assert account(offline, names[0]).last_stamp < ahead - 3_600 * DAY_US
    offline.must("check")
    assert "there was nothing to do" in offline.must("database", "repair-clocks", "--yes")
