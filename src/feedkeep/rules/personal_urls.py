"""Which URLs of feeds look as if they were one person's own. Pure.

Such a URL is a secret: feeds for members have a key in their address. With `fetch = public`, nobody
is asked for them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import parse_qsl, unquote, urlsplit

from feedkeep.model import Fetch

_LEAST_CHARACTERS = 20
_CHANGES_IN_A_CHARACTER = 0.25
"""How often digits, small letters and capitals follow each other in a key; seldom in words."""

_SEPARATORS = re.compile(r"[^A-Za-z0-9]")


def may_look_at(url: str, fetch: Fetch) -> bool:
    """Say whether a feed may be looked at by itself, with the setting that there is."""
    return fetch is Fetch.ALL or (fetch is Fetch.PUBLIC and not looks_personal(url))


def looks_personal(url: str) -> bool:
    """Say whether a URL has user info, or a segment or a value that looks random."""
    try:
        parts = urlsplit(url)
        values = [value for _, value in parse_qsl(parts.query, keep_blank_values=True)]
    except ValueError:  # it has too many fields, or no valid host
        return True
    pieces = [*unquote(parts.path).split("/"), *values, unquote(parts.query)]
    return "@" in parts.netloc or any(map(_looks_random, pieces))


def _looks_random(text: str) -> bool:
    """Say whether a text looks like a key: a guid is one, a title with a year is none."""
    characters = _SEPARATORS.sub("", text)
    if len(characters) < _LEAST_CHARACTERS:
        return False
    kinds = [_kind(character) for character in characters]
    # A capital before a small letter begins a word, as in "TheNews".
    changes = sum(a != b and (a, b) != ("A", "a") for a, b in pairwise(kinds))
    return changes >= _CHANGES_IN_A_CHARACTER * len(characters)


def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    return "A" if character.isupper() else "a"
