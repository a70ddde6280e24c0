"""The first account without a terminal: by the link in the output, or by settings."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of
from postgres_server import free_port
from running_services import refusal, served

PASSWORD = "correct horse battery"


@pytest.fixture(params=first_of("sqlite", "postgres"))
def store(request):
    return request.param


def with_administrator(folder, database, password=PASSWORD):
    """Return a service whose settings say who the first administrator is."""
    folder.mkdir(exist_ok=True)
    (folder / "password").write_text(f"{password}\n")
    process = FeedkeepProcess(
        folder, database, admin_name="anna", admin_password_file=str(folder / "password")
    )
    process.passwords.append(password)
    return process


def lets_in(process, password):
    reply = httpx.get(f"{process.base_url}/subscriptions", auth=("anna", password))
    assert reply.status_code in {200, 401}
    return reply.status_code == 200


def accounts(process):
    return process.must("account", "list").splitlines()[1:]


def test_the_first_start_makes_the_administrator_of_the_settings(tmp_path, database):
    with with_administrator(tmp_path, database) as process:
        printed = "".join(process.printed)
        assert "Account:   anna, an administrator, created just now" in printed
        assert "sign-up" not in printed
        assert PASSWORD not in printed
        assert lets_in(process, PASSWORD)
        (account,) = accounts(process)
        assert re.match("anna .* administrator ", account)
        changed = "another horse battery"
        process.must("account", "password", "anna", "--password-stdin", stdin=f"{changed}\n")
    # Later starts change nothing, whatever the settings say.
    with with_administrator(tmp_path, database, "short") as process:  # which is not even looked at
        assert "created just now" not in "".join(process.printed)
        assert lets_in(process, changed)
        assert not lets_in(process, PASSWORD)
        process.must("account", "create", "ben", "--admin")
        process.must("account", "delete", "anna", "--yes")
    with with_administrator(tmp_path, database) as process:
        (account,) = accounts(process)
        assert account.startswith("ben ")


@pytest.mark.parametrize("store", ["postgres"])
def test_of_processes_that_start_at_once_one_makes_the_account(tmp_path, database):
    processes = [with_administrator(tmp_path / f"{number}", database) for number in range(4)]
    with ThreadPoolExecutor(len(processes)) as threads:
        list(threads.map(FeedkeepProcess.start, processes))
    told = ["created just now" in "".join(process.printed) for process in processes]
    for process in processes:
        process.wait_until_ready()
    let_in = [lets_in(process, PASSWORD) for process in processes]
    found = accounts(processes[0])
    for process in processes:
        assert process.stop() == 0
    assert sorted(told) == [False, False, False, True]
    assert let_in == [True] * 4
    assert len(found) == 1


def test_a_first_account_that_cannot_be_made_is_told(tmp_path, database):
    process = with_administrator(tmp_path, database, "short")
    done = process.run("serve", "--port", "0")
    assert done.returncode == 1
    assert re.fullmatch(r"feedkeep: .*password.*\n", done.stderr)
    assert accounts(process) == []
    process = with_administrator(tmp_path, database)
    both = "Both --setup and admin_name say who is the first: give one."
    assert refusal(process, "serve", "--port", "0", "--setup", "ben") == both


def test_the_link_is_in_a_file_as_soon_as_the_service_can_be_asked(tmp_path):
    """As a container's engine and a journal have it: nothing is a terminal."""
    process = FeedkeepProcess(tmp_path, host="0.0.0.0", port=str(free_port()))  # noqa: S104
    out = tmp_path / "out"
    with (
        out.open("wb") as printed,
        process.log.open("wb") as log,
        served(process, stdin=subprocess.DEVNULL, stdout=printed, stderr=log) as running,
    ):
        while process.run("health").returncode:
            assert running.poll() is None
        link = re.search(r"http://127\.0\.0\.1:[0-9]+/sign-up/\S+", out.read_text())
        assert httpx.get(link[0], follow_redirects=True).status_code == 200
