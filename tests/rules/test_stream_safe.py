"""Normalising takes a time that grows with the length of a text, whatever marks are in it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.rules.stream_safe import MAX_MARKS, nfc

ACUTE, BELOW, TIBETAN, GREEK = "\u0301", "\u0323", "\u0f73", "\u0344"
LETTERS = st.text(st.sampled_from([*"ae가각ক", "ᄀ", "ᅡ", "ᆨ", ACUTE, BELOW, TIBETAN, GREEK, "é"]))


@given(LETTERS.map(lambda text: text[:MAX_MARKS]) | st.text(max_size=MAX_MARKS))
def test_what_has_no_more_marks_than_languages_have_is_in_nfc(text: str) -> None:
    assert nfc(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("marks", [ACUTE, BELOW, ACUTE + BELOW, TIBETAN, GREEK, TIBETAN + ACUTE])
def test_marks_beyond_those_of_any_language_are_never_put_in_order(
    marks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered: list[str] = []
    normalize = unicodedata.normalize

    def noted(form: str, text: str) -> str:
        ordered.append(text)
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", noted)
    found = nfc(f"a{marks * 500}b{marks * 500}c")
    monkeypatch.undo()
    assert max(map(len, ordered)) == len("a" + "b" + "c") + 2 * MAX_MARKS
    assert [letter for letter in unicodedata.normalize("NFD", found) if letter in "abc"] == [*"abc"]
