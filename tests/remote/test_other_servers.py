"""What another server can answer that is no answer, and what is told then."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from feedkeep.remote import asking, other_servers
from feedkeep.remote.asking import RemoteError
from feedkeep.remote.other_servers import MAX_OBJECTS, DeviceThere, Remote


class Answering(HTTPServer):
    """A server that answers everything with one status and one body."""

    status = 200
    body = b"[]"


class Handler(BaseHTTPRequestHandler):
    server: Answering

    def do_GET(self) -> None:
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answering]:
    monkeypatch.setattr(asking, "_PAUSES_SECONDS", (0.0, 0.0))
    with Answering(("127.0.0.1", 0), Handler) as answering:
        thread = threading.Thread(target=answering.serve_forever, args=(0.01,))
        thread.start()
        yield answering
        answering.shutdown()
        thread.join()


def asked(server: Answering) -> Remote:
    return Remote(f"http://127.0.0.1:{server.server_port}", "alice", "secret")


def test_a_reply_that_is_not_json_is_reported(server: Answering) -> None:
    server.body = b"<html>"
    with pytest.raises(RemoteError, match="not JSON"):
        asked(server).devices()


def test_a_server_without_the_protocols_is_reported(server: Answering) -> None:
    server.status = 404
    other = asked(server)
    assert other.devices() == []
    with pytest.raises(RemoteError, match="speaks neither"):
        other.subscriptions([])


def test_a_fault_that_lasts_is_reported(server: Answering) -> None:
    server.status = 502
    with pytest.raises(RemoteError, match="failed: it answered 502"):
        asked(server).devices()


def test_a_server_that_is_away_is_reported(server: Answering) -> None:
    with HTTPServer(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_port
    with pytest.raises(RemoteError, match="refused"):
        Remote(f"http://127.0.0.1:{port}", "alice", "secret").devices()


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"actions": [], "timestamp": "now"}'])
def test_episode_actions_that_are_not_valid_are_reported(server: Answering, body: bytes) -> None:
    server.body = body
    with pytest.raises(RemoteError, match="not in the expected format"):
        asked(server).episode_actions(0)


def test_a_whole_list_is_read_as_mygpo_and_others_write_it(server: Answering) -> None:
    server.body = b'["https://a.example", {"url": "https://b.example", "title": null}]'
    assert asked(server).subscriptions([]) == ["https://a.example", "https://b.example"]


MIB = 1024 * 1024
PHONE = [DeviceThere("phone")]


@pytest.mark.parametrize(
    ("ask", "body"),
    [
        (Remote.devices, b"[" + b"{}," * MAX_OBJECTS + b"{}]"),
        (Remote.devices, b'["' + b"x" * MIB + b'"]'),
        (lambda remote: remote.subscriptions([]), b"[" + b'"",' * MIB + b'""]'),
        (lambda remote: remote.subscriptions(PHONE), b'{"add":["' + b"x" * (16 * MIB) + b'"]}'),
        (lambda remote: remote.subscriptions(PHONE), b'{"add":[' + b'"",' * MIB + b'""]}'),
        (
            lambda remote: remote.episode_actions(0),
            b'{"timestamp":1,"actions":[' + b"{}," * MAX_OBJECTS + b"{}]}",
        ),
    ],
)
def test_more_than_an_account_can_have_is_not_parsed(
    server: Answering, ask: Callable[[Remote], object], body: bytes
) -> None:
    server.body = body
    tracemalloc.start()
    with pytest.raises(RemoteError, match="than can be read"):
        ask(asked(server))
    assert tracemalloc.get_traced_memory()[1] < 3 * len(body) + MIB
    tracemalloc.stop()


def test_as_many_actions_as_a_reply_may_hold_are_read(
    server: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_servers, "MAX_OBJECTS", 101)
    server.body = b'{"timestamp":1,"actions":[' + b"{}," * 99 + b"{}]}"
    assert len(asked(server).episode_actions(0).actions or ()) == 100


@pytest.mark.parametrize("timestamp", ["-1", "1e3", "9" * 5_000, "null"])
def test_a_second_that_is_not_valid_is_reported(server: Answering, timestamp: str) -> None:
    server.body = b'{"actions": [], "timestamp": %s}' % timestamp.encode()
    with pytest.raises(RemoteError, match="not in the expected format"):
        asked(server).episode_actions(0)
