"""Several processes give those who guess passwords no more than one does, and a restart neither."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path

import asyncpg
import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from postgres_server import drop_database, execute, new_database

from feedkeep.store.sqlite.connection import connect

PASSWORD = "the right one"
PROCESSES = 4
PER_ACCOUNT_AND_ADDRESS, PER_ACCOUNT = 10, 100
WINDOW_SECONDS = 300
PATIENCE_SECONDS = 30
Guess = Callable[[httpx.Client], httpx.Response]


@pytest.fixture
def several(tmp_path, request):
    """Starts several processes on one database, perhaps broken on purpose."""

    @contextmanager
    def start(*broken, store_kind="postgres"):
        database = f"sqlite:///{tmp_path / 'feedkeep.db'}"
        if store_kind == "postgres":
            database = new_database(request.getfixturevalue("postgres"))
        processes = []
        for number in range(PROCESSES):
            (folder := tmp_path / str(number)).mkdir()
            process = FeedkeepProcess(folder, database, trusted_proxies="127.0.0.1")
            process.run_first("hashes_are_cheap", *broken)
            processes.append(process)
        with ExitStack() as stack:
            for process in processes:
                stack.enter_context(process)
            yield processes
        if store_kind == "postgres":
            drop_database(request.getfixturevalue("postgres"), database)

    return start


@contextmanager
def clients_of(processes: Sequence[FeedkeepProcess]) -> Iterator[list[httpx.Client]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(httpx.Client(base_url=process.base_url, timeout=60))
            for process in processes
        ]


def guesser(name: str, *, from_everywhere: bool = False) -> Guess:
    """Return what asks with another wrong password each time, from one address or from many."""
    numbers = count()

    def guess(client: httpx.Client) -> httpx.Response:
        number = next(numbers)
        address = f"198.51.{number // 250}.{number % 250 + 1}" if from_everywhere else "192.0.2.1"
        return client.get(
            "/subscriptions",
            auth=(name, f"wrong{number}"),
            headers={"X-Forwarded-For": address},
        )

    return guess


def guesses(processes: Sequence[FeedkeepProcess], guess: Guess) -> int:
    """Ask all in turn until each has refused; return how many passwords were looked at."""
    looked_at = 0
    with clients_of(processes) as clients:
        open_still = list(clients)
        while open_still:
            for client in list(open_still):
                reply = guess(client)
                if reply.status_code == 429:
                    open_still.remove(client)
                else:
                    assert reply.status_code == 401
                    looked_at += 1
    return looked_at


def wait_until_counted(database: str, looked_at: int) -> None:
    """Wait until the database has all attempts for one of the names and addresses."""
    most = """
        SELECT max(made) FROM (SELECT sum(length(seconds) / 4) AS made FROM attempt
        GROUP BY key) AS keys
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := _found(database, most) or 0) < looked_at:
        assert time.monotonic() < deadline, (found, looked_at)
        time.sleep(0.02)


def _found(database: str, query: str) -> int | None:
    if database.startswith("sqlite:///"):
        with closing(connect(Path(database.removeprefix("sqlite:///")), 1)) as connection:
            found: int | None = connection.execute(query).get
            return found
    return execute(database, query.replace("FROM attempt", "FROM feedkeep.attempt"))


def wait_until_all_looked(database: str) -> None:
    """Wait until each process has asked the database once more what others have counted."""
    now = execute(database, "SELECT extract(epoch FROM clock_timestamp())::float8")
    looked = f"""
        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND state = 'idle' AND query LIKE '%FROM feedkeep.attempt%.written >=%'
        AND extract(epoch FROM query_start) > {now} AND pid <> pg_backend_pid()
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while execute(database, looked) < PROCESSES:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def are_paid_off(
    processes: Sequence[FeedkeepProcess], guess: Guess, looked_at: int, limit: int
) -> bool:
    """Say whether all refuse for as long as one would take to let so many through.

    They come to do so within some seconds, and none of them looks at a password meanwhile.
    """
    wanted_seconds = looked_at // limit * WINDOW_SECONDS - PATIENCE_SECONDS
    deadline = time.monotonic() + PATIENCE_SECONDS / 3
    with clients_of(processes) as clients:
        for client in clients:
            while (reply := guess(client)).status_code == 429:
                if int(reply.headers["Retry-After"]) >= wanted_seconds:
                    break
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.1)
            else:
                return False
    return True


def guess_everywhere(
    processes: Sequence[FeedkeepProcess], *, from_everywhere: bool = False
) -> tuple[Guess, int, int]:
    """Guess the password of a new account on all; return how, how many came through, the limit."""
    name = processes[0].new_account(PASSWORD)
    guess = guesser(name, from_everywhere=from_everywhere)
    limit = PER_ACCOUNT if from_everywhere else PER_ACCOUNT_AND_ADDRESS
    looked_at = guesses(processes, guess)
    assert limit <= looked_at <= PROCESSES * limit
    return guess, looked_at, limit


@in_the_long_form
@pytest.mark.parametrize(
    ("store_kind", "from_everywhere"),
    [("sqlite", False), ("postgres", False), ("postgres", True)],
)
def test_four_processes_give_no_more_than_one_and_a_restart_forgets_nothing(
    several, store_kind, from_everywhere
):
    with several(store_kind=store_kind) as processes:
        guess, looked_at, limit = guess_everywhere(processes, from_everywhere=from_everywhere)
        assert are_paid_off(processes, guess, looked_at, limit)
        wait_until_counted(processes[0].database, looked_at)
        for process in processes:
            process.kill()
        for process in processes:
            process.start()
        assert are_paid_off(processes, guess, looked_at, limit)

        name = processes[0].new_account(PASSWORD)  # no other test is held up
        with clients_of(processes) as clients:
            for client in clients:
                assert client.get("/subscriptions", auth=(name, PASSWORD)).status_code == 200


@in_the_long_form
def test_the_proof_notices_processes_that_count_by_themselves(several):
    with several("attempts_are_not_shared") as processes:
        guess, looked_at, limit = guess_everywhere(processes)
        assert looked_at == PROCESSES * limit
        assert not are_paid_off(processes, guess, looked_at, limit)
        for process in processes:
            process.kill()
        for process in processes:
            process.start()
        assert guesses(processes, guess) == looked_at


@in_the_long_form
def test_an_attacker_who_goes_from_one_process_to_the_next_is_known_there(several):
    with several() as processes:
        guess = guesser(processes[0].new_account(PASSWORD))
        assert guesses(processes[:1], guess) == PER_ACCOUNT_AND_ADDRESS
        wait_until_counted(processes[0].database, PER_ACCOUNT_AND_ADDRESS)
        wait_until_all_looked(processes[0].database)
        assert guesses(processes[1:], guess) == 0


@in_the_long_form
def test_logins_go_on_while_nothing_can_be_told(several):
    with several() as processes, ExitStack() as stack:
        database, first = processes[0].database, processes[0]
        name, other = (first.new_account(PASSWORD) for _ in range(2))
        loop = stack.enter_context(asyncio.Runner())
        holder = loop.run(asyncpg.connect(database))
        loop.run(holder.execute("BEGIN; LOCK TABLE feedkeep.attempt"))
        guess = guesser(name)
        assert guesses([first], guess) == PER_ACCOUNT_AND_ADDRESS
        with clients_of([first]) as [client]:
            for _ in range(3):
                assert client.get("/subscriptions", auth=(other, PASSWORD)).status_code == 200
        line = first.wait_for_line("cannot share failed-login counts; will retry")
        assert line["level"] == "warning"
        loop.run(holder.close())
        wait_until_counted(database, PER_ACCOUNT_AND_ADDRESS)
