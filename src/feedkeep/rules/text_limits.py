"""Limits on strangers' texts: length (C10.5), and the time of normalizing them. Pure."""

from __future__ import annotations

import re
import unicodedata

MAX_TITLE = 200
MAX_DESCRIPTION = 2_000
MAX_LANGUAGE = 35
"""Maximum number of characters; RFC 5646, section 4.4.1, has the limit of a language."""

MAX_SHORT_TITLE = 120
MAX_SHORT_DESCRIPTION = 300
"""Maximum number of characters of an episode's title, and of a feed's description, in lists, which
may have thousands.
"""

_TIMES_LOOKED_AT = 10
"""Number of examined characters, as a multiple of the limit; a text may be a whole file."""

# Characters that change the direction of the text, end a line, or are not characters.
_NOT_IN_A_LINE = {
    **dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " "),
    **dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF], ""),
    **dict.fromkeys(range(0xD800, 0xE000), ""),
}


def line_of(text: str, limit: int) -> str:
    """Return a stranger's text as one line of at most `limit` characters (C10.5).

    It has no control characters, nor any that change the direction of the surrounding text.
    """
    line = text = text[: _TIMES_LOOKED_AT * limit]
    if not text.isprintable() or "  " in text or text != text.strip():  # few are like that
        line = " ".join(text.translate(_NOT_IN_A_LINE).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


MAX_MARKS = 30
"""Maximum number of consecutive combining marks that are kept.

No language has as many (Unicode Standard Annex #15, section 13, Stream-Safe Text Format).
"""


# Marks are not word characters; most texts have no such run, and need no look at each character.
_MAY_BE_MANY = re.compile(rf"[^\w\s]{{{MAX_MARKS + 1}}}")


def nfc(text: str) -> str:
    """Return a text in NFC; of consecutive combining marks, the first `MAX_MARKS` are kept."""
    return text if text.isascii() else unicodedata.normalize("NFC", with_few_marks(text))


def with_few_marks(text: str) -> str:
    """Return a text with at most `MAX_MARKS` consecutive combining marks."""
    if not _MAY_BE_MANY.search(text):
        return text
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
