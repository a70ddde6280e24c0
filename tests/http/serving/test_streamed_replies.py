"""Replies in several pieces, as the bytes that a client receives."""

import time

import pytest
from served import Served, connected, reply_to, until_closed

STREAMED, COUNTED = b"5\r\none, \r\n5\r\ntwo, \r\n5\r\nthree\r\n0\r\n\r\n", b"one, two, three"


@pytest.mark.parametrize(
    ("method", "path", "version", "body", "framing"),
    [
        ("GET", "/streamed", "1.1", STREAMED, b"transfer-encoding: chunked\r\n"),
        ("GET", "/counted", "1.1", COUNTED, b"content-length: 15\r\n"),
        ("GET", "/bare", "1.1", b"4\r\nbare\r\n0\r\n\r\n", b"transfer-encoding: chunked\r\n"),
        ("GET", "/streamed", "1.0\r\nConnection: keep-alive", COUNTED, b"connection: close\r\n"),
        ("HEAD", "/streamed", "1.1", b"", b""),
        ("HEAD", "/counted", "1.1", b"", b"content-length: 15\r\n"),
    ],
)
def test_body_is_framed_as_it_may_be(served, method, path, version, body, framing):
    head, _, sent = served.reply(path, method, version).partition(b"\r\n\r\n")
    assert sent == body
    assert framing in head + b"\r\n"
    assert (b"chunked" in head) == (b"chunked" in framing) or method == "HEAD"


def test_next_request_of_a_pipeline_is_answered_behind_a_streamed_reply(served):
    get = b"GET /streamed HTTP/1.1\r\nHost: x\r\n"
    replies = reply_to(served, get + b"\r\n" + get + b"Connection: close\r\n\r\n")
    assert replies.count(b"HTTP/1.1 200 OK") == replies.count(b"\r\n0\r\n\r\n") == 2


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_reply_that_fails_half_way_is_cut_without_an_end(served, version):
    received = []
    with connected(served) as connection:
        connection.sendall(b"GET /broken HTTP/%b\r\nHost: x\r\n\r\n" % version)
        with pytest.raises(ConnectionResetError):
            received.extend(iter(lambda: connection.recv(65_536), b""))
    assert not b"".join(received).endswith(b"0\r\n\r\n")


def test_application_waits_for_a_client_that_does_not_read_and_ends_when_it_leaves(served, errors):
    before = errors.read_bytes()
    with connected(served) as connection:
        connection.sendall(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        assert served.line() == "sent"
    lines = 0
    while served.line() == "sent":  # it ends, since the next send raises
        lines += 1
    assert lines < 1_000  # what the kernel takes, and no more
    assert errors.read_bytes() == before


def test_stop_does_not_wait_for_a_connection_whose_reply_has_begun_before_and_has_ended(errors):
    served = Served(errors)
    with connected(served) as connection:
        connection.sendall(b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
        reply = connection.recv(65_536)
        served.process.terminate()
        time.sleep(0.5)  # so that it has looked for idle connections
        connection.sendall(b"{}")
        connection.settimeout(4)  # the grace period is twice as long
        reply += until_closed(connection)
    assert reply.endswith(b"\r\n\r\nearly late")
    assert served.process.wait(4) == 0
    served.process.stdout.close()
