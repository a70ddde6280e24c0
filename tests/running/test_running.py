"""Running the service: starting, stopping, dying, health, and what the log tells."""

import json
import os
import re
import resource
import shlex
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from feedkeep_process import FEEDKEEP, FeedkeepProcess, write_while
from forms import IS_LONG, in_the_long_form
from postgres_server import free_port

SECRET_URL = "https://user:hunter2@feeds.example/private?key=abracadabra"


@pytest.fixture
def own(tmp_path):
    """A service of this test's own, to be stopped and killed, which began as users begin it."""
    yield from started(FeedkeepProcess(tmp_path, is_from_nothing=True))


@pytest.fixture
def serving(tmp_path):
    """A service of this test's own, where how it begins and stops is not what is looked at."""
    yield from started(FeedkeepProcess(tmp_path))


def started(process: FeedkeepProcess) -> Iterator[FeedkeepProcess]:
    process.start()
    yield process
    if process.process.poll() is None:
        process.stop()


def test_a_service_starts_where_what_it_prints_goes_to_a_full_disk(tmp_path):
    port, log = free_port(), tmp_path / "log"
    with Path("/dev/full").open("w") as full, log.open("w") as errors:
        process = subprocess.Popen(
            [FEEDKEEP, "serve", "--port", str(port)],
            env=FeedkeepProcess(tmp_path).environment,
            stdout=full,
            stderr=errors,
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
            until_ready(client, process)
    finally:
        process.terminate()
        assert process.wait(20) == 0
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["event"] for line in told].count("cannot write standard output") == 1


def test_where_no_file_can_be_opened_idle_connections_give_way(serving):
    pid = serving.process.pid
    _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    with ExitStack() as stack:

        def answered():
            client = stack.enter_context(httpx.Client(base_url=serving.base_url, timeout=20))
            return client.get("/livez").is_success

        assert all(answered() for _ in range(5))
        last = max(int(file.name) for file in Path(f"/proc/{pid}/fd").iterdir())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (last + 1, most))
        assert all(answered() for _ in range(10))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))


def test_readyz_answers_while_idle_connections_exceed_the_file_limit(serving):
    pid = serving.process.pid
    _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    url = httpx.URL(serving.base_url)
    with ExitStack() as stack:
        assert httpx.get(f"{serving.base_url}/readyz").is_success
        last = max(int(file.name) for file in Path(f"/proc/{pid}/fd").iterdir())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (last + 5, most))
        for _ in range(300):
            stack.enter_context(socket.create_connection((url.host, url.port or 80), timeout=5))
        assert httpx.get(f"{serving.base_url}/readyz", timeout=5).is_success
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))


def until_ready(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            assert client.get("/readyz").status_code == 200
        except httpx.ConnectError:
            time.sleep(0.01)
        else:
            return
    raise AssertionError("it has ended")


def log_lines(process: FeedkeepProcess) -> list[dict[str, Any]]:
    return [json.loads(line) for line in process.log.read_text().splitlines()]


# In the short form, tests/running/test_running_on_postgres.py has the other signal.
# C8.1
@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=in_the_long_form), signal.SIGINT]
)
def test_a_stop_under_load_loses_nothing_and_folds_the_log_into_the_file(own, number):
    acknowledged, name, status = write_while(own, number)
    assert status == 0
    assert not list(own.folder.glob("*.db-*"))
    exported = own.must("export", name, "--format", "urls").split()
    assert set(acknowledged) <= set(exported)


def test_a_request_that_was_accepted_is_answered_before_the_end(serving):
    serving.stop()
    begun, go = serving.folder / "begun", serving.folder / "go"
    os.mkfifo(begun)
    os.mkfifo(go)
    serving.run_first("adding_waits_for_a_word")
    serving.start()
    body = {"subscriptions": [{"feed_url": "https://a.example"}]}
    replies: list[httpx.Response] = []
    with serving.client(serving.new_account()) as client:
        thread = threading.Thread(
            target=lambda: replies.append(client.post("/subscriptions", json=body))
        )
        thread.start()
        begun.read_text()
        serving.process.send_signal(signal.SIGTERM)
        wait_until_refused(serving)
        assert replies == []
        go.write_text("")
        thread.join()
    assert serving.wait() == 0
    assert len(replies[0].json()["success"]) == 1


def test_what_only_the_kernel_has_accepted_at_a_stop_is_answered_before_the_end(own):
    url = httpx.URL(own.base_url)
    assert httpx.get(f"{url}/livez").status_code == 200
    own.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, own.process.pid, os.WSTOPPED)
    with ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection((url.host, url.port or 80), timeout=20))
            for _ in range(100)
        ]
        for connection in connections:
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        own.process.send_signal(signal.SIGTERM)
        own.process.send_signal(signal.SIGCONT)
        replies = [b"".join(iter(lambda c=one: c.recv(65_536), b"")) for one in connections]
    assert {reply[:16] for reply in replies} == {b"HTTP/1.1 200 OK\r"}
    assert own.wait() == 0


def wait_until_refused(process: FeedkeepProcess) -> None:
    """Wait until the service takes no connection any more."""
    url = httpx.URL(process.base_url)
    with pytest.raises(ConnectionRefusedError):  # noqa: PT012 - it takes some until then
        while True:
            socket.create_connection((url.host, url.port or 80), timeout=20).close()
            time.sleep(0.01)


# C7.12
@in_the_long_form
def test_a_request_that_does_not_end_is_told_to_come_back_and_stores_nothing(own):
    name = own.new_account()
    token = own.new_token(name)
    url = httpx.URL(own.base_url)
    assert httpx.get(f"{url}/livez").status_code == 200  # it does not only listen, it serves
    with socket.create_connection((url.host, url.port or 80), timeout=20) as connection:
        head = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        connection.sendall(f"{head}Expect: 100-continue\r\nContent-Length: 99\r\n\r\n".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 100 ")  # it waits for the body
        connection.sendall(b'{"subscriptions":[]')
        assert own.stop() == 0
        reply = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert reply.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 5" in reply
    assert b'{"code":"503",' in reply


def test_a_stop_while_it_is_starting_is_no_failure(own):
    assert own.stop() == 0  # it has told its address, and does not serve yet
    for pause_seconds in (0.02, 0.05, 0.1) if IS_LONG else (0.05,):
        own.start()
        time.sleep(pause_seconds)
        assert own.stop() == 0


def test_a_variable_that_is_no_setting_is_told_at_the_start(own):
    own.stop()
    own.environment["FEEDKEEP_FETHC"] = "off"
    own.start()
    told = "FEEDKEEP_FETHC is not a setting, and has no effect; FEEDKEEP_FETCH is one."
    assert told in own.log.read_text()


def test_it_is_live_and_ready(serving):
    for path in ("/livez", "/readyz"):
        assert httpx.get(serving.base_url + path).json() == {"status": "ok"}


# C7.12
def test_while_the_database_is_locked_it_is_live_reads_and_says_503_to_writers(serving):
    serving.stop()
    serving.run_first("writers_wait_half_a_second")
    serving.start()
    name = serving.new_account()
    with serving.client(name) as client, serving.client(name) as reader:
        item = {"subscriptions": [{"feed_url": "https://a.example"}]}
        client.post("/subscriptions", json=item)
        blocker = sqlite3.connect(serving.folder / "feedkeep.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        refused: list[httpx.Response] = []
        thread = threading.Thread(
            target=lambda: refused.append(client.post("/subscriptions", json=item))
        )
        thread.start()
        while thread.is_alive():
            assert httpx.get(f"{serving.base_url}/livez").status_code == 200
            assert reader.get("/subscriptions").json()["total"] == 1
            thread.join(0.05)
        not_ready = httpx.get(f"{serving.base_url}/readyz", timeout=20)
        thread.join()
        blocker.execute("ROLLBACK")
        blocker.close()
        for reply in (refused[0], not_ready):
            assert (reply.status_code, reply.json()["code"]) == (503, "503")
            assert int(reply.headers["Retry-After"]) > 0
        assert client.post("/subscriptions", json=item).status_code == 200
        serving.wait_until_ready()  # it looks once a second


# C7.12
def test_a_full_disk_is_not_ready_and_says_503_until_there_is_room(serving):
    item = {"subscriptions": [{"feed_url": "https://a.example"}]}
    with serving.client(serving.new_account()) as client:
        assert client.post("/subscriptions", json=item).status_code == 200
        pid = serving.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4_096, before[1]))  # no file grows any more
        for _ in range(3):
            assert client.post("/subscriptions", json=item).status_code == 503
            assert httpx.get(f"{serving.base_url}/readyz").status_code == 503
            assert httpx.get(f"{serving.base_url}/livez").status_code == 200
            assert client.get("/subscriptions").json()["total"] == 1
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        serving.wait_until_ready()
        assert client.post("/subscriptions", json=item).status_code == 200
    assert serving.wait_for_line("store outage ended")["failed_requests"] == 3
    failed = [line for line in log_lines(serving) if line.get("status") == 503]
    assert {(one["level"], one["route"]) for one in failed} == {
        ("warning", "/subscriptions"), ("warning", "/readyz"),
    }  # fmt: skip
    assert all("full" in one["reason"] or "I/O" in one["reason"] for one in failed)
    (began,) = [line for line in log_lines(serving) if line["event"] == "store outage began"]
    assert began["level"] == "error"


def test_however_many_ask_whether_it_is_ready_the_store_is_asked_once_a_second(serving):
    serving.stop()
    serving.run_first("readiness_is_counted")
    serving.environment["ASKED"] = str(serving.folder / "asked")
    serving.start()
    started = time.monotonic()
    with httpx.Client(base_url=serving.base_url) as client:
        statuses = {client.get(f"{prefix}/readyz").status_code for prefix in ("", "/v1") * 100}
    seconds = time.monotonic() - started
    assert statuses == {200}
    assert len((serving.folder / "asked").read_text()) <= seconds + 1


# C1.19
def test_the_log_has_a_line_of_json_for_each_request_and_keeps_secrets_out(serving):
    name = serving.new_account("opensesame")
    token = serving.new_token(name)
    with httpx.Client(base_url=serving.base_url) as client:
        headers = {"Authorization": f"Bearer {token}"}
        body = {"subscriptions": [{"feed_url": SECRET_URL}, {"feed_url": "ftp://secret:knows@x"}]}
        added = client.post("/subscriptions", json=body, headers=headers)
        client.get("/subscriptions", auth=(name, "opensesame"))
        client.get("/subscriptions", auth=(name, "wrongpassword"))
        client.get("/subscriptions?since=x%0d%0a%7b%7d", headers=headers)
        client.get(f"/{SECRET_URL}%0d%0aforged")
    serving.stop()
    lines = [line for line in log_lines(serving) if line["event"] == "request"]
    assert [line["status"] for line in lines] == [200, 200, 401, 405, 404]
    assert [line["credential"] for line in lines] == ["token", "password", None, "token", None]
    (refused,) = [line for line in log_lines(serving) if line["event"] == "login refused"]
    assert (refused["level"], refused["address"]) == ("warning", "127.0.0.1")
    assert (refused["credential"], refused["reason"]) == ("password", "not valid")
    assert refused["request_id"] == lines[2]["request_id"]
    first = lines[0]
    assert first["request_id"] == added.headers["X-Request-Id"]
    assert (first["method"], first["route"], first["account"]) == ("POST", "/subscriptions", name)
    assert first["address"] == "127.0.0.1"
    assert first["duration_us"] > 0
    log = serving.log.read_text()
    guid = added.json()["success"][0]["guid"]
    for secret in (token, "opensesame", "wrongpassword", "hunter2", "abracadabra", "feeds.example",
                   "knows", guid, "forged"):  # fmt: skip
        assert secret not in log


def test_the_address_behind_a_trusted_proxy_is_logged_and_others_are_not_believed(tmp_path):
    forwarded = {"X-Forwarded-For": "203.0.113.9, 198.51.100.7, 127.0.0.9"}
    for trusted, address in (("127.0.0.0/8", "198.51.100.7"), ("", "127.0.0.1")):
        folder = tmp_path / (trusted or "none").replace("/", "-")
        folder.mkdir()
        with FeedkeepProcess(folder, trusted_proxies=trusted) as process:
            for given in ("0190-f00:ba_r.7", "x" * 65, 'a"b', "ü"):
                named = {**forwarded, "X-Request-Id": given.encode()}
                told = httpx.get(f"{process.base_url}/livez", headers=named).headers["X-Request-Id"]
                assert (told == given) is (bool(trusted) and given[0] == "0")  # C1.19
        lines = log_lines(process)
        assert ("0190-f00:ba_r.7" in {line.get("request_id") for line in lines}) is bool(trusted)
        assert {line["address"] for line in lines if line["event"] == "request"} == {address}
        hints = [line for line in lines if line["event"] == "X-Forwarded-For ignored"]
        assert [(line["level"], line["address"]) for line in hints] == (
            [] if trusted else [("warning", address)]
        )
        assert all("FEEDKEEP_TRUSTED_PROXIES" in line["remedy"] for line in hints)


def test_a_log_that_cannot_be_written_fails_no_request(serving):
    serving.stop()
    serving.log = Path("/dev/full")
    serving.start()
    with serving.client(serving.new_account()) as client:
        body = {"subscriptions": [{"feed_url": SECRET_URL}]}
        assert client.post("/subscriptions", json=body).status_code == 200
        assert client.get("/subscriptions").json()["total"] == 1


def test_polls_of_balancers_are_logged_only_where_they_find_something(tmp_path):
    with FeedkeepProcess(tmp_path, log_level="info") as process:
        for path in ("/livez", "/readyz", "/v1/readyz", "/nothing"):
            httpx.get(process.base_url + path)
    lines = [line for line in log_lines(process) if line["event"] == "request"]
    assert [line["status"] for line in lines] == [404]


def test_a_quieter_log_level_leaves_requests_out(tmp_path):
    with FeedkeepProcess(tmp_path, log_level="warning") as process:
        httpx.get(f"{process.base_url}/livez")
    assert process.log.read_text() == ""


def test_serve_tells_where_the_database_is_and_a_link_for_the_first_account(tmp_path):
    process = FeedkeepProcess(tmp_path)
    process.start()
    printed = "".join(process.printed)
    link = re.search(r"http://\S+/sign-up/\S+", printed)
    assert link is not None
    assert process.database.removeprefix("sqlite:///") in printed
    assert httpx.get(link[0], follow_redirects=True).status_code == 200
    process.stop()


def test_the_link_for_the_first_account_is_another_one_with_each_start_and_gone_with_the_account(
    tmp_path,
):
    process = FeedkeepProcess(tmp_path)
    process.start()
    old = re.search(r"/sign-up/\S+", "".join(process.printed))
    process.stop()
    process.start()
    new = re.search(r"/sign-up/\S+", "".join(process.printed))
    assert old is not None
    assert new is not None
    statuses = {}
    for link in (old[0], new[0]):
        with httpx.Client(base_url=process.base_url, follow_redirects=True) as browser:
            statuses[link] = browser.get(link).status_code
    assert statuses == {old[0]: 403, new[0]: 200}
    process.must("account", "create", "me")
    with httpx.Client(base_url=process.base_url, follow_redirects=True) as browser:
        assert browser.get(new[0]).status_code == 403
    process.stop()
    process.start()
    assert "sign-up" not in "".join(process.printed)
    process.stop()


def test_the_first_start_makes_an_account_with_a_curl_line_that_works(tmp_path):
    process = FeedkeepProcess(tmp_path)
    with process.log.open("wb") as log:
        served = subprocess.Popen(
            [FEEDKEEP, "serve", "--port", "0", "--setup", "me"],
            env=process.environment, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    assert served.stdout is not None
    try:
        lines: list[str] = []
        while not lines or not lines[-1].startswith("curl"):
            lines.append(served.stdout.readline())
        printed = "".join(lines)
        assert process.database.removeprefix("sqlite:///") in printed
        assert "Account:   me" in printed
        curl, header_flag, header, data_flag, body, url = shlex.split(lines[-1])
        assert (curl, header_flag, data_flag) == ("curl", "-H", "-d")
        name, _, value = header.partition(": ")
        reply = httpx.post(url, headers={name: value}, content=body)
        assert reply.json()["success"][0]["is_subscribed"] is True
        assert re.search("^me .* administrator ", process.must("account", "list"), re.MULTILINE)
    finally:
        served.terminate()
        served.wait(20)
        served.stdout.close()


def test_an_address_that_is_taken_is_told_in_one_sentence(feedkeep):
    port = str(httpx.URL(feedkeep.base_url).port)
    done = feedkeep.run("serve", "--port", port)
    assert done.returncode == 1
    assert done.stderr == (
        f"feedkeep: Cannot listen on 127.0.0.1 port {port}: Address already in use;"
        " --port names another.\n"
    )
    done = feedkeep.run("serve", "--host", "x" * 80)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


# C7.13
@pytest.mark.parametrize("error", ["ZeroDivisionError", "AccountError", "StoreUnusable"])
def test_a_defect_is_500_with_the_fixed_text_alone_and_the_log_tells_the_rest(serving, error):
    serving.stop()
    serving.run_first("the_list_has_a_defect")
    serving.environment["DEFECT"] = error
    serving.start()
    with serving.client(serving.new_account()) as client:
        reply = client.get("/subscriptions")
        assert client.get("/livez").status_code == 200
    assert reply.status_code == 500
    assert reply.json() == {"code": "500", "message": "An internal error occurred."}
    (line,) = [line for line in log_lines(serving) if line["event"] == "internal error"]
    assert line["request_id"] == reply.headers["X-Request-Id"]
    assert f"{error}: the details" in line["exception"]
