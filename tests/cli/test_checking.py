"""feedkeep check with several processes, and checks that do not end."""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
import typer

from feedkeep.cli import checking
from feedkeep.cli.checking import check, check_part
from feedkeep.model import AccountId
from feedkeep.model.errors import StoreUnavailable
from feedkeep.service import Checked, Service
from feedkeep.service.accounts import PAGE
from feedkeep.store.sqlite.connection import open_file

DAMAGED = [3, PAGE + 1, 3 * PAGE]


@pytest.fixture
def url(offline):
    """A database with three pages of accounts, and one more."""
    names = "".join(f"person{number}\n" for number in range(3 * PAGE + 1))
    offline.must("migrate")
    offline.must("account", "import", "-", stdin="name\n" + names)
    return offline.database


@pytest.fixture
def _by_page(monkeypatch):
    monkeypatch.setattr(checking, "ACCOUNTS_AT_ONCE", PAGE)


def checked(url, processes, after=0):
    check(after=after, processes=processes, database=url, config=None)


def damage(url):
    """Make the stored counts of three accounts wrong."""
    one = "SELECT account_id FROM account ORDER BY account_id LIMIT 1 OFFSET {}"
    with closing(open_file(Path(url.removeprefix("sqlite:///")))) as database:
        for number in DAMAGED:
            where = f"account_id = ({one.format(number)})"
            database.execute(f"UPDATE account SET announced_count = 7 WHERE {where}")


@pytest.mark.usefixtures("_by_page")
def test_several_processes_find_what_one_finds_in_the_same_order(url, capsys):
    checked(url, processes=2)
    assert capsys.readouterr() == (f"{url} is intact.\n", "")
    damage(url)
    found = []
    for processes in (1, 2):
        with pytest.raises(typer.Exit):
            checked(url, processes)
        found.append(capsys.readouterr())
    assert found[0] == found[1]
    assert found[0].err.count("the stored counts of the list are") == len(DAMAGED)


def killed(chosen, after, until):
    """Take the place of `check_part` where the system kills a process after the first part."""
    if after:
        os.kill(os.getpid(), signal.SIGKILL)
    return check_part(chosen, after, until)


@pytest.fixture
def _its_processes_end_and_no_others():
    bystander = multiprocessing.get_context("spawn").Process(target=signal.pause)
    bystander.start()
    others = multiprocessing.active_children()
    yield
    left = multiprocessing.active_children()
    bystander.kill()
    bystander.join()
    assert bystander in left
    assert set(left) <= set(others)


@pytest.fixture(autouse=True)
def _called(monkeypatch):
    """The program is called by a path that no shell looks at, which is told from then on."""
    monkeypatch.setattr(sys, "argv", ["/srv/feedkeep"])


@pytest.mark.usefixtures("_by_page", "_its_processes_end_and_no_others")
def test_a_check_of_which_a_process_is_killed_says_how_to_go_on(url, monkeypatch, capsys):
    monkeypatch.setattr(checking, "check_part", killed)
    with pytest.raises(StoreUnavailable, match="was killed"):
        checked(url, processes=2)
    assert "`/srv/feedkeep check --after" in capsys.readouterr().err


def stuck(chosen, after, until):
    """Take the place of `check_part` where an account takes an hour."""
    Path(chosen.database.removeprefix("sqlite:///") + ".stuck").touch()
    signal.pause()
    return check_part(chosen, after, until)


@pytest.mark.usefixtures("_by_page", "_its_processes_end_and_no_others")
def test_ctrl_c_ends_all_processes_of_a_check(url, monkeypatch, capsys):
    monkeypatch.setattr(checking, "check_part", stuck)

    def interrupt():
        while not Path(url.removeprefix("sqlite:///") + ".stuck").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest-xdist ignores it
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            checked(url, processes=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err.splitlines() == [
        "feedkeep: The check is not complete: `/srv/feedkeep check --after 0` continues it."
    ]


@pytest.mark.parametrize("end", [StoreUnavailable("away"), asyncio.CancelledError()])
def test_a_check_that_does_not_end_says_how_to_go_on(offline, end, monkeypatch, capsys):
    url = offline.database
    offline.must("migrate")

    async def interrupted(_, after):
        yield Checked(after, 0, [])
        yield Checked(AccountId(after + 5), 3, ["account anna: is broken"])
        raise end

    with monkeypatch.context() as patch:
        patch.setattr(Service, "check", interrupted)
        with pytest.raises(type(end)):
            checked(url, processes=2, after=2)
    assert capsys.readouterr().err.splitlines() == [
        "feedkeep: account anna: is broken",
        "feedkeep: The check is not complete: `/srv/feedkeep check --after 7` continues it.",
    ]
    checked(url, processes=2, after=7)
    assert capsys.readouterr() == (f"{url} is intact after account 7.\n", "")
