"""Urlencoded forms: they are read as a browser means them, within bounds."""

import asyncio
import tracemalloc
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.requests import Request as HTTPRequest

from feedkeep.http.pages.forms import Form, read_form
from feedkeep.http.requests import Request
from feedkeep.model.errors import InvalidInput

KIND = (b"content-type", b"application/x-www-form-urlencoded")
LARGE_BYTES = 4_000_000
ASCII = st.characters(max_codepoint=127, exclude_characters="&")


def read(body: bytes, max_fields: int = 30) -> Form:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [KIND]}
    return asyncio.run(read_form(Request(HTTPRequest(scope, receive)), LARGE_BYTES, max_fields))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text()), max_size=30))
def test_what_was_typed_is_what_is_read(fields):
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
def test_an_escape_is_read_wherever_in_a_long_text_it_is(at):
    assert read(b"a=" + b"x" * at + b"%C3%BC%2").text("a") == "x" * at + "ü%2"


def test_a_form_may_have_as_many_fields_as_a_page_has_and_no_more():
    assert len(read(b"a=1&" * 2 + b"a=1", 3).several("a")) == 3
    with pytest.raises(InvalidInput):
        read(b"a=1&" * 3 + b"a=1", 3)


def test_a_text_that_is_nothing_but_escapes_takes_no_more_memory_than_others():
    body = b"a=" + b"%61" * (LARGE_BYTES // 3 - 1)
    tracemalloc.start()
    try:
        assert read(body).text("a")[:3] == "aaa"
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 6 * LARGE_BYTES
