"""What another server can answer that is no answer, and what is told then."""

import asyncio
import socket
import threading
import tracemalloc
from collections.abc import Callable, Coroutine
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from feedkeep.config.networks import AddressRule, network
from feedkeep.model import Failure, T
from feedkeep.outbound import targets
from feedkeep.outbound.policy import ClientPolicy
from feedkeep.remote import asking, other_servers
from feedkeep.remote.errors import NeverAnswers, RemoteError
from feedkeep.remote.other_servers import MAX_OBJECTS, DeviceThere, Remote


class Answering(HTTPServer):
    """A server that answers everything with one status and one body."""

    status = 200
    body = b"[]"
    location = ""


class Handler(BaseHTTPRequestHandler):
    server: Answering

    def do_GET(self) -> None:
        self.send_response(self.server.status)
        self.send_header("Location", self.server.location)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(asking, "_PAUSES_SECONDS", (0.0, 0.0))
    with Answering(("127.0.0.1", 0), Handler) as answering:
        thread = threading.Thread(target=answering.serve_forever, args=(0.01,))
        thread.start()
        yield answering
        answering.shutdown()
        thread.join()


Question = Callable[[Remote], Coroutine[Any, Any, T]]


def asked(server: Answering, *questions: Question[T]) -> T:
    """Return the answer to the last of some questions."""

    async def ask() -> T:
        url = f"http://127.0.0.1:{server.server_port}"
        async with Remote(url, "alice", "secret", ClientPolicy(), allow_private=True) as remote:
            *_, last = [await question(remote) for question in questions]
            return last

    return asyncio.run(ask())


def test_a_reply_that_is_not_json_is_reported(server):
    server.body = b"<html>"
    with pytest.raises(RemoteError, match="not JSON"):
        asked(server, Remote.devices)


def test_the_lists_of_many_devices_are_bounded_together(server):
    server.body = b'{"add": ["https://a.example"]}'
    url, devices = (
        f"http://127.0.0.1:{server.server_port}",
        [DeviceThere(f"d{n}") for n in range(3)],
    )

    async def ask(max_bytes):
        policy = ClientPolicy()
        async with Remote(
            url, "alice", "secret", policy, allow_private=True, max_bytes=max_bytes
        ) as remote:
            return await remote.subscriptions(devices)

    assert asyncio.run(ask(3 * len(server.body) + 100)) == ["https://a.example"]
    with pytest.raises(RemoteError, match="more subscriptions than can be read"):
        asyncio.run(ask(3 * len(server.body) - 1))


def test_a_reply_has_no_more_objects_than_its_bytes_allow(server):
    server.body = b'{"timestamp": 1, "actions": [' + b",".join([b"{}"] * 20) + b"]}"

    async def ask():
        url = f"http://127.0.0.1:{server.server_port}"
        policy = ClientPolicy()
        async with Remote(
            url, "alice", "secret", policy, allow_private=True, max_bytes=2_000
        ) as remote:
            await remote.episode_actions(0)

    with pytest.raises(RemoteError, match="more episode actions than can be read"):
        asyncio.run(ask())


def test_a_server_without_the_protocols_is_reported(server):
    server.status = 404
    assert asked(server, Remote.devices) == []
    with pytest.raises(RemoteError, match="speaks neither"):
        asked(server, Remote.devices, lambda remote: remote.subscriptions([]))


def test_a_fault_that_lasts_is_reported(server):
    server.status = 502
    with pytest.raises(RemoteError, match="failed: it answered 502"):
        asked(server, Remote.devices)


def test_a_server_that_is_away_is_reported(server):
    with Answering(("127.0.0.1", 0), Handler) as closed:
        pass
    with pytest.raises(RemoteError, match="refused"):
        asked(closed, Remote.devices)


@pytest.mark.parametrize(
    ("scheme", "host", "kind"),
    [("http", "mistyped.example", Failure.NO_SUCH_HOST), ("https", "127.0.0.1", Failure.TLS_FAULT)],
)
def test_server_that_never_answers_is_asked_once(server, monkeypatch, scheme, host, kind):
    looked_up = []

    def addresses(name):
        looked_up.append(name)
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    async def ask():
        url = f"{scheme}://{host}:{server.server_port}"
        async with Remote(url, "alice", "secret", ClientPolicy(), allow_private=True) as remote:
            await remote.devices()

    monkeypatch.setattr(targets, "_addresses", addresses)
    monkeypatch.setattr(asking, "_PAUSES_SECONDS", (3_600.0,))  # in which the test would hang
    with pytest.raises(NeverAnswers, match=r"Check its address\.") as raised:
        asyncio.run(ask())
    assert raised.value.kind is kind
    assert len(looked_up) == (kind is Failure.NO_SUCH_HOST)


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"actions": [], "timestamp": "now"}'])
def test_episode_actions_that_are_not_valid_are_reported(server, body):
    server.body = body
    with pytest.raises(RemoteError, match="not in the expected format"):
        asked(server, lambda remote: remote.episode_actions(0))


def test_a_whole_list_is_read_as_mygpo_and_others_write_it(server):
    server.body = b'["https://a.example", {"url": "https://b.example", "title": null}]'
    assert asked(server, lambda remote: remote.subscriptions([])) == [
        "https://a.example",
        "https://b.example",
    ]


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
def test_more_than_an_account_can_have_is_not_parsed(server, ask, body):
    server.body = body
    tracemalloc.start()
    with pytest.raises(RemoteError, match="than can be read"):
        asked(server, ask)
    assert tracemalloc.get_traced_memory()[1] < 3 * len(body) + MIB
    tracemalloc.stop()


def test_as_many_actions_as_a_reply_may_hold_are_read(server, monkeypatch):
    monkeypatch.setattr(other_servers, "MAX_OBJECTS", 101)
    server.body = b'{"timestamp":1,"actions":[' + b"{}," * 99 + b"{}]}"
    assert len(asked(server, lambda remote: remote.episode_actions(0)).actions or ()) == 100


@pytest.mark.parametrize("timestamp", ["-1", "1e3", "9" * 5_000, "null"])
def test_a_second_that_is_not_valid_is_reported(server, timestamp):
    server.body = b'{"actions": [], "timestamp": %s}' % timestamp.encode()
    with pytest.raises(RemoteError, match="not in the expected format"):
        asked(server, lambda remote: remote.episode_actions(0))


def test_a_server_in_the_own_network_is_asked_with_consent_only(server):
    asked_for: list[str] = []
    server.RequestHandlerClass = counting(asked_for)
    policy = ClientPolicy(addresses=AddressRule(allowed=(network("127.0.0.2"),)))

    async def ask(policy, *, allow_private):
        url = f"http://127.0.0.1:{server.server_port}"
        remote = Remote(url, "alice", "secret", policy, allow_private=allow_private)
        async with remote:
            await remote.devices()

    with pytest.raises(RemoteError, match=r"If that server is your own, add --allow-private\."):
        asyncio.run(ask(policy, allow_private=False))
    denying = ClientPolicy(addresses=AddressRule(denied=(network("127.0.0.0/8"),)))
    with pytest.raises(RemoteError, match="may not be asked"):
        asyncio.run(ask(denying, allow_private=True))
    assert asked_for == []
    asyncio.run(ask(policy, allow_private=True))
    own = ClientPolicy(addresses=AddressRule(allowed=(network("127.0.0.1"),)))
    asyncio.run(ask(own, allow_private=False))
    assert len(asked_for) == 2


def counting(asked_for: list[str]) -> type[Handler]:
    class Counting(Handler):
        def do_GET(self) -> None:
            asked_for.append(self.path)
            super().do_GET()

    return Counting


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("https://b.example/login?x", "redirects to https://b.example; use that address"),
        ("/login", "answered 302"),
        ("http://[", "answered 302"),
        ("", "answered 302"),
    ],
)
def test_a_redirect_is_told_if_it_leads_to_another_server(server, location, told):
    server.status = 302
    server.location = location
    with pytest.raises(RemoteError, match=told):
        asked(server, Remote.devices)
