"""What is read of a request besides its body."""

from __future__ import annotations

import pytest
from starlette.requests import Request as HTTPRequest

from feedkeep.http.requests import Request


def request_with(*headers: tuple[bytes, bytes]) -> Request:
    return Request(HTTPRequest({"type": "http", "method": "GET", "path": "/", "headers": headers}))


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        (b"sessionid=abc", "abc"),
        (b"other=1; sessionid=abc; sessionid2=2", "abc"),
        (b'sessionid="abc"', "abc"),
        (b"sessionid=a=b", "a=b"),
        (b"sessionid=", ""),
        (b"other=1", ""),
        (b"sessionid", ""),
    ],
)
def test_a_cookie_is_found_by_its_name(sent: bytes, value: str) -> None:
    assert request_with((b"cookie", sent)).cookie("sessionid") == value


def test_nothing_in_a_cookie_is_unescaped() -> None:
    # Python's way of doing that took half a second for 16 KB of backslashes, without any account.
    assert request_with((b"cookie", rb'sessionid="\101\\"')).cookie("sessionid") == r"\101\\"
