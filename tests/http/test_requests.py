"""Reading of requests: trace id, cookies, and bodies within limits."""

import asyncio
import json
import tracemalloc
from urllib.parse import parse_qs, urlencode

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.requests import Request as HTTPRequest

from feedkeep.http.application import trace_id_of
from feedkeep.http.pages.forms import Form, read_form
from feedkeep.http.requests import DISCARD, Request
from feedkeep.model.errors import InvalidInput

# The id of a trace (W3C Trace Context).

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


VALID = f"00-{TRACE}-{PARENT}-01"


LATER = f"cc{VALID[2:]}"
INVALID = [
    *("", "00", "00-" + "a" * 16_000, VALID[:-3], VALID[:-1], f"ff{VALID[2:]}", f"{VALID}-"),
    *(f"{VALID}-more", f"{LATER}.more", f"{VALID},{VALID}", f" {VALID}", f"{VALID}\n"),
    *(VALID.replace(TRACE, other) for other in ("0" * 32, TRACE.upper(), TRACE[:-1] + "g")),
    VALID.replace(PARENT, "0" * 16),
]


def test_valid_header_names_its_trace_and_any_other_none():
    for valid in (VALID, VALID[:-1] + "0", LATER, f"{LATER}-what-comes-later"):
        assert trace_id_of(valid) == TRACE, valid
    assert [header for header in INVALID if trace_id_of(header)] == []


def test_log_has_the_trace_of_a_request(feedkeep):
    ids = [
        httpx.get(f"{feedkeep.base_url}/livez", headers=sent).headers["x-request-id"]
        for sent in (
            {"traceparent": VALID},
            {},
            {"traceparent": f"00-{TRACE}-nonsense-{'x' * 900}"},
        )
    ]
    lines = [feedkeep.wait_for_line(request_id) for request_id in ids]
    assert [line.get("trace_id") for line in lines] == [TRACE, None, None]
    assert "nonsense" not in json.dumps(lines)


# Cookies.


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        (b"sessionid=abc", "abc"), (b"other=1; sessionid=abc; sessionid2=2", "abc"),
        (b"sessionid=abc; sessionid=of-a-neighbour", "abc"), (b'sessionid="abc"', "abc"),
        (b"sessionid=a=b", "a=b"), (b"sessionid=", ""), (b"other=1", ""), (b"sessionid", ""),
        # Python's way of unescaping took half a second for 16 KB of backslashes.
        (rb'sessionid="\101\\"', r"\101\\"),
    ],
)  # fmt: skip
def test_cookie_is_found_by_its_name_and_not_unescaped(sent, value):
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"cookie", sent)]}
    assert Request(HTTPRequest(scope)).cookie("sessionid") == value


# Forms are read as a browser means them.

LARGE_BYTES = 4_000_000
ASCII = st.characters(max_codepoint=127, exclude_characters="&")


def read(body: bytes, max_fields: int = 30) -> Form:
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    kind = (b"content-type", b"application/x-www-form-urlencoded")
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [kind]}
    return asyncio.run(read_form(Request(HTTPRequest(scope, receive)), LARGE_BYTES, max_fields))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text()), max_size=30))
def test_form_is_read_as_it_was_typed(fields):
    form = read(urlencode(fields).encode())
    for name in "abc":
        assert list(form.several(name)) == [text for one, text in fields if one == name]


@example("a", "%41+" * 20_000)
@example("a%", "%ff%fe%C3%BC%4")
@given(st.text(ASCII), st.text(ASCII))
def test_broken_escapes_are_read_as_other_programs_read_them(name, value):
    body = f"{name}={value}"
    assert read(body.encode()).texts == parse_qs(body, keep_blank_values=True)


@pytest.mark.parametrize("at", range(65_530, 65_540))
def test_escape_is_read_wherever_in_a_long_text_it_is(at):
    assert read(b"a=" + b"x" * at + b"%C3%BC%2").text("a") == "x" * at + "ü%2"


def test_form_may_have_as_many_fields_as_a_page_has_and_no_more():
    assert len(read(b"a=1&" * 2 + b"a=1", 3).several("a")) == 3
    with pytest.raises(InvalidInput):
        read(b"a=1&" * 3 + b"a=1", 3)


def test_text_that_is_nothing_but_escapes_takes_no_more_memory_than_others():
    body = b"a=" + b"%61" * (LARGE_BYTES // 3 - 1)
    tracemalloc.start()
    try:
        assert read(body).text("a")[:3] == "aaa"
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 6 * LARGE_BYTES


# Unread bodies.


def piece(body: bytes, *, more: bool = True) -> dict[str, object]:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize(
    ("messages", "received", "discarded"),
    [
        ([piece(b"1234"), piece(b"5678", more=False)], 2, 2),
        # More than the limit:
        ([piece(b"1234"), piece(b"5678"), piece(b"9"), piece(b"never", more=False)], 3, 3),
        ([piece(b"1234"), {"type": "http.disconnect"}], 2, 1),
    ],
)
async def test_body_is_discarded_up_to_a_limit_or_the_end(messages, received, discarded):
    seen = []

    async def receive():
        seen.append("received")
        return messages[seen.count("received") - 1]

    scope = {"type": "http", "method": "POST", "path": "/", "headers": ()}
    http = HTTPRequest({**scope, DISCARD: lambda: seen.append("discarded")}, receive)
    await Request(http).discard_body(8)
    assert seen.count("received") == received
    assert seen.count("discarded") >= discarded
