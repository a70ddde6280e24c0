"""Maximum lengths of feeds' titles, authors, descriptions and languages (C10.5). Pure."""

from __future__ import annotations

MAX_TITLE = 200
MAX_DESCRIPTION = 2_000
MAX_LANGUAGE = 35
"""Maximum number of characters; RFC 5646, section 4.4.1, has the limit of a language."""

MAX_SHORT_DESCRIPTION = 300
"""Maximum number of characters of a description in lists, which may have thousands."""

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
