"""Requests that are odd or broken, as bytes: what is meant is answered, and nothing slips in."""

import asyncio
import json
import re
import socket
import struct
from contextlib import ExitStack, suppress
from unittest import mock

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from process_memory import memory_bytes
from served import Served
from test_bounds import connected, reply_to, until_closed

from feedkeep.http.backpressure import Draining
from feedkeep.http.serving.protocol import Protocol, Serving

GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
LAST = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
OK = b"HTTP/1.1 200 OK"


def chunked(head: str, trailer: str) -> bytes:
    end = f"Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n{trailer}\r\n\r\n"
    return f"{head}\r\nHost: x\r\nConnection: close\r\n{end}".encode()


# C1.12
def test_a_credential_in_a_trailer_is_ignored(feedkeep):
    token = feedkeep.new_token(feedkeep.new_account())
    for head in ("GET /subscriptions HTTP/1.1", "POST /subscriptions HTTP/1.1"):
        reply = reply_to(feedkeep, chunked(head, f"Authorization: Bearer {token}"))
        assert reply.startswith(b"HTTP/1.1 401 ")


# C1.12
def test_an_address_in_a_trailer_is_not_believed(tmp_path):
    with FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1") as process:
        head = "GET /livez HTTP/1.1\r\nX-Forwarded-For: 192.0.2.7"
        reply_to(process, chunked(head, "X-Forwarded-For: 192.0.2.8"))
    (line,) = map(json.loads, process.log.read_text().splitlines())
    assert line["address"] == "192.0.2.7"


# C7.15
@pytest.mark.parametrize(
    "coding", ["gzip, chunked", "gzip,chunked", "x\r\nTransfer-Encoding: chunked"]
)
def test_a_transfer_coding_that_is_not_known_is_501(feedkeep, coding):
    head = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {coding}\r\n\r\n"
    reply = reply_to(feedkeep, head.encode() + b"2\r\n{}\r\n0\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 501 ")
    body = json.loads(reply.partition(b"\r\n\r\n")[2])
    assert body["code"] == "501"
    assert "chunked" in body["message"]


def test_chunked_is_known_however_it_is_written(feedkeep):
    reply = reply_to(feedkeep, GET + b"Transfer-Encoding:  Chunked \r\n\r\n0\r\n\r\n" + LAST)
    assert reply.count(OK) == 2


# C7.14
def test_no_host_a_second_one_and_one_longer_than_any_name_is_400(feedkeep):
    none = b"GET /livez HTTP/1.1"
    for head in (GET + b"Host: y", GET + b"host: x", none, none + b"\r\nHost: " + b"x" * 3_000):
        reply = reply_to(feedkeep, head + b"\r\n\r\n")
        assert reply.startswith(b"HTTP/1.1 400 ")
        assert json.loads(reply.partition(b"\r\n\r\n")[2])["code"] == "400"


def test_what_is_behind_an_upgrade_in_a_pipeline_is_answered_and_behind_a_second(feedkeep):
    reply = reply_to(feedkeep, (GET + UPGRADE + b"\r\n") * 3 + LAST)
    assert reply.count(OK) == 4


@pytest.mark.parametrize(
    "framing",
    ["Content-Length: 24\r\n\r\n{0}", "Transfer-Encoding: chunked\r\n\r\n18\r\n{0}\r\n0\r\n\r\n"],
)
def test_a_body_behind_an_upgrade_is_read_and_is_not_changed(served, framing):
    body = "upgrade: h2c\nupgrade: h2"
    head = b"POST /echo HTTP/1.1\r\nHost: x\r\n" + UPGRADE
    message = head + framing.format(body).encode()
    with served.connect() as connection:
        connection.sendall(message * 3 + LAST)
        reply = until_closed(connection)
    assert reply.count(body.encode()) == 3
    assert reply.count(OK) == 4


def test_behind_an_upgrade_that_comes_in_pieces_requests_are_answered_too(feedkeep):
    with connected(feedkeep) as connection:
        connection.sendall(GET + b"\r\n" + GET + b"Connection: Upgrade\r\nUpgra")
        assert OK in connection.recv(65_536)  # it has read the first piece
        connection.sendall(b"de: h2c\r\n\r\n" + LAST)
        assert until_closed(connection).count(OK) == 2


def test_a_client_that_leaves_before_its_replies_leaves_no_trace_in_the_log(tmp_path):
    with FeedkeepProcess(tmp_path) as process:
        name = process.new_account()
        token = process.new_token(name)
        get = f"GET /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        docs = "GET /docs HTTP/1.1\r\nHost: x\r\n\r\n"
        for requests in (get * 50, docs * 5, get + docs * 2 + get, get + "GET /livez HT"):
            for _ in range(5):
                with connected(process) as connection, suppress(ConnectionError):
                    connection.sendall(requests.encode())
                    connection.recv(1)
                    now = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
        with process.client(name) as client:
            assert client.get("/subscriptions").status_code == 200
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    assert {line["event"] for line in lines} == {"request"}


def test_a_method_that_nobody_knows_is_as_any_that_its_route_does_not_have(served):
    get = b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n"
    brew = b"\r\nBREW /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n123"
    with served.connect() as connection:
        connection.sendall(brew + get)
        reply = b""
        while reply.count(b"HTTP/1.1 ") < 2:
            reply += connection.recv(65_536)
        assert reply.count(b"123") == 1
        connection.sendall(get + brew)  # one that comes behind another in one piece is not read
        reply += until_closed(connection)
    assert re.findall(rb"HTTP/1.1 (\d+)", reply) == [b"200"] * 3


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("POST /livez HTTP/1.1\r\nTransfer-Encoding: gzip", 501),
        ("POST /livez HTTP/1.1\r\nHost: y\r\nContent-Length: 5000000", 400),
        ("GET /livez HTTP/1.1\r\nX-Filler: ", 431),
    ],
)
def test_a_client_that_goes_on_to_send_receives_its_refusal(feedkeep, head, status):
    end = "" if status == 431 else "\r\nHost: x\r\n\r\n"
    with connected(feedkeep) as connection:
        # Without an error: many clients do not look for a reply once they cannot send.
        connection.sendall((head + end).encode() + b"x" * 5_000_000)
        assert until_closed(connection).startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("rest", [b"ZZ\r\n", b"5;" + b"x" * 20_000])
def test_a_body_that_breaks_behind_its_reply_gets_no_second_one(feedkeep, rest):
    head = b"POST /subscriptions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connected(feedkeep) as connection:
        connection.sendall(head)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 401 ")
        connection.sendall(rest)
        assert until_closed(connection) == b""


def test_a_client_that_sends_no_more_receives_the_replies_to_all_it_has_sent(feedkeep):
    token = feedkeep.new_token(feedkeep.new_account())
    body = b'{"subscriptions": [{"feed_url": "https://a.example"}]}'
    post = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    post += f"Content-Length: {len(body)}\r\n\r\n"
    for requests in ([post.encode() + body], [GET + b"\r\n", post.encode() + body] * 3):
        with connected(feedkeep) as connection:
            connection.sendall(b"".join(requests))
            connection.shutdown(socket.SHUT_WR)
            assert until_closed(connection).count(OK) == len(requests)


def test_an_empty_line_behind_a_body_begins_no_request(impatient):
    with connected(impatient) as connection:
        connection.sendall(b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 405 ")
        connection.sendall(b"\r\n")
        connection.settimeout(3)  # by then, who has begun a request is cut
        with pytest.raises(TimeoutError):
            connection.recv(65_536)
        connection.settimeout(20)
        connection.sendall(LAST)
        assert until_closed(connection).startswith(OK)


@pytest.mark.parametrize(
    "host",
    ["a b", 'a"', "a<b>", "me@a.example", "a.example/x", "b\u00fccher.example", "[::1", "a:b"],
)
def test_a_host_that_is_no_name_and_no_address_is_400(feedkeep, host):
    head = f"GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    assert reply_to(feedkeep, head).startswith(b"HTTP/1.1 400 ")
    line = feedkeep.wait_for_line("a Host that is no name")
    assert (line["status"], line["address"]) == (400, "127.0.0.1")


def test_empty_lines_without_end_are_refused(feedkeep):
    with connected(feedkeep) as connection, pytest.raises(ConnectionError):
        connection.sendall(b"\r\n" * 50_000_000)


@pytest.mark.parametrize(
    "host", ["a_b.example", "[2001:db8::1]:8080", "[fe80::1%eth0]:80", "192.0.2.1:80 \t", ""]
)
def test_hosts_of_every_kind_are_served(feedkeep, host):
    head = f"GET /livez HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    assert reply_to(feedkeep, head).startswith(OK)


def test_a_target_that_names_its_host_counts_and_not_the_host_beside_it(feedkeep):
    name = feedkeep.new_account()
    with feedkeep.client(name) as client:
        items = [{"feed_url": f"https://{number}.example"} for number in range(2)]
        assert client.post("/subscriptions", json={"subscriptions": items}).status_code == 200
    head = (
        "GET http://me@podcasts.example/subscriptions?per_page=1 HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {feedkeep.new_token(name)}\r\nConnection: close\r\n\r\n"
    )
    body = json.loads(reply_to(feedkeep, head.encode()).partition(b"\r\n\r\n")[2])
    assert body["next"].startswith("http://podcasts.example/subscriptions?")
    without_path = b"GET http://x?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert not reply_to(feedkeep, without_path).startswith(b"HTTP/1.1 400 ")


def test_the_refusal_of_a_head_has_no_body_and_every_refusal_a_date(feedkeep):
    for method, has_body in (("GET", True), ("HEAD", False)):
        reply = reply_to(feedkeep, f"{method} /livez HTTP/1.1\r\n\r\n".encode())
        head, _, body = reply.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"\r\ndate: " in head
        assert bool(body) == has_body


def test_a_cookie_in_several_lines_is_one(feedkeep):
    password = "open sesame 123"
    name = feedkeep.new_account(password)
    login = httpx.post(f"{feedkeep.base_url}/api/2/auth/{name}/login.json", auth=(name, password))
    cookie = login.headers["set-cookie"].partition(";")[0]
    head = (
        f"GET /subscriptions/{name}.txt HTTP/1.1\r\nHost: x\r\nCookie: other=1\r\n"
        f"Cookie: {cookie}\r\nConnection: close\r\n\r\n"
    )
    assert reply_to(feedkeep, head.encode()).startswith(OK)


def test_a_body_that_breaks_behind_the_beginning_of_a_reply_puts_nothing_into_it(served):
    with served.connect() as connection:
        connection.sendall(b"POST /early HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        reply = connection.recv(65_536)
        connection.sendall(b"no number\r\n")
        reply += until_closed(connection)
    assert reply.endswith(b"\r\n\r\nearly")


def test_the_connection_ends_if_a_body_that_waits_for_100_continue_was_not_wanted(served):
    # The client may send its next request instead, which would be taken for the body.
    expecting = (
        b"POST /counted HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
    )
    with served.connect() as connection:
        connection.sendall(expecting)
        assert b"\r\nconnection: close\r\n" in until_closed(connection)


def test_http_1_0_gets_no_100_continue(served):
    with served.connect() as connection:
        connection.sendall(
            b"POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(65_536)
        connection.settimeout(20)
        connection.sendall(b"{}")
        assert until_closed(connection).startswith(OK)


def test_an_idle_connection_does_not_hold_the_body_that_nobody_read(served):
    head = b"POST /counted HTTP/1.1\r\nHost: x\r\nContent-Length: 250000\r\n\r\n"
    before = memory_bytes(served, "VmRSS")
    with ExitStack() as stack:
        for _ in range(200):
            connection = stack.enter_context(served.connect())
            connection.sendall(head + b"x" * 250_000)
            assert connection.recv(65_536).startswith(OK)
        assert memory_bytes(served, "VmRSS") - before < 10_000_000


def test_a_body_that_is_sent_without_end_behind_its_reply_is_cut(feedkeep):
    head = b"POST /subscriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"
    with connected(feedkeep) as connection:
        connection.sendall(head)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 401 ")
        with pytest.raises(ConnectionError):
            connection.sendall(b"x" * 100_000_000)


def test_a_body_that_nobody_reads_is_read_once_a_turn_and_not_parsed_line_by_line():
    """Otherwise a stranger's fast connection holds up all others for seconds."""

    class Counted:
        def __init__(self, parser):
            self.parser, self.calls = parser, 0

        def feed_data(self, data):
            self.calls += 1
            self.parser.feed_data(data)

    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def work():
        serving = Serving(app, Draining())
        connection = Protocol(serving)
        transport = mock.Mock(**{"is_closing.return_value": False})
        connection.connection_made(transport)
        connection.data_received(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n")
        await asyncio.gather(*serving.tasks)
        connection._parser = parser = Counted(connection._parser)
        connection.data_received(b"\nUpgrade:" * 7_000)
        assert parser.calls < 300
        assert transport.pause_reading.called
        assert not transport.resume_reading.called
        await asyncio.sleep(0)
        assert transport.resume_reading.called

    asyncio.run(work())


def test_a_client_that_does_not_wait_for_100_continue_receives_its_reply(served):
    head = b"POST /counted HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
    with served.connect() as connection:
        connection.sendall(head + b"Content-Length: 5000000\r\n\r\n")
        assert connection.recv(1, socket.MSG_PEEK)
        connection.sendall(b"x" * 5_000_000)
        assert until_closed(connection).startswith(OK)


def test_what_is_sent_behind_a_pipeline_is_not_read_ahead_reply_by_reply(errors):
    get = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"
    post = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n"
    with errors.open("ab") as file, ExitStack() as stack:
        served = Served(file)
        stack.enter_context(served.process)
        stack.callback(served.process.kill)
        before = memory_bytes(served, "VmRSS")
        for _ in range(20):
            connection = stack.enter_context(served.connect())
            connection.sendall(14 * (get % b"/counted") + get % b"/endless" + post)
            connection.settimeout(0.3)
            with suppress(TimeoutError):
                connection.sendall(b"x" * 8_000_000)
        assert memory_bytes(served, "VmRSS") - before < 25_000_000


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "http://a:99999/"),
        ("GET", "http://a:/"),
        ("OPTIONS", "http://"),
        ("GET", "http:///x"),
        ("CONNECT", "a:443"),
        ("CONNECT", "x/y"),
        ("UNKNOWN", "http://%/"),
    ],
)
def test_a_target_that_is_no_url_is_400_and_in_the_log(feedkeep, method, target):
    head = f"{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    assert reply_to(feedkeep, head).startswith(b"HTTP/1.1 400 ")
    assert feedkeep.wait_for_line("a target that is no URL")["status"] == 400
