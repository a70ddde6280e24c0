"""Plain text from titles and descriptions of feeds, which are HTML or only look like it."""

from __future__ import annotations

import html
import re
from html.entities import html5

from feedkeep.rules.text_limits import nfc


def characters_of(name: str) -> str | None:
    """Decode an HTML character reference (`name`: the text after `&`) as browsers do.

    Returns None for unknown names. Numbers of Windows-1252 are its characters; numbers without a
    character become "".
    """
    if name.startswith("#"):
        return html.unescape(f"&{name}")
    # For an unknown name, unescape() replaces its beginning: `&notebook;` would start with "¬".
    return html5.get(name)


MAX_MARKUP_CHARACTERS = 20_000
"""Markup beyond this length is cut; titles and descriptions need less."""

_ROUNDS = 4
_INLINE = (
    "a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span"
)
_INLINE += " strike strong sub sup time tt u var wbr"
_BLOCKS = (
    "address article aside audio blockquote body br button canvas center dd details dir div dl"
)
_BLOCKS += " dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head"
_BLOCKS += (
    " header hr html iframe img input label li link main map marquee meta nav noscript object ol"
)
_BLOCKS += " option p param pre script section select source style summary svg table tbody td"
_BLOCKS += " textarea tfoot th thead title tr ul video"
# A single letter is part of a comparison if words follow without an attribute value: "a<b and c>d".
_COMPARED = r"(?![abipqsu]\s+[^\s<>=/][^<>=]*>)"
_ALTERNATIVES = {
    "inline": "|".join(sorted(_INLINE.split(), reverse=True)),
    "blocks": "|".join(sorted(_BLOCKS.split(), reverse=True)),
    "compared": _COMPARED,
}
_NAMES = {*_INLINE.split(), *_BLOCKS.split()}
# Only names of HTML, so that "1 < 2" and "The <Placeholder> Show" stay unchanged.
_MARKUP = re.compile(
    r"<(?P<hidden>script|style)\b[^<>]*>.*?(?:</(?P=hidden)\s*>|\Z)"
    r"|<!--.*?(?:-->|\Z)|<!doctype\b[^<>]*>"
    r"|</?{compared}(?P<inline>{inline})(?:[\s/][^<>]*)?>"
    r"|</?{compared}(?:{blocks})(?:[\s/][^<>]*)?>".format_map(_ALTERNATIVES),
    re.IGNORECASE | re.DOTALL,
)
# Only with a semicolon: "AT&T" and "R&D&region" contain no references.
_REFERENCE = re.compile(r"&((?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});)")
# Controls of the direction of surrounding text, and invisible characters except white space.
# Isolated direction marks and joiners belong to Arabic, Hebrew, Persian and emoji.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufffe\uffff"
    "\ud800-\udfff]"
)
_JOINER = "\u200d"


def plain_text(markup: str, limit: int) -> str:
    """Return HTML as plain text, in one line of at most `limit` characters.

    Titles are escaped once, twice or not at all, with no indication which, so all levels are
    undone.
    """
    text = markup[:MAX_MARKUP_CHARACTERS]
    for _ in range(_ROUNDS):
        # Removing an invisible character may complete a tag.
        stripped = _REFERENCE.sub(_unescaped, _without_markup(_UNSEEN.sub("", text)))
        if stripped == text:
            break
        text = stripped
    text = _UNSEEN.sub("", text)
    if _MARKUP.search(text):  # escaped more often than by mistake
        text = text.replace("<", " ")
    return shortened(_one_line(text), limit)


def shortened(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters, with an ellipsis."""
    if len(text) <= limit:
        return text
    return text[: limit - 1].rstrip(f" {_JOINER}") + "…"


def is_html(name: str) -> bool:
    return name.lower() in _NAMES


def _without_markup(text: str) -> str:
    return _MARKUP.sub(lambda match: "" if match["inline"] else " ", text)


def _unescaped(reference: re.Match[str]) -> str:
    characters = characters_of(reference[1])
    return reference[0] if characters is None else characters


def _one_line(text: str) -> str:
    return " ".join(nfc(text).split())
