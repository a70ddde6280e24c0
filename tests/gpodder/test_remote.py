"""What another server can answer that is no answer, and what is told then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from feedkeep.gpodder import remote
from feedkeep.gpodder.remote import Remote, RemoteError


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
    monkeypatch.setattr(remote, "_PAUSES_SECONDS", (0.0, 0.0))
    with Answering(("127.0.0.1", 0), Handler) as answering:
        thread = threading.Thread(target=answering.serve_forever)
        thread.start()
        yield answering
        answering.shutdown()
        thread.join()


def asked(server: Answering) -> Remote:
    return Remote(f"http://127.0.0.1:{server.server_port}", "alice", "secret")


def test_a_reply_that_is_no_json_is_told(server: Answering) -> None:
    server.body = b"<html>"
    with pytest.raises(RemoteError, match="not JSON"):
        asked(server).devices()


def test_a_server_that_does_not_speak_the_protocol_is_told(server: Answering) -> None:
    server.status = 404
    with pytest.raises(RemoteError, match="does not speak"):
        asked(server).subscriptions()


def test_a_fault_that_does_not_pass_is_told(server: Answering) -> None:
    server.status = 502
    with pytest.raises(RemoteError, match="cannot be asked: it answers 502"):
        asked(server).devices()


def test_a_server_that_is_away_is_told(server: Answering) -> None:
    with HTTPServer(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_port
    with pytest.raises(RemoteError, match="refused"):
        Remote(f"http://127.0.0.1:{port}", "alice", "secret").devices()


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"actions": [], "timestamp": "now"}'])
def test_episode_actions_that_are_none_are_told(server: Answering, body: bytes) -> None:
    server.body = body
    with pytest.raises(RemoteError, match="not what they should be"):
        asked(server).episode_actions(0)


def test_what_is_no_list_of_things_is_none_of_them(server: Answering) -> None:
    server.body = b'{"error": "odd"}'
    assert asked(server).devices() == []
    assert asked(server).subscriptions() == []
    server.body = b'["https://a.example", {"url": "https://b.example"}, {"url": 1}, null]'
    assert asked(server).subscriptions() == ["https://a.example", "https://b.example"]
