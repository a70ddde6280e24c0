"""Where what feeds say is cut: titles, authors, descriptions, languages (C10.5). Pure."""

from __future__ import annotations

MAX_TITLE = 200
MAX_DESCRIPTION = 2_000
MAX_LANGUAGE = 35
"""The most characters of each; RFC 5646, section 4.4.1, has that of a language."""

MAX_SHORT_DESCRIPTION = 300
"""How many characters of a description lists have, in which there may be thousands of them."""

_TIMES_LOOKED_AT = 10
"""How much more of a text than a line has is looked at; a text may be as long as a whole file."""

# What would turn the text around it, and characters that end a line or are none.
_NOT_IN_A_LINE = {
    **dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " "),
    **dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF], ""),
    **dict.fromkeys(range(0xD800, 0xE000), ""),
}


def line_of(text: str, limit: int) -> str:
    """Return a stranger's text as one line of at most `limit` characters (C10.5).

    It has no control characters, nor any that turn the direction of the text around it.
    """
    line = text = text[: _TIMES_LOOKED_AT * limit]
    if not text.isprintable() or "  " in text or text != text.strip():  # few are like that
        line = " ".join(text.translate(_NOT_IN_A_LINE).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
