"""Normalizing strangers' texts in linear time. Pure.

Ordering combining marks takes quadratic time in the number of consecutive marks: 20,000 of them
took a second.
"""

from __future__ import annotations

import unicodedata

MAX_MARKS = 30
"""Maximum number of consecutive combining marks that are kept.

No language has as many (Unicode Standard Annex #15, section 13, Stream-Safe Text Format).
"""


def nfc(text: str) -> str:
    """Return a text in NFC; of consecutive combining marks, the first `MAX_MARKS` are kept."""
    return text if text.isascii() else unicodedata.normalize("NFC", with_few_marks(text))


def with_few_marks(text: str) -> str:
    """Return a text with at most `MAX_MARKS` consecutive combining marks."""
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
