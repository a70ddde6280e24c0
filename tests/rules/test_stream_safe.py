"""Normalising takes a time that grows with the length of a text, whatever marks are in it."""

import re
import sys
import unicodedata
from contextlib import suppress
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.feeds.found import absolute_url
from feedkeep.outbound.failures import RequestRefused
from feedkeep.outbound.targets import FetchTarget
from feedkeep.rules.feed_names import address_of
from feedkeep.rules.personal_urls import looks_personal
from feedkeep.rules.text_limits import MAX_MARKS, nfc, with_few_marks
from feedkeep.web.rows import folded

ACUTE, BELOW, TIBETAN, GREEK = "\u0301", "\u0323", "\u0f73", "\u0344"
LETTERS = st.text(st.sampled_from([*"ae가각ক", "ᄀ", "ᅡ", "ᆨ", ACUTE, BELOW, TIBETAN, GREEK, "é"]))


@given(LETTERS.map(lambda text: text[:MAX_MARKS]) | st.text(max_size=MAX_MARKS))
def test_what_has_no_more_marks_than_languages_have_is_in_nfc(text):
    assert nfc(text) == unicodedata.normalize("NFC", text)


@pytest.fixture
def ordered(monkeypatch):
    """Counts calls of `unicodedata.normalize`."""
    normalize = Mock(wraps=unicodedata.normalize)
    monkeypatch.setattr(unicodedata, "normalize", normalize)
    return normalize


def longest(ordered: Mock) -> int:
    return max((len(call.args[1]) for call in ordered.call_args_list), default=0)


@pytest.mark.parametrize("marks", [ACUTE, BELOW, ACUTE + BELOW, TIBETAN, GREEK, TIBETAN + ACUTE])
def test_marks_beyond_those_of_any_language_are_never_put_in_order(marks, ordered, monkeypatch):
    found = nfc(f"a{marks * 500}b{marks * 500}c")
    monkeypatch.undo()
    assert longest(ordered) == len("a" + "b" + "c") + 2 * MAX_MARKS
    assert [letter for letter in unicodedata.normalize("NFD", found) if letter in "abc"] == [*"abc"]


def test_letters_without_many_marks_are_not_examined_one_by_one(ordered):
    text = ("é" * 99 + ACUTE * MAX_MARKS) * 9
    assert with_few_marks(text) == text
    ordered.assert_not_called()


def test_no_mark_is_a_word_character():
    letters = (chr(code) for code in range(sys.maxunicode + 1))
    marks = [letter for letter in letters if unicodedata.combining(letter)]
    assert not re.search(r"\w", "".join([*marks, TIBETAN, GREEK]))


MANY = "".join(chr(mark) * 500 for mark in (0x345, 0x315, 0x300, 0x31B, 0x316, 0x321, 0x334))


@pytest.mark.parametrize("url", [f"http://b{MANY}/x", f"http://b.example/{MANY}"])
def test_url_full_of_marks_is_never_put_in_order(ordered, url):
    looks_personal(url)
    address_of(url)
    folded(url)
    absolute_url(url, 8_192)
    with suppress(RequestRefused):
        FetchTarget.parse("http://a.example").followed(url)
    assert longest(ordered) <= 2 * MAX_MARKS
