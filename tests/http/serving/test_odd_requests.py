"""Odd and broken requests, as bytes: valid ones are answered, and nothing is smuggled in."""

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
from served import Served, answered, connected, reply_to, until_closed

from feedkeep.http.backpressure import Draining
from feedkeep.http.serving.protocol import Protocol, Serving

GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /subscriptions HTTP/1.1\r\nHost: x\r\n"
LAST = GET + b"Connection: close\r\n\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
OK = b"HTTP/1.1 200 OK"


def asked(feedkeep: FeedkeepProcess, head: str) -> bytes:
    """Return the reply to a request, given its first line and any headers."""
    return reply_to(feedkeep, f"{head}\r\nConnection: close\r\n\r\n".encode())


def refusal(reply: bytes) -> tuple[bytes, str]:
    """Return the status and the message of a refusal."""
    body = json.loads(reply.partition(b"\r\n\r\n")[2])
    status = reply.split()[1]
    assert body["code"] == status.decode()
    return status, body["message"]


# C1.12
def test_credential_and_address_in_a_trailer_are_ignored(feedkeep):
    token = feedkeep.new_token(feedkeep.new_account())
    for head, trailer in (
        ("GET /subscriptions HTTP/1.1", f"Authorization: Bearer {token}"),
        ("POST /subscriptions HTTP/1.1", f"Authorization: Bearer {token}"),
        ("GET /livez HTTP/1.1\r\nX-Forwarded-For: 203.0.113.7", "X-Forwarded-For: 203.0.113.8"),
    ):
        rest = f"{CHUNKED.decode()}2\r\n{{}}\r\n0\r\n{trailer}\r\n\r\n"
        reply = reply_to(feedkeep, f"{head}\r\nHost: x\r\nConnection: close\r\n{rest}".encode())
        assert reply.startswith(OK if "livez" in head else b"HTTP/1.1 401 ")
    assert feedkeep.wait_for_line("203.0.113.7")["address"] == "203.0.113.7"


# C7.15
def test_only_chunked_is_a_known_transfer_coding_however_it_is_written(feedkeep):
    for coding in (b"gzip, chunked", b"gzip,chunked", b"x\r\nTransfer-Encoding: chunked"):
        head = POST + b"Transfer-Encoding: %b\r\n\r\n" % coding
        status, message = refusal(reply_to(feedkeep, head + b"2\r\n{}\r\n0\r\n\r\n"))
        assert (status, "chunked" in message) == (b"501", True)
    reply = reply_to(feedkeep, GET + b"Transfer-Encoding:  Chunked \r\n\r\n0\r\n\r\n" + LAST)
    assert reply.count(OK) == 2


# C7.14
def test_host_that_is_missing_repeated_or_no_name_and_no_address_is_400(feedkeep):
    names = ("a b", 'a"', "a<b>", "me@a.example", "a.example/x", "b\u00fccher.example", "x" * 3_000)
    repeated = ("x\r\nHost: y", "x\r\nhost: x")
    hosts = [f"Host: {host}" for host in (*names, "[::1", "a:b", *repeated)]
    for headers in ("Other: x", *hosts):
        reply = asked(feedkeep, f"GET /livez HTTP/1.1\r\n{headers}")
        assert refusal(reply)[0] == b"400", headers
    kinds = ("a_b.example", "[2001:db8::1]:8080", "[fe80::1%eth0]:80", "192.0.2.1:80 \t", "")
    for host in kinds:
        assert asked(feedkeep, f"GET /livez HTTP/1.1\r\nHost: {host}").startswith(OK), host


def test_target_that_is_no_url_is_400(feedkeep):
    wrong = ("a:99999/", "a:/", "", "/x", "%/")
    targets = ["CONNECT a:443", "CONNECT x/y", *(f"GET http://{url}" for url in wrong)]
    for target in (*targets, "OPTIONS http://", "UNKNOWN http://%/"):
        reply = asked(feedkeep, f"{target} HTTP/1.1\r\nHost: a")
        assert reply.startswith(b"HTTP/1.1 400 "), target


def test_refusals_of_heads_are_logged_and_have_a_date_and_no_body_for_head(feedkeep):
    for method in ("GET", "HEAD"):
        head, _, body = asked(feedkeep, f"{method} /livez HTTP/1.1").partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"\r\ndate: " in head
        assert bool(body) == (method == "GET")
    asked(feedkeep, "GET /livez HTTP/1.1\r\nHost: a b")
    asked(feedkeep, "GET http:///x HTTP/1.1\r\nHost: a")
    for reason in ("a Host that is no name", "a target that is no URL"):
        line = feedkeep.wait_for_line(reason)
        assert (line["status"], line["address"]) == (400, "127.0.0.1")


def test_target_that_names_its_host_counts_and_not_the_host_beside_it(feedkeep):
    name = feedkeep.new_account()
    with feedkeep.client(name) as client:
        items = [{"feed_url": f"https://{number}.example"} for number in range(2)]
        assert client.post("/subscriptions", json={"subscriptions": items}).status_code == 200
    reply = asked(
        feedkeep,
        "GET http://me@podcasts.example/subscriptions?per_page=1 HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {feedkeep.new_token(name)}",
    )
    body = json.loads(reply.partition(b"\r\n\r\n")[2])
    assert body["next"].startswith("http://podcasts.example/subscriptions?")
    without_path = asked(feedkeep, "GET http://x?a=b HTTP/1.1\r\nHost: x")
    assert not without_path.startswith(b"HTTP/1.1 400 ")


def test_requests_behind_an_upgrade_are_answered_in_a_pipeline_and_in_pieces(feedkeep):
    assert reply_to(feedkeep, (GET + UPGRADE + b"\r\n") * 3 + LAST).count(OK) == 4
    with connected(feedkeep) as connection:
        connection.sendall(GET + b"\r\n" + GET + b"Connection: Upgrade\r\nUpgra")
        assert OK in connection.recv(65_536)  # it has read the first piece
        connection.sendall(b"de: h2c\r\n\r\n" + LAST)
        assert until_closed(connection).count(OK) == 2


def test_body_behind_an_upgrade_is_read_and_is_not_changed(served):
    body = b"upgrade: h2c\nupgrade: h2"
    for framed in (b"Content-Length: 24\r\n\r\n" + body, CHUNKED + b"18\r\n%b\r\n0\r\n\r\n" % body):
        message = b"POST /echo HTTP/1.1\r\nHost: x\r\n" + UPGRADE + framed
        reply = reply_to(served, message * 3 + LAST)
        assert (reply.count(body), reply.count(OK)) == (3, 4)


def test_client_that_leaves_before_its_replies_leaves_no_trace_in_the_log(tmp_path):
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


def test_method_that_nobody_knows_is_as_any_that_its_route_does_not_have(served):
    get = b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n"
    brew = b"\r\nBREW /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n123"
    with connected(served) as connection:
        connection.sendall(brew + get)
        reply = b""
        while reply.count(b"HTTP/1.1 ") < 2:
            reply += connection.recv(65_536)
        assert reply.count(b"123") == 1
        connection.sendall(get + brew)  # one that comes behind another in one piece is not read
        reply += until_closed(connection)
    assert re.findall(rb"HTTP/1.1 (\d+)", reply) == [b"200"] * 3


def test_cookie_in_several_lines_is_one(feedkeep):
    password = "open sesame 123"
    name = feedkeep.new_account(password)
    login = httpx.post(f"{feedkeep.base_url}/api/2/auth/{name}/login.json", auth=(name, password))
    cookie = login.headers["set-cookie"].partition(";")[0]
    head = f"GET /subscriptions/{name}.txt HTTP/1.1\r\nHost: x\r\n"
    assert asked(feedkeep, f"{head}Cookie: other=1\r\nCookie: {cookie}").startswith(OK)


# Bodies


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /livez HTTP/1.1\r\nTransfer-Encoding: gzip\r\nHost: x\r\n\r\n", 501),
        (b"POST /livez HTTP/1.1\r\nHost: y\r\nContent-Length: 5000000\r\nHost: x\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nX-Filler: ", 431),
    ],
)
def test_client_that_goes_on_to_send_receives_its_refusal(feedkeep, head, status):
    with connected(feedkeep) as connection:
        # Without an error: many clients do not look for a reply once they cannot send.
        connection.sendall(head + b"x" * 5_000_000)
        assert until_closed(connection).startswith(b"HTTP/1.1 %d " % status)


def test_body_that_breaks_gets_no_second_reply_and_changes_none(feedkeep, served):
    for rest in (b"ZZ\r\n", b"5;" + b"x" * 20_000):
        with answered(feedkeep, POST + CHUNKED[:-4], 401) as connection:
            connection.sendall(rest)
            assert until_closed(connection) == b""
    with connected(served) as connection:
        connection.sendall(b"POST /early HTTP/1.1\r\nHost: x\r\n" + CHUNKED)
        reply = connection.recv(65_536)
        connection.sendall(b"no number\r\n")
        reply += until_closed(connection)
    assert reply.endswith(b"\r\n\r\nearly")


def test_body_and_empty_lines_without_end_are_cut(feedkeep):
    owed = POST + b"Content-Length: 99999999999"
    with answered(feedkeep, owed, 401) as connection, pytest.raises(ConnectionError):
        connection.sendall(b"x" * 100_000_000)
    with connected(feedkeep) as connection, pytest.raises(ConnectionError):
        connection.sendall(b"\r\n" * 50_000_000)


def test_empty_line_behind_a_body_begins_no_request(impatient):
    head = b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    with connected(impatient) as connection:
        connection.sendall(head)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 405 ")
        connection.sendall(b"\r\n")
        connection.settimeout(3)  # by then, who has begun a request is cut
        with pytest.raises(TimeoutError):
            connection.recv(65_536)
        connection.settimeout(20)
        connection.sendall(LAST)
        assert until_closed(connection).startswith(OK)


def test_client_that_sends_no_more_receives_the_replies_to_all_it_has_sent(feedkeep):
    token = feedkeep.new_token(feedkeep.new_account())
    body = b'{"subscriptions": [{"feed_url": "https://a.example"}]}'
    head = f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    post = POST + head.encode() + body
    for requests in ([post], [GET + b"\r\n", post] * 3):
        with connected(feedkeep) as connection:
            connection.sendall(b"".join(requests))
            connection.shutdown(socket.SHUT_WR)
            assert until_closed(connection).count(OK) == len(requests)


def test_body_that_waits_for_100_continue_and_was_not_wanted_ends_the_connection(served):
    # The client may send its next request instead, which would be taken for the body.
    head = b"POST /counted HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: "
    assert b"\r\nconnection: close\r\n" in reply_to(served, head + b"9\r\n\r\n")
    with connected(served) as connection:  # of a client that does not wait, and gets its reply
        connection.sendall(head + b"5000000\r\n\r\n")
        assert connection.recv(1, socket.MSG_PEEK)
        connection.sendall(b"x" * 5_000_000)
        assert until_closed(connection).startswith(OK)

    # HTTP/1.0 gets no 100 Continue.
    head = b"POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    with connected(served) as connection:
        connection.sendall(head)
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(65_536)
        connection.settimeout(20)
        connection.sendall(b"{}")
        assert until_closed(connection).startswith(OK)


def test_idle_connection_does_not_hold_the_body_that_nobody_read(served):
    head = b"POST /counted HTTP/1.1\r\nHost: x\r\nContent-Length: 250000\r\n\r\n"
    before = memory_bytes(served, "VmRSS")
    with ExitStack() as stack:
        for _ in range(200):
            connection = stack.enter_context(connected(served))
            connection.sendall(head + b"x" * 250_000)
            assert connection.recv(65_536).startswith(OK)
        assert memory_bytes(served, "VmRSS") - before < 10_000_000


async def test_body_that_nobody_reads_is_read_once_a_turn_and_not_parsed_line_by_line():
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


def test_what_is_sent_behind_a_pipeline_is_not_read_ahead_reply_by_reply(errors):
    get = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"
    post = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n"
    served = Served(errors)
    with ExitStack() as stack:
        stack.enter_context(served.process)
        stack.callback(served.process.kill)
        before = memory_bytes(served, "VmRSS")
        for _ in range(20):
            connection = stack.enter_context(connected(served))
            connection.sendall(14 * (get % b"/counted") + get % b"/endless" + post)
            connection.settimeout(0.1)
            with suppress(TimeoutError):
                connection.sendall(b"x" * 8_000_000)
        assert memory_bytes(served, "VmRSS") - before < 25_000_000
