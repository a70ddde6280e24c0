"""Several processes give those who guess passwords no more than one does, and a restart neither."""

import time
from contextlib import closing
from itertools import count
from pathlib import Path

import asyncpg
import httpx
import pytest
from forms import in_the_long_form
from postgres_server import execute
from waiting import until

from feedkeep.store.sqlite.connection import connect

PASSWORD = "the right one"
PROCESSES = 4
PER_ACCOUNT_AND_ADDRESS, PER_ACCOUNT = 10, 100
WINDOW_SECONDS = 300
PATIENCE_SECONDS = 30


@pytest.fixture
def several(start):
    """Starts several processes on one database, perhaps broken on purpose."""

    def start_several(*broken, kind="postgres"):
        broken = ("hashes_are_cheap", *broken) if broken else ()
        settings = {"trusted_proxies": "127.0.0.1", "log_level": "debug"}
        first = start(kind, *broken, **settings)
        settings["database"] = first.database
        return [first, *(start(kind, *broken, **settings) for _ in range(PROCESSES - 1))]

    return start_several


def list_of(process, name, password, address="192.0.2.1"):
    headers = {"X-Forwarded-For": address}
    url = f"{process.base_url}/subscriptions"
    return httpx.get(url, auth=(name, password), headers=headers, timeout=60)


def guesser(name, *, from_everywhere=False):
    """Return a function that tries a new wrong password at each call, from one address or many."""
    numbers = count()

    def guess(process):
        number = next(numbers)
        address = f"198.51.{number // 250}.{number % 250 + 1}" if from_everywhere else "192.0.2.1"
        return list_of(process, name, f"wrong{number}", address)

    return guess


def guesses(processes, guess):
    """Ask all in turn until each has refused; return how many passwords were looked at."""
    looked_at, open_still = 0, list(processes)
    while open_still:
        for process in list(open_still):
            reply = guess(process)
            if reply.status_code == 429:
                open_still.remove(process)
            else:
                assert reply.status_code == 401
                looked_at += 1
    return looked_at


def wait_until_counted(database, looked_at):
    """Wait until the database has all attempts for one of the names and addresses."""
    most = """
        SELECT max(made) FROM (SELECT sum(length(seconds) / 4) AS made FROM attempt
        GROUP BY key) AS keys
    """
    until(lambda: (_found(database, most) or 0) >= looked_at, lambda: _found(database, most))


def _found(database, query):
    if database.startswith("sqlite:///"):
        with closing(connect(Path(database.removeprefix("sqlite:///")), 1)) as connection:
            return connection.execute(query).get
    return execute(database, query.replace("FROM attempt", "FROM feedkeep.attempt"))


def are_paid_off(processes, guess, looked_at, limit):
    """Whether all soon refuse for as long as one would, to let so many through, and admit none."""
    wanted_seconds = looked_at // limit * WINDOW_SECONDS - PATIENCE_SECONDS
    deadline = time.monotonic() + PATIENCE_SECONDS / 3
    for process in processes:
        while (reply := guess(process)).status_code == 429:
            if int(reply.headers["Retry-After"]) >= wanted_seconds:
                break
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        else:
            return False
    return True


def guess_everywhere(processes, *, from_everywhere=False):
    """Guess the password of a new account on all; return how, how many came through, the limit."""
    guess = guesser(processes[0].new_account(PASSWORD), from_everywhere=from_everywhere)
    limit = PER_ACCOUNT if from_everywhere else PER_ACCOUNT_AND_ADDRESS
    looked_at = guesses(processes, guess)
    assert limit <= looked_at <= PROCESSES * limit
    return guess, looked_at, limit


def restart(processes):
    for process in processes:
        process.kill()
    for process in processes:
        process.start()


@in_the_long_form
@pytest.mark.parametrize(
    ("kind", "from_everywhere"), [("sqlite", False), ("postgres", False), ("postgres", True)]
)
def test_four_processes_that_restart_let_no_more_through_than_one(several, kind, from_everywhere):
    processes = several(kind=kind)
    guess, looked_at, limit = guess_everywhere(processes, from_everywhere=from_everywhere)
    assert are_paid_off(processes, guess, looked_at, limit)
    wait_until_counted(processes[0].database, looked_at)
    restart(processes)
    assert are_paid_off(processes, guess, looked_at, limit)

    name = processes[0].new_account(PASSWORD)  # no other test is held up
    assert {list_of(process, name, PASSWORD).status_code for process in processes} == {200}


@in_the_long_form
def test_the_proof_notices_processes_that_count_by_themselves(several):
    processes = several("attempts_are_not_shared")
    guess, looked_at, limit = guess_everywhere(processes)
    assert looked_at == PROCESSES * limit
    assert not are_paid_off(processes, guess, looked_at, limit)
    restart(processes)
    assert guesses(processes, guess) == looked_at


@in_the_long_form
async def test_logins_go_on_while_nothing_can_be_told(several):
    first, *_ = several()
    name, other = (first.new_account(PASSWORD) for _ in range(2))
    holder = await asyncpg.connect(first.database)
    await holder.execute("BEGIN; LOCK TABLE feedkeep.attempt")
    assert guesses([first], guesser(name)) == PER_ACCOUNT_AND_ADDRESS
    assert [list_of(first, other, PASSWORD).status_code for _ in range(3)] == [200] * 3
    line = first.wait_for_line("cannot share failed-login counts; will retry")
    assert line["level"] == "warning"
    await holder.close()
    wait_until_counted(first.database, PER_ACCOUNT_AND_ADDRESS)
