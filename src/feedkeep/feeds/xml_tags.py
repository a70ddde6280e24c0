"""Repair a malformed document, so that expat can parse it.

Content around a mistake is kept. Works on bytes of UTF-8, in linear time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

from feedkeep.feeds.plain_text import characters_of

MAX_PARTS = 250_000
"""Maximum number of tags, attributes and CDATA sections; the rest of a document is dropped."""

MAX_OPEN = 1_000
"""Maximum number of open elements; the rest of a document is dropped."""

_QUOTED = rb"""(?:"[^"<]*+"|"[^">]*+"|'[^'<]*+'|'[^'>]*+')"""
# A quote counts only after "=". A tag may lack its end if the next one starts.
_PART = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)"
    rb"|<(?P<slash>/?)\s*+(?P<name>[A-Za-z_][\w.:-]{0,99}+)(?=[\s/<>=\"'])"
    rb"(?P<rest>(?:[^<>=]++|=\s*+" + _QUOTED + rb"|=)*+)(?P<end>>?)"
    rb"|<",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(
    rb"(?<![\w.:-])([A-Za-z_][\w.:-]*+)\s*+=\s*+"
    rb"""(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\s"']*+))"""
)
_CURLY_QUOTE = re.compile(rb"\xe2\x80[\x98-\x9f\xb2\xb3]")
# Not all of HTML: feeds have elements named `link` and `title`, too.
_HTML = re.compile(
    rb"a|abbr|b|big|blockquote|br|center|code|div|em|embed|font|h[1-6]|hr|i|iframe|img|ins|li"
    rb"|nobr|object|ol|p|param|pre|script|small|span|strike|strong|style|su[bp]|table|tbody|td"
    rb"|th|thead|tr|tt|u|ul",
    re.IGNORECASE,
)


def with_tags_mended(document: bytes) -> bytes:
    """Repair the tags of a document that starts with its first element.

    - Attributes get quotes; one without a value, or a repeated one, is dropped.
    - Tags of HTML, and any other `<` that starts no tag, become text: descriptions are often not
      escaped, and their `<br>` never ends.
    - An item ends, with everything in it, where the next one starts.
    - Any other element with a missing or misspelt end (`<title>A</titel>`) ends at the next tag.
    - An end that matches no element is dropped.

    Elements that are open at the end stay open: the document was truncated.
    """
    mending = _Mending()
    at = 0
    for part in _PART.finditer(document):
        if not mending.has_room():
            return mending.written()
        if not part[0].startswith(b"<!["):
            mending.text(document[at : part.start()])
            mending.part(part)
            at = part.end()
    mending.text(document[at:])
    return mending.written()


class _Open(NamedTuple):
    """An open element: its name, and the number of its tag."""

    name: bytes
    number: int


class _Mending:
    """Output so far, and the elements that are open there."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._tags: list[int] = []  # indexes of the pieces that are tags
        self._parts = 0
        self._open: list[_Open] = []
        self._places: defaultdict[bytes, list[int]] = defaultdict(list)
        self._item = b""
        self._containers = 0  # number of open elements around items: <rss>, and its <channel>

    def written(self) -> bytes:
        return b"".join(self._pieces)

    def has_room(self) -> bool:
        self._parts += 1
        return self._parts <= MAX_PARTS and len(self._open) <= MAX_OPEN

    def text(self, text: bytes) -> None:
        if text:
            self._pieces.append(text)

    def part(self, part: re.Match[bytes]) -> None:
        name, rest = part["name"], part["rest"]
        is_tag = name and (part["slash"] or part["end"] or b"=" in rest)
        if not is_tag or _HTML.fullmatch(name):
            self.text(part[0].replace(b"<", b"&lt;"))
        else:
            self._tags.append(len(self._pieces))
            self._pieces.append(b"")  # ends that belong before this tag are prepended here
            tag = self._end(name) if part["slash"] else self._start(name, rest.rstrip())
            self._pieces[-1] += tag

    def _start(self, name: bytes, rest: bytes) -> bytes:
        key, ended = name.lower(), b""
        if len(self._tags) == 1:  # the root
            prefix, colon, local = key.rpartition(b":")
            self._item = prefix + colon + b"entry" if local == b"feed" else b"item"
            self._containers = 1
        elif key == self._item:
            ended = self._close_down_to(self._containers)
        elif key == b"channel" and len(self._open) == self._containers == 1:
            self._containers = 2
        is_empty = rest.endswith(b"/")
        attributes = self._attributes(rest.removesuffix(b"/"))
        if not is_empty:
            self._places[key].append(len(self._open))
            self._open.append(_Open(name, len(self._tags) - 1))
        return b"%b<%b%b%b>" % (ended, name, attributes, b"/" if is_empty else b"")

    def _end(self, name: bytes) -> bytes:
        places = self._places[name.lower()]
        if not places:
            return b""
        return self._close_down_to(places[-1] + 1) + self._pop()

    def _close_down_to(self, count: int) -> bytes:
        """Close open elements beyond `count`; return the ends to be written here."""
        ended = b""
        while len(self._open) > count:
            is_item_or_around = self._is_item_or_around(len(self._open) - 1)
            number = self._open[-1].number
            end = self._pop()
            if is_item_or_around:
                ended += end
            else:
                following = self._tags[number + 1]
                self._pieces[following] = end + self._pieces[following]
        return ended

    def _is_item_or_around(self, place: int) -> bool:
        is_item = place == self._containers and self._open[place].name.lower() == self._item
        return is_item or place < self._containers

    def _pop(self) -> bytes:
        name = self._open.pop().name
        self._places[name.lower()].pop()
        self._containers = min(self._containers, len(self._open))
        return b"</%b>" % name

    def _attributes(self, rest: bytes) -> bytes:
        values: dict[bytes, bytes] = {}
        for found in _ATTRIBUTE.finditer(rest):
            if not self.has_room():
                break
            name, double, single, bare = found.groups()
            if name not in values:
                value = double or single or _CURLY_QUOTE.sub(b"", bare or b"")
                values[name] = value.replace(b"<", b"&lt;").replace(b'"', b"&quot;")
        return b"".join(b' %b="%b"' % pair for pair in values.items())


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
