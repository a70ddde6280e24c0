"""What is between the signal to stop and the stop: clients and balancers turn to others."""

import json
import signal
import socket
import time
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of, in_the_long_form
from postgres_server import drop_database, new_database

LONGER_THAN_A_TEST = "300"
SOON_SECONDS = 15
ITEM = {"subscriptions": [{"feed_url": "https://a.example"}]}
LARGE = "/docs"


@pytest.fixture
def serving(tmp_path):
    process = FeedkeepProcess(tmp_path, drain_seconds=LONGER_THAN_A_TEST)
    process.start()
    process.wait_until_ready()
    yield process
    if process.process.poll() is None:
        process.process.kill()
        process.wait()


@pytest.fixture
def two_workers(tmp_path, postgres):
    database = new_database(postgres)
    process = FeedkeepProcess(tmp_path, database, workers="2", drain_seconds=LONGER_THAN_A_TEST)
    process.start()
    process.wait_for_workers(2)
    yield process
    if process.process.poll() is None:
        process.kill()
    drop_database(postgres, database)


def is_ready(process: FeedkeepProcess) -> bool:
    return httpx.get(f"{process.base_url}/readyz").status_code == httpx.codes.OK


def until_it_refuses(process: FeedkeepProcess) -> None:
    """Wait until /readyz refuses, several times: there may be several workers."""
    deadline = time.monotonic() + SOON_SECONDS
    refused = 0
    while refused < 20:
        assert time.monotonic() < deadline, process.log.read_text()
        refused = 0 if is_ready(process) else refused + 1


def ends_soon(process: FeedkeepProcess) -> bool:
    since = time.monotonic()
    return process.wait() == 0 and time.monotonic() - since < SOON_SECONDS


def test_after_sigterm_it_is_not_ready_and_serves_on_and_each_connection_ends_with_its_next_reply(
    serving,
):
    with serving.client(serving.new_account()) as client:
        before = client.get("/subscriptions")
        assert "Connection" not in before.headers
        serving.process.send_signal(signal.SIGTERM)
        until_it_refuses(serving)
        refused = httpx.get(f"{serving.base_url}/readyz")
        assert (refused.status_code, refused.json()["code"]) == (503, "503")
        assert int(refused.headers["Retry-After"]) > 0
        for _ in range(3):  # the first one on the connection that was kept, the others on new ones
            added = client.post("/subscriptions", json=ITEM)
            assert (added.status_code, added.headers["Connection"]) == (200, "close")
        assert client.get("/livez").status_code == 200
    serving.process.send_signal(signal.SIGTERM)
    assert ends_soon(serving)


def test_after_the_pause_it_stops_by_itself(tmp_path):
    process = FeedkeepProcess(tmp_path, drain_seconds="0.7")
    with process:
        process.wait_until_ready()
        since = time.monotonic()
        assert process.stop() == 0
    assert 0.7 < time.monotonic() - since < SOON_SECONDS
    assert "draining" in process.log.read_text()


def test_ctrl_c_waits_for_no_pause(serving):
    serving.process.send_signal(signal.SIGINT)
    assert ends_soon(serving)


@pytest.mark.parametrize("second", first_of(signal.SIGTERM, signal.SIGINT))
def test_a_second_signal_ends_the_pause_and_cuts_no_response(serving, second):
    token = serving.new_token(serving.new_account())
    serving.process.send_signal(signal.SIGTERM)
    until_it_refuses(serving)
    url = httpx.URL(serving.base_url)
    body = json.dumps(ITEM).encode()
    head = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    with socket.create_connection((url.host, url.port or 80), timeout=30) as client:
        client.sendall(
            f"{head}Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        )
        assert client.recv(65_536).startswith(b"HTTP/1.1 100 ")  # it waits for the body
        for _ in range(3):
            serving.process.send_signal(second)
            time.sleep(0.2)  # else the system takes them for one
        client.sendall(body)
        reply = b"".join(iter(lambda: client.recv(65_536), b""))
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert ends_soon(serving)


def test_what_was_sent_ahead_on_a_connection_is_answered_before_that_ends(serving):
    serving.process.send_signal(signal.SIGTERM)
    until_it_refuses(serving)
    url = httpx.URL(serving.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=30) as client:
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        replies = b"".join(iter(lambda: client.recv(65_536), b""))
    assert replies.count(b"HTTP/1.1 200 OK") == 3
    assert replies.count(b"connection: close") == 1
    serving.process.send_signal(signal.SIGINT)
    assert ends_soon(serving)


def test_several_workers_all_refuse_and_serve_on_until_a_second_signal(two_workers):
    with two_workers.client(two_workers.new_account()) as client:
        two_workers.process.send_signal(signal.SIGTERM)
        until_it_refuses(two_workers)
        for _ in range(10):
            assert client.post("/subscriptions", json=ITEM).status_code == 200
    assert len(two_workers.workers()) == 2
    two_workers.process.send_signal(signal.SIGTERM)
    assert ends_soon(two_workers)


@in_the_long_form
def test_several_workers_wait_for_no_pause_after_ctrl_c(two_workers):
    two_workers.process.send_signal(signal.SIGINT)
    assert ends_soon(two_workers)


def test_workers_end_with_their_parent(two_workers):
    workers = two_workers.workers()
    two_workers.process.kill()
    two_workers.wait()
    deadline = time.monotonic() + SOON_SECONDS
    while any(Path(f"/proc/{pid}/fd").exists() and _is_running(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_last_reply_of_a_connection_is_whole_whatever_was_sent_behind_it(serving):
    url = httpx.URL(serving.base_url)
    get = "GET {} HTTP/1.1\r\nHost: x\r\n\r\n"
    serving.process.send_signal(signal.SIGTERM)
    until_it_refuses(serving)
    with socket.create_connection((url.host, url.port or 80), timeout=30) as client:
        client.sendall((get.format("/livez") + get.format(LARGE)).encode())
        reply = client.recv(1_000)
        client.sendall(get.format("/livez").encode())
        reply += b"".join(iter(lambda: client.recv(65_536), b""))
    head, _, body = reply.rpartition(b"HTTP/1.1 ")[2].partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head.lower()
    serving.process.send_signal(signal.SIGTERM)
    assert ends_soon(serving)


@pytest.mark.parametrize("has_token", [True, False])
def test_a_stop_cuts_no_client_that_still_sends_a_body_after_its_refusal(tmp_path, *, has_token):
    """Most clients look for a reply only once they have sent all."""
    with FeedkeepProcess(tmp_path) as process:
        token = process.new_token(process.new_account()) if has_token else "none"
        url = httpx.URL(process.base_url)
        head = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        with socket.create_connection((url.host, url.port or 80), timeout=30) as client:
            client.sendall(f"{head}Content-Length: 10000000\r\n\r\n".encode())
            client.recv(1, socket.MSG_PEEK)
            process.process.send_signal(signal.SIGTERM)
            for _ in range(100):
                client.sendall(b"x" * 100_000)
                time.sleep(0.01)
            reply = b"".join(iter(lambda: client.recv(65_536), b""))
        assert reply.startswith(b"HTTP/1.1 413 " if has_token else b"HTTP/1.1 401 ")
        assert ends_soon(process)
