"""OPML 1.0 and 2.0: reading without trusting the file, and writing.

A guid that is not the one derived from the feed's URL is in the attribute `podcast:guid`. What is
known of a feed is in the attributes that podcast apps write and read; what is not known has its URL
for a title.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from feedkeep.encodings import SHOWN_BY_BEGINNING, codec_of
from feedkeep.errors import InvalidInput, Sentence
from feedkeep.formats.listed_feed import FeedList, ListedFeed

MAX_TAGS = 400_000
MAX_TAG_CHARACTERS = 200_000
MAX_BARE_AMPERSANDS = 100_000
"""The maximum of each in a file; no list of feeds has nearly as many.

A tag with all its attributes is read in one step, and the process does nothing else meanwhile.
"""

_HEAD_BYTES = 1_024
_NAMESPACE = "https://podcastindex.org/namespace/1.0"
_DECLARED = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
_NAME = "(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+)"
_REFERENCE = re.compile(f"&{_NAME};")
_BARE_AMPERSAND = re.compile(f"&(?!{_NAME};)")
# Bounded, so that many quotes that never end do not take quadratic time.
_XML_URL = re.compile(r"""\bxmlurl\s{0,9}=\s{0,9}(["'])(.{0,9000}?)\1""", re.IGNORECASE | re.DOTALL)
_NOT_IN_XML = re.compile("[\ufffe\uffff]")


def read(data: bytes) -> FeedList:
    """Return the feeds of an OPML file, from all levels of its outline.

    Any encoding that browsers know is accepted, and so are ampersands that were not escaped. A file
    that declares entities or attributes is refused: only hostile files do. From a file that is
    broken in another way, as some apps write them, every feed that can be found is returned.

    Raises:
        InvalidInput: It is not well-formed XML, is not OPML, declares something, or is too large.
    """
    text = _escaped(_decoded(data))
    try:
        return FeedList(_parsed(text))
    except BrokenXml as broken:
        feeds = _salvaged(text) if "<opml" in text.lower() else []
        if not feeds:
            raise
        # "The XML is broken at line 3: ... Every xmlUrl ..." in one sentence, for translations.
        return FeedList(
            feeds,
            Sentence(
                "The XML is broken at line {line}: {reason}. Every xmlUrl found in it was used,"
                " without guids.",
                broken.sentence.values,
            ),
        )


def read_whole(data: bytes) -> Sequence[ListedFeed]:
    """Return the feeds of an OPML file, if all of it can be read; raises as `read` does."""
    return _parsed(_escaped(_decoded(data)))


class BrokenXml(InvalidInput):
    """A file that is not well-formed XML."""


def write(feeds: Iterable[ListedFeed]) -> bytes:
    """Return the feeds as an OPML 2.0 file in UTF-8.

    Raises:
        InvalidInput: A URL has a character that XML does not allow.
    """
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<opml version="2.0" xmlns:podcast="{_NAMESPACE}">',
        "  <head><title>Subscriptions</title></head>",
        "  <body>",
        *(_outline(feed) for feed in feeds),
        "  </body>",
        "</opml>",
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _parsed(text: str) -> list[ListedFeed]:
    reader = _Reader()
    try:
        reader.parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise BrokenXml(
            "The XML is broken at line {line}: {reason}.", line=error.lineno, reason=reason
        ) from error
    return reader.feeds


class _Reader:
    """Collects the feeds of the outlines that a parser meets."""

    def __init__(self) -> None:
        self.feeds: list[ListedFeed] = []
        self._is_opml = False
        # The text is decoded here, since expat knows few encodings; this overrides its declaration.
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartElementHandler = self._start
        self.parser.StartDoctypeDeclHandler = _refuse_declarations

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._is_opml and name.lower() != "opml":
            raise InvalidInput(
                "This is not OPML: its first element is <{name}>, not <opml>.", name=name
            )
        self._is_opml = True
        # Apps spell the attribute xmlUrl, xmlurl and xmlURL.
        known = {key.lower(): value for key, value in attributes.items()}
        feed_url = known.get("xmlurl")
        if name.lower() == "outline" and feed_url is not None:
            line = self.parser.CurrentLineNumber
            self.feeds.append(ListedFeed(line, feed_url, known.get("podcast:guid")))


def _salvaged(text: str) -> list[ListedFeed]:
    """Return the values of all `xmlUrl` attributes, wherever they are.

    Real exports have unescaped markup and quotes in their descriptions, which no parser reads.
    """
    feeds, line, last = [], 1, 0
    for match in _XML_URL.finditer(text):
        line, last = line + text.count("\n", last, match.start()), match.start()
        url = _REFERENCE.sub(lambda reference: html.unescape(reference[0]), match[2])
        feeds.append(ListedFeed(line, url, None))
    return feeds


def _refuse_declarations(_name: str, _system: str | None, _public: str | None, own: bool) -> None:
    # Entities can expand a billion times, or name a file of this machine. A document type that is
    # only referred to is never fetched, and does no harm.
    if own:
        raise InvalidInput(
            "The XML declares entities or attributes of its own, which no feed list needs;"
            " it was not read."
        )


def _decoded(data: bytes) -> str:
    marks = (codec for mark, codec in SHOWN_BY_BEGINNING.items() if data.startswith(mark))
    codec = next(marks, None) or _declared(data[:_HEAD_BYTES])
    try:
        # XML allows no white space before its declaration; that is no reason to refuse a list.
        return data.decode(codec).lstrip()
    except UnicodeError as error:
        raise InvalidInput(
            'The XML is not in the encoding "{encoding}": {reason}.',
            encoding=codec,
            reason=str(error),
        ) from error


def _declared(head: bytes) -> str:
    """Return the codec for what the first bytes of a file declare."""
    declared = _DECLARED.match(head.lstrip())
    if declared is None:
        return "utf-8"
    codec = codec_of(label := declared[1].decode())
    if codec is None:
        raise InvalidInput(
            'The XML is in the encoding "{encoding}", which is not supported; use UTF-8.',
            encoding=label,
        )
    return codec


def _escaped(text: str) -> str:
    """Return the text with its bare ampersands escaped: apps write titles like "Q & A".

    After that, there is no entity to expand, either. It is done piece by piece, so that other
    threads can run; each piece is a tag with the text after it.
    """
    if text.count("<") > MAX_TAGS:
        raise InvalidInput("There are more than {max} tags in the XML.", max=MAX_TAGS)
    pieces = text.split("<")
    if max(map(len, pieces)) > MAX_TAG_CHARACTERS:
        raise InvalidInput(
            "A tag or text in the XML has more than {max} characters.", max=MAX_TAG_CHARACTERS
        )
    bare = 0
    for place, piece in enumerate(pieces):
        if "&" in piece:
            pieces[place], found = _BARE_AMPERSAND.subn("&amp;", piece)
            bare += found
            if bare > MAX_BARE_AMPERSANDS:
                raise InvalidInput(
                    "More than {max} ampersands are not escaped.", max=MAX_BARE_AMPERSANDS
                )
    return "<".join(pieces)


def _outline(feed: ListedFeed) -> str:
    if _NOT_IN_XML.search(feed.feed_url):
        raise InvalidInput(
            "One of the URLs has a character that XML does not allow; export as json or urls."
        )
    url = quoteattr(feed.feed_url)
    guid = f" podcast:guid={quoteattr(feed.guid)}" if feed.guid else ""
    text, more = url, ""
    if feed.card and feed.card.title:
        text = quoteattr(feed.card.title)
        told = {"htmlUrl": feed.card.site_url, "description": feed.card.description}
        more = f" title={text}"
        more += "".join(f" {name}={quoteattr(value)}" for name, value in told.items() if value)
    return f'    <outline type="rss" text={text}{more} xmlUrl={url}{guid}/>'
