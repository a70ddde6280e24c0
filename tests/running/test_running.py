"""Running the service: starting, stopping, dying, health, and what the log tells."""

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
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess, write_while
from forms import IS_LONG, in_the_long_form
from postgres_server import free_port
from running_services import ITEM, begun_post, connected, lines, refusal, rest, served, status_of

SECRET_URL = "https://user:hunter2@feeds.example/private?key=abracadabra"


@pytest.fixture
def own(tmp_path):
    """A service of this test's own, to be stopped and killed, which began as users begin it."""
    with FeedkeepProcess(tmp_path, is_from_nothing=True) as process:
        yield process


@pytest.fixture
def serving(tmp_path):
    """A service of this test's own, where how it begins and stops is not what is looked at."""
    with FeedkeepProcess(tmp_path) as process:
        yield process


@pytest.fixture
def broken(tmp_path, request):
    """A service that has run a program of `tests/proofs/broken` first."""
    process = FeedkeepProcess(tmp_path)
    process.run_first(request.param)
    process.environment["ASKED"] = str(tmp_path / "asked")
    for name in ("begun", "go"):
        os.mkfifo(tmp_path / name)
    with process:
        yield process


def test_a_service_starts_where_what_it_prints_goes_to_a_full_disk(tmp_path):
    process, port = FeedkeepProcess(tmp_path), free_port()
    process.base_url = f"http://127.0.0.1:{port}"
    with (
        Path("/dev/full").open("w") as full,
        process.log.open("w") as log,
        served(process, "--port", str(port), stdout=full, stderr=log),
    ):
        process.wait_for_line("cannot write standard output")
        process.wait_until_ready()
    assert len(lines(process, "cannot write standard output")) == 1


def test_where_no_file_can_be_opened_idle_connections_give_way(serving):
    pid = serving.process.pid
    _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)

    def limit(more):
        last = max(int(file.name) for file in Path(f"/proc/{pid}/fd").iterdir())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (last + more, most))

    with ExitStack() as stack:

        def answered():
            client = stack.enter_context(httpx.Client(base_url=serving.base_url, timeout=20))
            return client.get("/livez").is_success

        assert all(answered() for _ in range(5))
        limit(1)
        assert all(answered() for _ in range(10))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as stack:  # of connections that have never sent anything
        assert status_of(serving) == 200
        limit(5)
        for _ in range(300):
            stack.enter_context(connected(serving))
        assert httpx.get(f"{serving.base_url}/readyz", timeout=5).is_success
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))


# C8.1
def test_a_stop_under_load_loses_nothing_and_folds_the_log_into_the_file(own):
    acknowledged, name, status = write_while(own, signal.SIGINT)
    assert status == 0
    assert not list(own.folder.glob("*.db-*"))
    exported = own.must("export", name, "--format", "urls").split()
    assert set(acknowledged) <= set(exported)


@pytest.mark.parametrize("broken", ["adding_waits_for_a_word"], indirect=True)
def test_a_request_that_was_accepted_is_answered_before_the_end(broken):
    replies: list[httpx.Response] = []
    with broken.client(broken.new_account()) as client:
        thread = threading.Thread(
            target=lambda: replies.append(client.post("/subscriptions", json=ITEM))
        )
        thread.start()
        (broken.folder / "begun").read_text()
        broken.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionRefusedError):  # noqa: PT012 - it takes some until then
            while True:
                connected(broken).close()
                time.sleep(0.01)
        assert replies == []
        (broken.folder / "go").write_text("")
        thread.join()
    assert broken.wait() == 0
    assert len(replies[0].json()["success"]) == 1


def test_what_only_the_kernel_has_accepted_at_a_stop_is_answered_before_the_end(own):
    assert status_of(own, "/livez") == 200
    own.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, own.process.pid, os.WSTOPPED)
    with ExitStack() as stack:
        connections = [stack.enter_context(connected(own)) for _ in range(100)]
        for connection in connections:
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        own.process.send_signal(signal.SIGTERM)
        own.process.send_signal(signal.SIGCONT)
        replies = [rest(one) for one in connections]
    assert {reply[:16] for reply in replies} == {b"HTTP/1.1 200 OK\r"}
    assert own.wait() == 0


# C7.12
@in_the_long_form
def test_a_request_that_does_not_end_is_told_to_come_back_and_stores_nothing(own):
    assert status_of(own, "/livez") == 200  # it does not only listen, it serves
    with begun_post(own, 99) as connection:
        connection.sendall(b'{"subscriptions":[]')
        assert own.stop() == 0
        reply = rest(connection)
    assert reply.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 5" in reply
    assert b'{"code":"503",' in reply


def test_a_stop_while_it_is_starting_is_no_failure(own):
    assert own.stop() == 0  # it has told its address, and does not serve yet
    for pause_seconds in (0.02, 0.05, 0.1) if IS_LONG else (0.05,):
        own.start()
        time.sleep(pause_seconds)
        assert own.stop() == 0


# C7.12
@pytest.mark.parametrize("broken", ["writers_wait_half_a_second"], indirect=True)
def test_while_the_database_is_locked_it_is_live_reads_and_says_503_to_writers(broken):
    name = broken.new_account()
    with broken.client(name) as client, broken.client(name) as reader:
        client.post("/subscriptions", json=ITEM)
        blocker = sqlite3.connect(broken.folder / "feedkeep.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        refused: list[httpx.Response] = []
        thread = threading.Thread(
            target=lambda: refused.append(client.post("/subscriptions", json=ITEM))
        )
        thread.start()
        while thread.is_alive():
            assert status_of(broken, "/livez") == 200
            assert reader.get("/subscriptions").json()["total"] == 1
            thread.join(0.05)
        not_ready = httpx.get(f"{broken.base_url}/readyz", timeout=20)
        thread.join()
        blocker.execute("ROLLBACK")
        blocker.close()
        for reply in (refused[0], not_ready):
            assert (reply.status_code, reply.json()["code"]) == (503, "503")
            assert int(reply.headers["Retry-After"]) > 0
        assert client.post("/subscriptions", json=ITEM).status_code == 200
        broken.wait_until_ready()  # it looks once a second
    for path in ("/livez", "/readyz"):
        assert httpx.get(broken.base_url + path).json() == {"status": "ok"}


# C7.12
def test_a_full_disk_is_not_ready_and_says_503_until_there_is_room(serving):
    with serving.client(serving.new_account()) as client:
        assert client.post("/subscriptions", json=ITEM).status_code == 200
        pid = serving.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4_096, before[1]))  # no file grows any more
        for _ in range(2):
            assert client.post("/subscriptions", json=ITEM).status_code == 503
            assert (status_of(serving), status_of(serving, "/livez")) == (503, 200)
            assert client.get("/subscriptions").json()["total"] == 1
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        serving.wait_until_ready()
        assert client.post("/subscriptions", json=ITEM).status_code == 200
    assert serving.wait_for_line("store outage ended")["failed_requests"] == 2
    failed = [line for line in lines(serving) if line.get("status") == 503]
    assert {(one["level"], one["route"]) for one in failed} == {
        ("warning", "/subscriptions"), ("warning", "/readyz"),
    }  # fmt: skip
    assert all("full" in one["reason"] or "I/O" in one["reason"] for one in failed)
    (began,) = lines(serving, "store outage began")
    assert began["level"] == "error"


@pytest.mark.parametrize("broken", ["readiness_is_counted"], indirect=True)
def test_readiness_is_checked_once_a_second(broken):
    started = time.monotonic()
    with httpx.Client(base_url=broken.base_url) as client:
        statuses = {client.get(f"{prefix}/readyz").status_code for prefix in ("", "/v1") * 100}
    seconds = time.monotonic() - started
    assert statuses == {200}
    assert len((broken.folder / "asked").read_text()) <= seconds + 1


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
    told = lines(serving, "request")
    assert [line["status"] for line in told] == [200, 200, 401, 405, 404]
    assert [line["credential"] for line in told] == ["token", "password", None, "token", None]
    (refused,) = lines(serving, "login refused")
    assert (refused["level"], refused["address"]) == ("warning", "127.0.0.1")
    assert (refused["credential"], refused["reason"]) == ("password", "not valid")
    assert refused["request_id"] == told[2]["request_id"]
    first = told[0]
    assert first["request_id"] == added.headers["X-Request-Id"]
    assert (first["method"], first["route"], first["account"]) == ("POST", "/subscriptions", name)
    assert first["address"] == "127.0.0.1"
    assert first["duration_us"] > 0
    log = serving.log.read_text()
    guid = added.json()["success"][0]["guid"]
    for secret in (token, "opensesame", "wrongpassword", "hunter2", "abracadabra", "feeds.example",
                   "knows", guid, "forged"):  # fmt: skip
        assert secret not in log
    serving.log = Path("/dev/full")  # a log that cannot be written fails no request
    serving.start()
    with serving.client(name) as client:
        assert client.post("/subscriptions", json=ITEM).status_code == 200
        assert client.get("/subscriptions").json()["total"] == 2


@pytest.mark.parametrize(
    ("trusted", "address"), [("127.0.0.0/8", "198.51.100.7"), ("", "127.0.0.1")]
)
def test_the_address_behind_a_trusted_proxy_alone_is_logged(tmp_path, trusted, address):
    forwarded = {"X-Forwarded-For": "203.0.113.9, 198.51.100.7, 127.0.0.9"}
    with FeedkeepProcess(tmp_path, trusted_proxies=trusted) as process:
        for given in ("0190-f00:ba_r.7", "x" * 65, 'a"b', "ü"):
            named = {**forwarded, "X-Request-Id": given.encode()}
            told = httpx.get(f"{process.base_url}/livez", headers=named).headers["X-Request-Id"]
            assert (told == given) is (bool(trusted) and given[0] == "0")  # C1.19
    log = lines(process)
    assert ("0190-f00:ba_r.7" in {line.get("request_id") for line in log}) is bool(trusted)
    assert {line["address"] for line in log if line["event"] == "request"} == {address}
    hints = lines(process, "X-Forwarded-For ignored")
    assert [(line["level"], line["address"]) for line in hints] == (
        [] if trusted else [("warning", address)]
    )
    assert all("FEEDKEEP_TRUSTED_PROXIES" in line["remedy"] for line in hints)


@pytest.mark.parametrize(("level", "paths"), [("info", ["/nothing"]), ("warning", [])])
def test_a_quieter_log_leaves_polls_or_all_requests_out(tmp_path, level, paths):
    with FeedkeepProcess(tmp_path, log_level=level) as process:
        for path in ("/livez", "/readyz", "/v1/readyz", *paths):
            httpx.get(process.base_url + path)
    assert [line["status"] for line in lines(process, "request")] == [404] * len(paths)
    assert (process.log.read_text() == "") is (level == "warning")


def test_each_start_prints_another_link_until_there_is_an_account(serving):
    printed = ["".join(serving.printed)]
    assert serving.database.removeprefix("sqlite:///") in printed[0]
    serving.stop()
    serving.start()
    printed.append("".join(serving.printed))
    links = [re.search(r"http://\S+/sign-up/\S+", text)[0] for text in printed]
    assert links[1].startswith(serving.base_url)

    def statuses():
        paths = [httpx.URL(link).path for link in links]
        return [
            httpx.get(serving.base_url + path, follow_redirects=True).status_code for path in paths
        ]

    assert statuses() == [403, 200]
    serving.must("account", "create", "me")
    assert statuses() == [403, 403]
    serving.stop()
    serving.environment["FEEDKEEP_FETHC"] = "off"
    serving.start()
    assert "sign-up" not in "".join(serving.printed)
    misspelt = "FEEDKEEP_FETHC is not a setting, and has no effect; FEEDKEEP_FETCH is one."
    assert misspelt in serving.log.read_text()


def test_setup_makes_an_account_with_a_curl_line_that_works(tmp_path):
    process, arguments = FeedkeepProcess(tmp_path), ["--port", "0", "--setup", "me"]
    told: list[str] = []
    with (
        process.log.open("wb") as log,
        served(process, *arguments, stdout=subprocess.PIPE, stderr=log) as running,
    ):
        while not told or not told[-1].startswith("curl"):
            told.append(running.stdout.readline())
        printed = "".join(told)
        assert process.database.removeprefix("sqlite:///") in printed
        assert "Account:   me" in printed
        curl, header_flag, header, data_flag, body, url = shlex.split(told[-1])
        assert (curl, header_flag, data_flag) == ("curl", "-H", "-d")
        name, _, value = header.partition(": ")
        reply = httpx.post(url, headers={name: value}, content=body)
        assert reply.json()["success"][0]["is_subscribed"] is True
        assert re.search("^me .* administrator ", process.must("account", "list"), re.MULTILINE)


def test_an_address_that_is_taken_is_told_in_one_sentence(tmp_path):
    process = FeedkeepProcess(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert refusal(process, "serve", "--port", port) == (
            f"Cannot listen on 127.0.0.1 port {port}: Address already in use; --port names another."
        )
    refusal(process, "serve", "--host", "x" * 80)


# C7.13
@pytest.mark.parametrize("error", ["ZeroDivisionError", "AccountError", "StoreUnusable"])
def test_a_defect_is_500_with_the_fixed_text_alone_and_the_log_tells_the_rest(tmp_path, error):
    process = FeedkeepProcess(tmp_path)
    process.run_first("the_list_has_a_defect")
    process.environment["DEFECT"] = error
    with process, process.client(process.new_account()) as client:
        reply = client.get("/subscriptions")
        assert client.get("/livez").status_code == 200
    assert reply.status_code == 500
    assert reply.json() == {"code": "500", "message": "An internal error occurred."}
    (line,) = lines(process, "internal error")
    assert line["request_id"] == reply.headers["X-Request-Id"]
    assert f"{error}: the details" in line["exception"]
