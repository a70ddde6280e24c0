"""Conditions for compressing replies, and the limit of concurrent compressions."""

import gzip

import pytest
from starlette.responses import Response, StreamingResponse

from feedkeep.http import compression
from feedkeep.http.compression import Compression, takes_gzip
from feedkeep.http.responses import JsonResponse

LONG = b'{"a": "' + b"x" * 100_000 + b'"}'


# C1.20
@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True), ("gzip, deflate, br, zstd", True), ("br;q=1.0, GZIP ; q=0.001", True),
        ("*", True), ("br, *;q=0.1", True), ("gzip, *;q=0", True), ("gzip;q=1", True),
        ("gzip;q=0", False), ("gzip; q=0.000, *", False), ("*;q=0", False), ("identity", False),
        ("br", False), ("", False), (",;,q=", False),
    ],
)  # fmt: skip
def test_gzip_is_sent_to_who_takes_it(accepted, takes):
    assert takes_gzip(accepted) is takes


@pytest.mark.parametrize(
    "response",
    [
        Response(LONG, media_type="text/html"),
        JsonResponse(b'"' + b"x" * 1_021 + b'"'),
        Response(status_code=304),
    ],
)
async def test_what_is_short_or_no_json_is_sent_as_it_is(response):
    body, headers = response.body, list(response.raw_headers)
    sent = await Compression().of(response, "gzip")
    assert (sent.body, sent.raw_headers) == (body, headers)


async def slices():
    for first in range(0, len(LONG), 30_000):
        yield LONG[first : first + 30_000]


async def test_only_so_many_are_compressed_while_they_are_sent(monkeypatch):
    monkeypatch.setattr(compression, "MAX_STREAMS", 2)
    several = Compression()

    async def begun():
        response = StreamingResponse(slices(), media_type="application/json")
        await several.of(response, "gzip")
        return response, await anext(response.body_iterator)

    two = [await begun(), await begun()]
    as_it_is, first = await begun()
    assert "content-encoding" not in as_it_is.headers
    assert first == LONG[:30_000]
    for response, first in two:
        assert response.headers["content-encoding"] == "gzip"
        rest = b"".join([chunk async for chunk in response.body_iterator])
        assert gzip.decompress(first + rest) == LONG
    left, _ = await begun()  # there is room again, also after a client that left
    await left.body_iterator.aclose()
    three = [await begun() for _ in range(3)]
    codings = [response.headers.get("content-encoding") for response, _ in three]
    assert codings == ["gzip", "gzip", None]
