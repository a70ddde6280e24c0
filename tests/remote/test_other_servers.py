"""Invalid answers of another server, and the error messages for them."""

import socket
import threading
import tracemalloc
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from feedkeep.config.networks import AddressRule, network
from feedkeep.model import Failure
from feedkeep.outbound import targets
from feedkeep.outbound.policy import ClientPolicy
from feedkeep.remote import asking, other_servers
from feedkeep.remote.errors import NeverAnswers, RemoteError
from feedkeep.remote.other_servers import MAX_OBJECTS, DeviceThere, Remote

ANYBODY = ClientPolicy()
PHONE = [DeviceThere("phone")]
of_all = partial(Remote.subscriptions, devices=[])
of_phone = partial(Remote.subscriptions, devices=PHONE)
actions = partial(Remote.episode_actions, since=0)


class Answering(HTTPServer):
    """A server that answers everything with one status and one body."""

    status, body, location = 200, b"[]", ""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(self.server.status)
        self.send_header("Location", self.server.location)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(asking, "_PAUSES_SECONDS", (0.0, 0.0))
    with Answering() as answering:
        thread = threading.Thread(target=answering.serve_forever, args=(0.01,))
        thread.start()
        yield answering
        answering.shutdown()
        thread.join()


async def asked(url, *questions, policy=ANYBODY, allow_private=True, **bounds):
    """Return the answer to the last of some questions."""
    remote = Remote(url, "alice", "secret", policy, allow_private=allow_private, **bounds)
    async with remote:
        *_, last = [await question(remote) for question in questions]
        return last


@pytest.mark.parametrize(
    ("status", "body", "ask", "reason"),
    [
        (200, b"<html>", Remote.devices, "not JSON"),
        (502, b"[]", Remote.devices, "failed: it answered 502"),
        *(
            (200, body, actions, "not in the expected format")
            for body in (b"[]", b"{}", b'{"actions": [], "timestamp": "now"}')
        ),
        *(
            (200, b'{"actions": [], "timestamp": %s}' % second, actions, "not in the expected")
            for second in (b"-1", b"1e3", b"9" * 5_000, b"null")
        ),
    ],
    ids=range(9),
)
async def test_answer_that_is_not_valid_is_reported(server, status, body, ask, reason):
    server.status, server.body = status, body
    with pytest.raises(RemoteError, match=reason):
        await asked(server.url, ask)


async def test_server_without_the_protocols_or_away_is_reported(server):
    server.status = 404
    assert await asked(server.url, Remote.devices) == []
    with pytest.raises(RemoteError, match="speaks neither"):
        await asked(server.url, Remote.devices, of_all)
    with Answering() as closed:
        pass
    with pytest.raises(RemoteError, match="refused"):
        await asked(closed.url, Remote.devices)


@pytest.mark.parametrize(
    ("scheme", "host", "kind"),
    [("http", "mistyped.example", Failure.NO_SUCH_HOST), ("https", "127.0.0.1", Failure.TLS_FAULT)],
)
async def test_server_that_never_answers_is_asked_once(server, monkeypatch, scheme, host, kind):
    looked_up = []

    def addresses(name):
        looked_up.append(name)
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(targets, "_addresses", addresses)
    monkeypatch.setattr(asking, "_PAUSES_SECONDS", (3_600.0,))  # in which the test would hang
    with pytest.raises(NeverAnswers, match=r"Check its address\.") as raised:
        await asked(f"{scheme}://{host}:{server.server_port}", Remote.devices)
    assert raised.value.kind is kind
    assert len(looked_up) == (kind is Failure.NO_SUCH_HOST)


async def test_whole_list_is_read_as_mygpo_and_others_write_it(server):
    server.body = b'["https://a.example", {"url": "https://b.example", "title": null}]'
    assert await asked(server.url, of_all) == ["https://a.example", "https://b.example"]


async def test_lists_of_many_devices_are_bounded_together(server):
    server.body = b'{"add": ["https://a.example"]}'
    of_three = partial(Remote.subscriptions, devices=[DeviceThere(f"d{n}") for n in range(3)])
    bytes_of_three = 3 * len(server.body)
    listed = await asked(server.url, of_three, max_bytes=bytes_of_three + 100)
    assert listed == ["https://a.example"]
    with pytest.raises(RemoteError, match="more subscriptions than can be read"):
        await asked(server.url, of_three, max_bytes=bytes_of_three - 1)


async def test_reply_has_as_many_objects_as_fit_and_as_its_bytes_allow(server, monkeypatch):
    server.body = b'{"timestamp": 1, "actions": [' + b",".join([b"{}"] * 20) + b"]}"
    with pytest.raises(RemoteError, match="more episode actions than can be read"):
        await asked(server.url, actions, max_bytes=2_000)
    monkeypatch.setattr(other_servers, "MAX_OBJECTS", 21)
    assert len((await asked(server.url, actions)).actions) == 20


MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("ask", "body"),
    [
        (Remote.devices, b"[" + b"{}," * MAX_OBJECTS + b"{}]"),
        (Remote.devices, b'["' + b"x" * MIB + b'"]'),
        (of_all, b"[" + b'"",' * MIB + b'""]'),
        (of_phone, b'{"add":["' + b"x" * (16 * MIB) + b'"]}'),
        (of_phone, b'{"add":[' + b'"",' * MIB + b'""]}'),
        (actions, b'{"timestamp":1,"actions":[' + b"{}," * MAX_OBJECTS + b"{}]}"),
    ],
    ids=range(6),
)
async def test_more_than_an_account_can_have_is_not_parsed(server, ask, body):
    server.body = body
    tracemalloc.start()
    with pytest.raises(RemoteError, match="than can be read"):
        await asked(server.url, ask)
    assert tracemalloc.get_traced_memory()[1] < 3 * len(body) + MIB
    tracemalloc.stop()


async def test_server_in_the_own_network_is_asked_with_consent_only(server):
    def policy(**rule):
        return ClientPolicy(addresses=AddressRule(**rule))

    other, own = (policy(allowed=(network(f"127.0.0.{number}"),)) for number in (2, 1))
    with pytest.raises(RemoteError, match=r"If that server is your own, add --allow-private\."):
        await asked(server.url, Remote.devices, policy=other, allow_private=False)
    with pytest.raises(RemoteError, match="may not be asked"):
        await asked(server.url, Remote.devices, policy=policy(denied=(network("127.0.0.0/8"),)))
    assert server.asked == []
    await asked(server.url, Remote.devices, policy=other)
    await asked(server.url, Remote.devices, policy=own, allow_private=False)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("https://b.example/login?x", "redirects to https://b.example; use that address"),
        ("/login", "answered 302"),
        ("http://[", "answered 302"),
        ("", "answered 302"),
    ],
)
async def test_redirect_is_told_if_it_leads_to_another_server(server, location, told):
    server.status, server.location = 302, location
    with pytest.raises(RemoteError, match=told):
        await asked(server.url, Remote.devices)
