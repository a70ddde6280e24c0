"""What is read of a request besides its body."""

import asyncio

import pytest
from starlette.requests import Request as HTTPRequest

from feedkeep.http.requests import DISCARD, Request


def request_with(*headers: tuple[bytes, bytes]) -> Request:
    return Request(HTTPRequest({"type": "http", "method": "GET", "path": "/", "headers": headers}))


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        (b"sessionid=abc", "abc"),
        (b"other=1; sessionid=abc; sessionid2=2", "abc"),
        (b"sessionid=abc; sessionid=of-a-neighbour", "abc"),
        (b'sessionid="abc"', "abc"),
        (b"sessionid=a=b", "a=b"),
        (b"sessionid=", ""),
        (b"other=1", ""),
        (b"sessionid", ""),
    ],
)
def test_a_cookie_is_found_by_its_name(sent, value):
    assert request_with((b"cookie", sent)).cookie("sessionid") == value


def test_nothing_in_a_cookie_is_unescaped():
    # Python's way of doing that took half a second for 16 KB of backslashes, without any account.
    assert request_with((b"cookie", rb'sessionid="\101\\"')).cookie("sessionid") == r"\101\\"


LEFT = {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("messages", "received", "discarded"),
    [
        ([b"1234", b"5678", None], 2, 2),
        ([b"1234", b"5678", b"9", b"never", None], 3, 3),  # more than the limit
        ([b"1234", LEFT], 2, 1),
    ],
)
def test_a_body_is_thrown_away_up_to_a_limit_or_until_its_client_has_left(
    messages, received, discarded
):
    coming = iter(messages)
    seen: list[str] = []

    async def receive():
        message = next(coming)
        seen.append("received")
        if isinstance(message, dict):
            return dict(message)
        is_last = messages[len(seen)] is None if len(seen) < len(messages) else True
        return {"type": "http.request", "body": message, "more_body": not is_last}

    scope = {"type": "http", "method": "POST", "path": "/", "headers": ()}
    http = HTTPRequest({**scope, DISCARD: lambda: seen.append("discarded")}, receive)
    asyncio.run(Request(http).discard_body(8))
    assert seen.count("received") == received
    assert seen.count("discarded") >= discarded
