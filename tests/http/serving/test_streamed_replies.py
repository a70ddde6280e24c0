"""Replies in several pieces, as the bytes that a client receives."""

import time

import pytest
from served import Served
from test_bounds import until_closed


def body_of(reply: bytes) -> bytes:
    return reply.partition(b"\r\n\r\n")[2]


def test_a_body_without_a_length_is_sent_in_chunks(served):
    reply = served.reply("/streamed")
    assert b"transfer-encoding: chunked\r\n" in reply
    assert body_of(reply) == b"5\r\none, \r\n5\r\ntwo, \r\n5\r\nthree\r\n0\r\n\r\n"


def test_a_body_with_a_length_is_sent_as_it_is(served):
    reply = served.reply("/counted")
    assert b"chunked" not in reply
    assert body_of(reply) == b"one, two, three"


def test_a_reply_without_any_header_and_length_has_an_end(served):
    assert body_of(served.reply("/bare")) == b"4\r\nbare\r\n0\r\n\r\n"


def test_http_1_0_gets_what_is_sent_until_the_connection_ends(served):
    reply = served.reply("/streamed", version="1.0\r\nConnection: keep-alive")
    assert b"chunked" not in reply
    assert body_of(reply) == b"one, two, three"


def test_head_gets_no_body(served):
    assert body_of(served.reply("/streamed", "HEAD")) == b""
    assert b"content-length: 15\r\n" in (reply := served.reply("/counted", "HEAD"))
    assert body_of(reply) == b""


def test_the_next_request_of_a_pipeline_is_answered_behind_a_streamed_reply(served):
    with served.connect() as connection:
        connection.sendall(b"GET /streamed HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
        replies = b""
        while replies.count(b"\r\n0\r\n\r\n") < 2:
            replies += connection.recv(65_536)
    assert replies.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_reply_that_fails_half_way_is_cut_without_an_end(served, version):
    with served.connect() as connection:
        connection.sendall(f"GET /broken HTTP/{version}\r\nHost: x\r\n\r\n".encode())
        received: list[bytes] = []
        with pytest.raises(ConnectionResetError):
            received.extend(iter(lambda: connection.recv(65_536), b""))
    assert not b"".join(received).endswith(b"0\r\n\r\n")


def test_the_application_waits_for_a_client_that_does_not_read_and_ends_when_it_leaves(
    served, errors
):
    before = errors.read_bytes()
    with served.connect() as connection:
        connection.sendall(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        assert served.line() == "sent"
    lines = 0
    while served.line() == "sent":  # it ends, since the next send raises
        lines += 1
    assert lines < 1_000  # what the kernel takes, and no more
    assert errors.read_bytes() == before


def test_a_stop_does_not_wait_for_a_connection_whose_reply_has_begun_before_and_has_ended(errors):
    with errors.open("ab") as file:
        served = Served(file)
    with served.connect() as connection:
        connection.sendall(b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
        reply = connection.recv(65_536)
        served.process.terminate()
        time.sleep(0.5)  # so that it has looked for idle connections
        connection.sendall(b"{}")
        connection.settimeout(4)  # the grace period is twice as long
        reply += until_closed(connection)
    assert body_of(reply) == b"early late"
    assert served.process.wait(4) == 0
    assert served.process.stdout is not None
    served.process.stdout.close()
