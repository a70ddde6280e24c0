"""Normalising strangers' texts in time that grows with their length only. Pure.

To put combining marks in order takes the square of how many there are in a row: 20,000 of them took
a second.
"""

from __future__ import annotations

import unicodedata

MAX_MARKS = 30
"""The most combining marks in a row that are kept.

No language has as many (Unicode Standard Annex #15, section 13, Stream-Safe Text Format).
"""


def nfc(text: str) -> str:
    """Return a text in NFC; of combining marks in a row, the first `MAX_MARKS` are kept."""
    return text if text.isascii() else unicodedata.normalize("NFC", with_few_marks(text))


def with_few_marks(text: str) -> str:
    """Return a text with the first `MAX_MARKS` of combining marks in a row."""
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if _is_mark(character) else 0
        if marks <= MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def _is_mark(character: str) -> bool:
    # A few vowels of Tibetan combine only once they are decomposed, into two marks each.
    return unicodedata.combining(unicodedata.normalize("NFD", character)[0]) > 0
