"""Requests that a proxy and feedkeep might frame differently, through a real proxy.

An attacker who gets a request past a proxy unseen speaks with the proxy's address, and puts the
replies to others out of order. So each request has a second one behind it, hidden in what may be
its body: a proxy that saw it named the client, and one that did not has let it be smuggled.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import httpx
from feedkeep_process import FeedkeepProcess

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

_HIDDEN = "GET /clientconfig.json HTTP/1.1\r\nHost: x\r\n\r\n"
_HIDDEN_ROUTE = "/clientconfig.json"
_CHUNKED = "Transfer-Encoding: chunked"
_END = "0\r\n\r\n"
_LENGTH = f"Content-Length: {len(_END + _HIDDEN)}"
_SHORT = "Content-Length: 5"
_SECONDS = 10.0

FRAMINGS = (
    (f"{_LENGTH}\r\n{_CHUNKED}", _END),
    (f"{_CHUNKED}\r\n{_LENGTH}", _END),
    (f"{_SHORT}\r\nTransfer-Encoding : chunked", _END),
    (f"{_SHORT}\r\n Transfer-Encoding: chunked", _END),
    (f"{_SHORT}\r\nTransfer-Encoding: xchunked", _END),
    (f"{_SHORT}\r\nTransfer-Encoding:\tchunked", _END),
    (f"{_SHORT}\r\nTransfer-Encoding: \x0bchunked", _END),
    (f"{_SHORT}\r\nTransfer-Encoding: chunked, identity", _END),
    (f"{_SHORT}\r\nTransfer-Encoding\n: chunked", _END),
    (f"{_SHORT}\r\nX: y\nTransfer-Encoding: chunked", _END),
    (f"{_CHUNKED}\r\nTransfer-Encoding: x", _END),
    (f"Transfer-Encoding: x\r\n{_CHUNKED}", _END),
    ("Transfer-Encoding: identity, chunked", _END),
    ("transfer-encoding: CHUNKED", _END),
    (_CHUNKED, "0;x=y\r\n\r\n"),
    (_CHUNKED, "0\n\n"),
    (_CHUNKED, "00000000000000000000\r\n\r\n"),
    (_CHUNKED, "10000000000000000\r\n"),
    (_CHUNKED, "0\r\nContent-Length: 9\r\n\r\n"),
    (f"{_SHORT}\r\n{_SHORT}", _END),
    (f"{_SHORT}\r\n{_LENGTH}", _END),
    (f"{_SHORT}, 5", _END),
    ("Content-Length: +5", _END),
    ("Content-Length: 0x5", _END),
    ("Content-Length: -1", ""),
    ("Content-Length: 5 5", _END),
    (f"Connection: Upgrade\r\nUpgrade: h2c\r\n{_SHORT}", _END),
)
"""Headers, and the body that one of the two may see behind them."""


def requests() -> Iterator[bytes]:
    """Yield each framing with each method."""
    for method in METHODS:
        for headers, body in FRAMINGS:
            head = f"{method} /subscriptions HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n"
            yield (head + body + _HIDDEN).encode()


def check(process: FeedkeepProcess, port: int, client_address: str) -> int:
    """Send all of them to a proxy; return how many there were.

    The proxy names `client_address` in `X-Forwarded-For`, and feedkeep believes it.
    """
    sent = list(requests())
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=_SECONDS) as other:
        for request in sent:
            _send(request, port, client_address)
            for path in ("/livez", "/openapi.json"):  # it shares connections of the proxy
                reply = other.get(path)
                assert reply.status_code == httpx.codes.OK, (request, reply)
                assert ('"openapi"' in reply.text) is (path == "/openapi.json"), (request, reply)
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    hidden = [line for line in lines if line.get("route") == _HIDDEN_ROUTE]
    assert hidden, "no proxy hands on what was sent ahead, so that nothing was tried"
    assert {line["address"] for line in hidden} == {client_address}
    return len(sent)


def _send(request: bytes, port: int, address: str) -> None:
    """Send bytes, and read whatever comes back."""
    with socket.create_connection(("127.0.0.1", port), _SECONDS, (address, 0)) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass
        except ConnectionError:
            return
