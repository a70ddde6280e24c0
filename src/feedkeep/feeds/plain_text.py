"""Plain text of what feeds have in their titles and descriptions: HTML, or what only looks so."""

from __future__ import annotations

import re

from feedkeep.feeds.html_references import characters_of
from feedkeep.rules.stream_safe import nfc

MAX_MARKUP_CHARACTERS = 20_000
"""What is longer is cut before it is looked at; no title or description needs as much."""

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
# A letter is compared with another one rather than a tag if words follow, and no attribute has a
# value: "a<b and c>d".
_COMPARED = r"(?![abipqsu]\s+[^\s<>=/][^<>=]*>)"
_ALTERNATIVES = {
    "inline": "|".join(sorted(_INLINE.split(), reverse=True)),
    "blocks": "|".join(sorted(_BLOCKS.split(), reverse=True)),
    "compared": _COMPARED,
}
_NAMES = {*_INLINE.split(), *_BLOCKS.split()}
# Names of HTML only, so that "1 < 2" and "The <Placeholder> Show" stay what they are.
_MARKUP = re.compile(
    r"<(?P<hidden>script|style)\b[^<>]*>.*?(?:</(?P=hidden)\s*>|\Z)"
    r"|<!--.*?(?:-->|\Z)|<!doctype\b[^<>]*>"
    r"|</?{compared}(?P<inline>{inline})(?:[\s/][^<>]*)?>"
    r"|</?{compared}(?:{blocks})(?:[\s/][^<>]*)?>".format_map(_ALTERNATIVES),
    re.IGNORECASE | re.DOTALL,
)
# With its semicolon only: in "AT&T" and "R&D&region" nothing is escaped.
_REFERENCE = re.compile(r"&((?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});)")
# What turns the direction of the text around it, and invisible characters, but white space. Marks
# of direction that act on themselves alone, and joiners, belong to Arabic, Hebrew, Persian and
# emoji.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufffe\uffff"
    "\ud800-\udfff]"
)
_JOINER = "\u200d"


def plain_text(markup: str, limit: int) -> str:
    """Return what a reader of some HTML sees, in one line of at most `limit` characters.

    Titles are escaped once, twice, or not at all, and nothing tells which, so all of it is undone.
    """
    text = markup[:MAX_MARKUP_CHARACTERS]
    for _ in range(_ROUNDS):
        # A tag with something unseen in it would be one as soon as that is gone.
        stripped = _REFERENCE.sub(_unescaped, _without_markup(_UNSEEN.sub("", text)))
        if stripped == text:
            break
        text = stripped
    text = _UNSEEN.sub("", text)
    if _MARKUP.search(text):  # escaped more often than anybody does by mistake
        text = text.replace("<", " ")
    return shortened(_one_line(text), limit)


def shortened(text: str, limit: int) -> str:
    """Return a text, or its beginning with an ellipsis if it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    return text[: limit - 1].rstrip(f" {_JOINER}") + "…"


def is_html(name: str) -> bool:
    """Say whether HTML has an element of this name."""
    return name.lower() in _NAMES


def _without_markup(text: str) -> str:
    return _MARKUP.sub(lambda match: "" if match["inline"] else " ", text)


def _unescaped(reference: re.Match[str]) -> str:
    characters = characters_of(reference[1])
    return reference[0] if characters is None else characters


def _one_line(text: str) -> str:
    return " ".join(nfc(text).split())
