"""The drain period, from the stop signal to the stop: clients and balancers turn to others."""

import json
import signal
import socket
import time

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of
from running_services import ITEM, begun_post, connected, is_alive, rest, status_of, until

ON_TWO_WORKERS = pytest.mark.parametrize("workers", [2])
SOON_SECONDS = 15
LIVEZ = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def workers():
    return 1


@pytest.fixture
def serving(tmp_path, workers):
    process = FeedkeepProcess(tmp_path, workers=str(workers), drain_seconds="300")
    process.start()
    process.wait_for_workers(workers) if workers > 1 else process.wait_until_ready()
    yield process
    if process.process.poll() is None:
        process.kill()


def until_it_refuses(process):
    """Wait until /readyz refuses, several times: there may be several workers."""
    deadline = time.monotonic() + SOON_SECONDS
    refused = 0
    while refused < 20:
        assert time.monotonic() < deadline, process.log.read_text()
        refused = 0 if status_of(process) == 200 else refused + 1


def ends_soon(process):
    since = time.monotonic()
    return process.wait() == 0 and time.monotonic() - since < SOON_SECONDS


def test_after_sigterm_it_is_not_ready_and_ends_each_connection_with_its_next_reply(serving):
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
    with FeedkeepProcess(tmp_path, drain_seconds="0.7") as process:
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
    body = json.dumps(ITEM).encode()
    serving.process.send_signal(signal.SIGTERM)
    until_it_refuses(serving)
    with begun_post(serving, len(body)) as client:
        for _ in range(3):
            serving.process.send_signal(second)
            time.sleep(0.2)  # else the system takes them for one
        client.sendall(body)
        reply = rest(client)
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert ends_soon(serving)


def test_what_was_sent_ahead_on_a_connection_is_answered_before_that_ends(serving):
    serving.process.send_signal(signal.SIGTERM)
    until_it_refuses(serving)
    with connected(serving) as client:
        client.sendall(LIVEZ * 3)
        replies = rest(client)
    assert replies.count(b"HTTP/1.1 200 OK") == 3
    assert replies.count(b"connection: close") == 1
    with connected(serving) as client:  # the last reply is whole, whatever is sent behind it
        client.sendall(LIVEZ + LIVEZ.replace(b"/livez", b"/docs"))
        reply = client.recv(1_000)
        client.sendall(LIVEZ)
        reply += rest(client)
    head, _, body = reply.rpartition(b"HTTP/1.1 ")[2].partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head.lower()
    serving.process.send_signal(signal.SIGTERM)
    assert ends_soon(serving)


@ON_TWO_WORKERS
def test_several_workers_all_refuse_and_serve_on_until_a_second_signal(serving):
    with serving.client(serving.new_account()) as client:
        serving.process.send_signal(signal.SIGTERM)
        until_it_refuses(serving)
        for _ in range(10):
            assert client.post("/subscriptions", json=ITEM).status_code == 200
    assert len(serving.workers()) == 2
    serving.process.send_signal(signal.SIGTERM)
    assert ends_soon(serving)


@ON_TWO_WORKERS
def test_workers_end_with_their_parent(serving):
    workers = serving.workers()
    serving.process.kill()
    serving.wait()
    until(lambda: not any(is_alive(pid) for pid in workers), SOON_SECONDS)


@pytest.mark.parametrize("status", [413, 401])
def test_a_stop_cuts_no_client_that_still_sends_a_body_after_its_refusal(tmp_path, status):
    """Most clients look for a reply only once they have sent all."""
    with FeedkeepProcess(tmp_path) as process:
        token = process.new_token(process.new_account()) if status == 413 else "none"
        head = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        with connected(process) as client:
            client.sendall(f"{head}Content-Length: 10000000\r\n\r\n".encode())
            client.recv(1, socket.MSG_PEEK)
            process.process.send_signal(signal.SIGTERM)
            for _ in range(100):
                client.sendall(b"x" * 100_000)
                time.sleep(0.01)
            reply = rest(client)
        assert reply.startswith(f"HTTP/1.1 {status} ".encode())
        assert ends_soon(process)
