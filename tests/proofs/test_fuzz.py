"""Whatever bytes a client sends, it gets no server error, and learns nothing of what is inside.

Whole HTTP requests are mutated: flipped, cut, doubled and spliced, heads and bodies alike.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Callable

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL

SENDERS = 32
SECONDS_FOR_AN_ANSWER = 0.15
INSIDE = re.compile(
    rb"SELECT |INSERT |UPDATE |Traceback|sqlite|postgres|apsw|asyncpg|falcon|uvicorn|python"
    rb"|\.py\b|/usr|/home|/tmp|object at 0x|\w+(?:Error|Exception)\b",
    re.IGNORECASE,
)
GUID = "00000000-0000-4000-8000-000000000001"
CUT = b"cut"
WORTH_TRYING = [
    b"\r\n", b"\n", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"%00", b"%ff", b"..", b"/v1", b"'",
    b'"', b"\\ud800", b"[" * 2_000, b'{"a":' * 500, b"9" * 400, b"-1", b"1e999", b"NaN", b"null",
    b"\xe2\x80\xae", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n",
    b"Content-Length: -1\r\n", b"Expect: 100-continue\r\n",
    b"Upgrade: h2c\r\nConnection: Upgrade\r\n", b"HEAD ", b"PATCH ", b"If-None-Match: *\r\n",
    b"If-None-Match: W/\"\r\n", b"Origin: null\r\n", b"Host: [::1\r\n", b"Host: a b\r\n",
    b"X-Forwarded-For: ,,\r\n", b"Content-Encoding: gzip\r\n", b"HTTP/1.0", b"HTTP/9.9",
    b"page=0", b"per_page=99999999999999999999", b"since=9999-99-99",
    b"since=2026-01-01T00:00:00%2B99:99", b"after=x", b"?", b"&", b"#", b"Basic ", b"Bearer ",
    b"\xc3\xa9", b"0\r\n\r\n", b"ffffffffffffffff\r\n",
]  # fmt: skip


def requests(token: str) -> list[bytes]:
    """Return a good request of each kind."""
    items = [{"feed_url": "https://a.example/feed?x=1", "guid": GUID}, {"feed_url": "ftp://b"}]
    changes = {"new_feed_url": "https://c.example", "new_guid": GUID, "is_subscribed": True}
    kinds: list[tuple[str, str, object]] = [
        ("GET", "/subscriptions?since=2026-01-01T00:00:00.000001Z&page=1&per_page=50", None),
        ("GET", f"/v1/subscriptions/{GUID}", None),
        ("POST", "/subscriptions", {"subscriptions": items}),
        ("PATCH", f"/subscriptions/{GUID}", changes),
        ("DELETE", f"/subscriptions/{GUID}", None),
        ("GET", "/deletions/1", None),
        ("GET", "/readyz", None),
        ("GET", "/openapi.json", None),
        ("GET", "/docs/swagger-ui.css", None),
    ]
    return [_written(token, *kind) for kind in kinds]


def _written(token: str, method: str, path: str, body: object) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: feeds.example",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        "X-Forwarded-For: 192.0.2.1",
        'If-None-Match: "x"',
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


def mutated(chance: random.Random, good: list[bytes]) -> bytes:
    data = bytearray(chance.choice(good))
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        place = chance.randrange(len(data) + 1)
        end = min(len(data), place + chance.randrange(1, 40))
        match chance.randrange(6):
            case 0:
                data[place:place] = chance.choice(WORTH_TRYING)
            case 1:
                data[place:end] = chance.choice(WORTH_TRYING)
            case 2:
                del data[place:end]
            case 3:
                data[place:place] = data[place:end]
            case 4 if place < len(data):
                data[place] ^= 1 << chance.randrange(8)
            case _:
                other = chance.choice(good)
                data[place:] = other[chance.randrange(len(other)) :]
    return bytes(data)


async def answers(address: tuple[str, int], sent: bytes) -> bytes:
    """Send bytes; return what comes back until there is nothing more to come.

    Returns nothing if the service waits for more, and `CUT` if it hung up without a word.
    """
    reader, writer = await asyncio.open_connection(*address)
    got = b""
    try:
        writer.write(sent)
        async with asyncio.timeout(SECONDS_FOR_AN_ANSWER):
            while piece := await reader.read(65_536):
                got += piece
                if is_whole(got):
                    break
            got = got or CUT
    except (TimeoutError, ConnectionError):
        pass
    writer.transport.abort()
    return got


def is_whole(got: bytes) -> bool:
    head, end, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return bool(end and length and len(body) >= int(length[1]))


def complaints(sent: bytes, got: bytes) -> list[str]:
    """Return what is wrong with an answer to whatever was sent."""
    found = []
    head, _, body = got.partition(b"\r\n\r\n")
    if head and not re.match(rb"HTTP/1\.[01] [1-4]\d\d ", head):
        found.append(f"{sent!r} gave {got!r}")
    if re.match(rb"HTTP/1\.[01] 4", head) and is_whole(got) and body:
        (length,) = map(int, re.findall(rb"content-length: (\d+)", head))
        try:
            told = json.loads(body[:length])
        except ValueError:
            told = {}
        if set(told) != {"code", "message"} or told["code"] != head.split()[1].decode():
            found.append(f"{sent!r} gave an error of another shape: {body!r}")
        if INSIDE.search(body[:length]):
            found.append(f"{sent!r} gave a look inside: {body!r}")
    if re.search(rb"^server:", head, re.IGNORECASE | re.MULTILINE):
        found.append(f"the server tells its name: {head!r}")
    return found


def prove(process: FeedkeepProcess, count: int, seed: int) -> list[str]:
    """Send mutated requests; return all that was wrong."""
    url = httpx.URL(process.base_url)
    address = url.host, url.port or 80
    good, chance = requests(process.new_token(process.new_account())), random.Random(seed)
    found: list[str] = []
    statuses: dict[bytes, int] = {}

    async def send(number: int) -> None:
        for _ in range(number):
            sent = mutated(chance, good)
            got = await answers(address, sent)
            statuses[got[9:12]] = statuses.get(got[9:12], 0) + 1
            found.extend(complaints(sent, got))

    async def go() -> None:
        await asyncio.gather(*(send(count // SENDERS) for _ in range(SENDERS)))

    asyncio.run(go())
    assert sum(statuses.values()) - statuses.get(b"", 0) > count // 2, statuses
    assert {b"200", b"400", b"401", b"404", b"405"} <= statuses.keys(), statuses
    assert httpx.get(f"{process.base_url}/readyz").status_code == 200
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    found += [str(line) for line in lines if line["level"] not in {"info", "warning"}]
    return found


def test_no_bytes_make_a_server_error(
    start: Callable[..., FeedkeepProcess], store_kind: str, amount: Callable[[int, int], int]
) -> None:
    seed = time.time_ns() if IS_FULL else 7
    found = prove(start(store_kind), amount(1_600, 100_000), seed)
    assert found == [], f"with the seed {seed}"


@pytest.mark.parametrize(
    "broken",
    [
        "import msgspec, feedkeep.api.wire as w\n"
        "class Nothing(Exception): ...\n"
        "w.msgspec.DecodeError = w.msgspec.ValidationError = Nothing",
        "import feedkeep.api.problems as p\n"
        "encode = p.encode\n"
        "p.encode = lambda problem: encode(problem).replace(b'}', b', \"x\": 1}')",
    ],
    ids=["JSON that cannot be read", "errors of another shape"],
)
def test_the_proof_notices(start: Callable[..., FeedkeepProcess], broken: str) -> None:
    assert prove(start("sqlite", broken), 1_600, 7) != []
