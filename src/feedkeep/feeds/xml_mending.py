"""Repair characters, comments and references of XML.

Works on bytes of UTF-8, in linear time.
"""

from __future__ import annotations

import re

from feedkeep.feeds.html_references import characters_of

MAX_MENDED = 300_000
"""Maximum number of repairs in a document; the rest stays unchanged."""

# An unterminated section, comment or instruction extends to the end, to keep the time linear.
_TO_MEND = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)"
    rb"|<!--.*?(?:-->|\Z)"
    rb"|<\?.*?(?:\?>|\Z)"
    rb"|\]\]>"
    rb"|&(?!(?:amp|lt|gt|quot|apos);)"
    rb"(#[0-9]{1,8};|#[xX][0-9a-fA-F]{1,7};|[A-Za-z][A-Za-z0-9]{1,31};)?",
    re.DOTALL,
)
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\r"))
_NO_CHARACTERS = ("\ufffe".encode(), "\uffff".encode())


def mended(document: bytes) -> bytes:
    """Return a document without characters, comments and references that are not valid XML.

    References of HTML such as `&nbsp;` become characters, and a bare `&` becomes text. Afterwards,
    no entity is referenced.
    """
    document = document.translate(None, _CONTROLS)
    for character in _NO_CHARACTERS:
        document = document.replace(character, b"")
    return _TO_MEND.sub(_as_xml, document, count=MAX_MENDED)


def _as_xml(match: re.Match[bytes]) -> bytes:
    found: bytes = match[0]
    if found.startswith(b"<![CDATA["):
        return found
    if found.startswith(b"<"):
        return b""
    if found == b"]]>":
        return b"]]&gt;"
    name = match[1]
    if name is None:
        return b"&amp;"
    characters = characters_of(name.decode())
    if characters is None:
        return b"&amp;" + name
    return b"".join(b"&#%d;" % ord(character) for character in characters)
