"""Reader of RSS, all versions, and Atom, driven by a table of elements.

`xml_tags` first repairs the document, then Python's expat parses it.
"""

from __future__ import annotations

import re
from base64 import b64decode
from contextlib import suppress
from typing import NamedTuple
from xml.parsers import expat

from feedkeep.feeds.found import MAX_URL, Field, FoundFields, FoundItem
from feedkeep.feeds.plain_text import is_html
from feedkeep.feeds.xml_tags import mended, with_tags_mended
from feedkeep.model.errors import NotAFeed

MAX_TAGS = 200_000
MAX_DEPTH = 100
MAX_ATTRIBUTES = 50_000
MAX_PREFIXES = 100
MAX_BASES = 10
MAX_TEXT_CHARACTERS = 20_000
"""Limits of a document.

Tags beyond the first two are not read, and texts are cut; further prefixes keep their usual
meaning. Further bases of relative URLs are ignored, and so are bases longer than a URL: each URL is
joined with all of them. A tag with all its attributes is parsed in one step, so many attributes
would need much memory.
"""

_PIECE_BYTES = 65_536
_HEAD_BYTES = 65_536
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_FEED = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:rss|rdf|feed|channel)(?=[\s/>])", re.IGNORECASE)
_PAGE = "This is a web page, not a feed."
_OTHER_THINGS = {
    _PAGE: re.compile(rb"<(?:html|head|body)[\s>]", re.IGNORECASE),
    "This is a list of feeds (OPML), not a feed.": re.compile(rb"<opml[\s>]", re.IGNORECASE),
    "This is a sitemap, not a feed.": re.compile(rb"<(?:urlset|sitemapindex)[\s>]"),
}
_PAGE_TYPE = re.compile(rb"<!doctype\s+html", re.IGNORECASE)
_MANY_ATTRIBUTES = re.compile(rb"<(?:[^<=]*+=){%d}+" % MAX_ATTRIBUTES)

# Namespaces in lower case, without the scheme and variable endings.
_VOCABULARIES = {
    "www.itunes.com/dtds/podcast-1.0.dtd": "itunes:",
    "podcastindex.org/namespace/1.0": "podcast:",
    "github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md": "podcast:",
    "www.google.com/schemas/play-podcasts/1.0": "googleplay:",
    "www.w3.org/2005/atom": "atom:",
    "purl.org/atom/ns": "atom:",
    "purl.org/dc/elements/1.1": "dc:",
    "search.yahoo.com/mrss": "media:",
    "www.w3.org/1999/02/22-rdf-syntax-ns": "rdf:",
    "purl.org/rss/1.0": "",
    "my.netscape.com/rdf/simple/0.9": "",
    "channel.netscape.com/rdf/simple/0.9": "",
    "backend.userland.com/rss2": "",
    "blogs.law.harvard.edu/tech/rss": "",
    "www.w3.org/1999/xhtml": "html:",
}

_CONTAINERS = {"rss", "rdf:rdf", "channel", "atom:feed"}
_ITEMS = {"item", "atom:entry"}

# Fields by element, each with its rank; lower ranks are better.
_TEXTS = {
    "title": (Field.TITLE, 0),
    "atom:title": (Field.TITLE, 1),
    "itunes:title": (Field.TITLE, 2),
    "dc:title": (Field.TITLE, 3),
    "media:title": (Field.TITLE, 4),
    "description": (Field.DESCRIPTION, 0),
    "atom:subtitle": (Field.DESCRIPTION, 0),
    "atom:tagline": (Field.DESCRIPTION, 1),
    "itunes:summary": (Field.DESCRIPTION, 2),
    "googleplay:description": (Field.DESCRIPTION, 3),
    "itunes:subtitle": (Field.DESCRIPTION, 4),
    "dc:description": (Field.DESCRIPTION, 5),
    "language": (Field.LANGUAGE, 0),
    "dc:language": (Field.LANGUAGE, 1),
    "itunes:author": (Field.AUTHOR, 0),
    "googleplay:author": (Field.AUTHOR, 1),
    "atom:author/atom:name": (Field.AUTHOR, 2),
    "author": (Field.AUTHOR, 3),
    "dc:creator": (Field.AUTHOR, 4),
    "dc:author": (Field.AUTHOR, 4),
    "itunes:owner/itunes:name": (Field.AUTHOR, 5),
    "managingeditor": (Field.AUTHOR, 6),
    "podcast:guid": (Field.PODCAST_GUID, 0),
    "podcast:locked": (Field.LOCKED, 0),
}
_URLS = {
    "link": (Field.SITE_URL, 0),
    "itunes:image": (Field.PICTURE_URL, 1),  # used by mistake instead of its attribute
    "image/url": (Field.PICTURE_URL, 4),
    "atom:logo": (Field.PICTURE_URL, 5),
    "atom:icon": (Field.PICTURE_URL, 7),
    "itunes:new-feed-url": (Field.NEW_FEED_URL, 0),
}
_ATTRIBUTES = {
    "itunes:image": (("href", "url"), Field.PICTURE_URL, 0),  # "url" is a common mistake
    "googleplay:image": (("href", "url"), Field.PICTURE_URL, 2),
    "media:thumbnail": (("url",), Field.PICTURE_URL, 6),
    "image": (("rdf:resource",), Field.PICTURE_URL, 8),
}
_LINKS = {"atom:link", "link"}  # "link" is a common mistake
_ITEM_TEXTS = {
    "guid": "id",
    "atom:id": "id",
    "pubdate": "date",
    "dc:date": "date",
    "atom:published": "date",
    "atom:issued": "date",
    "atom:updated": "changed",
    "atom:modified": "changed",
    "title": "title",
    "atom:title": "title",
    "itunes:title": "short title",
    "media:title": "short title",
    "dc:title": "short title",
    "link": "link",
    "itunes:duration": "duration",
}
_PLAYED = {"audio", "video"}
_FILES = {"enclosure": "url", "media:content": "url", "atom:link": "href"}
_ENDED = {
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
}
_OUT_OF_MEMORY = expat.errors.codes[expat.errors.XML_ERROR_NO_MEMORY]


def read_xml_feed(document: bytes, url: str) -> FoundFields:
    """Read an RSS or Atom document in UTF-8.

    Tags are repaired only after an error, since that takes longer than parsing. A truncated
    document is accepted if an item has started or the channel has ended: then the feed's own fields
    are complete.

    Raises:
        NotAFeed: The document is not a feed, or is truncated earlier.
    """
    xml = mended(_from_root(document))
    if xml.count(b"=") >= MAX_ATTRIBUTES and _MANY_ATTRIBUTES.search(xml):
        raise NotAFeed("A tag in the XML has more than {max} attributes.", max=MAX_ATTRIBUTES)
    reader = _Reader(url)
    problem = reader.read(xml)
    is_cut_off = isinstance(problem, _CutOff) and not reader.is_head_whole
    if isinstance(problem, _Broken) or is_cut_off:  # by a mistake, or by its end
        reader = _Reader(url)
        problem = reader.read(with_tags_mended(xml))
    if problem is not None and not reader.is_head_whole:
        raise problem
    return reader.found


def _from_root(document: bytes) -> bytes:
    """Return a document from its first element on.

    Some servers write white space, warnings or entity declarations before it.
    """
    head = _COMMENT.sub(lambda comment: b" " * len(comment[0]), document[:_HEAD_BYTES])
    feed = _FEED.search(head)
    others = {
        match.start(): reason for reason, it in _OTHER_THINGS.items() if (match := it.search(head))
    }
    if others and (feed is None or min(others) < feed.start()):
        raise NotAFeed(others[min(others)])
    if feed is None and _PAGE_TYPE.search(head):  # it may precede a feed, too
        raise NotAFeed(_PAGE)
    if feed is None:
        raise NotAFeed("This is neither RSS, nor Atom, nor JSON Feed.")
    return document[feed.start() :]


class _Broken(NotAFeed):
    """The XML has a syntax error that expat does not accept."""


class _CutOff(NotAFeed):
    """The XML ends inside its first element."""


class _Whole(Exception):
    """The first element has ended."""


class _Enough(Exception):
    """The limit of tags or depth is reached."""


class _Scope(NamedTuple):
    """Context that an element passes on to its descendants.

    Attributes:
        depth: Depth of the element.
        bases: Bases of relative URLs: the document's URL, and each `xml:base` since.
        vocabularies: Prefix in our table for each namespace prefix.
    """

    depth: int
    bases: tuple[str, ...]
    vocabularies: dict[str, str]


class _Reader:
    """Collects the values of the elements in the table.

    Attributes:
        found: Collected values.
        is_head_whole: Whether the feed's own fields are complete.
    """

    def __init__(self, url: str) -> None:
        self.found = FoundFields()
        self.is_head_whole = False
        self._path: list[str] = []
        self._scopes = [_Scope(0, (url,), {})]
        self._names: dict[str, str] = {}
        self._tags = 0
        self._head_depth = 0
        self._item_depth = 0
        self._item: dict[str, str] = {}
        self._collected = ""
        self._is_base64 = False
        self._collected_depth = 0
        self._texts: list[str] = []
        self._characters = 0
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def read(self, xml: bytes) -> NotAFeed | None:
        """Parse as much as possible; return the problem if that is not everything."""
        try:
            # A single large buffer would be copied at each incomplete token. Pieces grow while no
            # tag ends, since expat before 2.6 reads an incomplete tag anew with each piece.
            start, size, tags = 0, _PIECE_BYTES, 0
            while start < len(xml):
                self._parser.Parse(xml[start : start + size], False)
                start += size
                size = 2 * size if self._tags == tags else _PIECE_BYTES
                tags = self._tags
            self._parser.Parse(b"", True)
        except _Whole:
            return None
        except _Enough:
            problem = NotAFeed("There are too many tags in the XML before its first item.")
        except expat.ExpatError as error:
            problem = _as_refusal(error)
        if self._item_depth:
            self._end_item()
        return problem

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._tags += 1
        depth = len(self._path) + 1
        if self._tags > MAX_TAGS or depth > MAX_DEPTH:
            raise _Enough
        if attributes or depth == 1:
            self._enter_scope(name, depth, attributes)
        canonical = self._names.get(name) or self._canonical(name)
        self._path.append(canonical)
        if self._collected:
            self._markup("<", name)
        elif self._item_depth:
            if depth == self._item_depth + 1 or canonical == "media:content":
                self._start_in_item(canonical, attributes)
        elif depth == self._head_depth + 1 and canonical in _CONTAINERS:
            self._head_depth = depth
            self.found.offer(Field.LANGUAGE, 9, attributes.get("xml:lang", ""))
        elif depth == self._head_depth + 1 and canonical in _ITEMS:
            self._item_depth = depth
            self._item = {"id": attributes.get("rdf:about", "")}
            self.is_head_whole = True
        else:
            self._start_in_head("/".join(self._path[self._head_depth :]), attributes)

    def _start_in_head(self, place: str, attributes: dict[str, str]) -> None:
        if place in _ATTRIBUTES:
            names, field, rank = _ATTRIBUTES[place]
            for name in names:
                self._offer_url(field, rank, attributes.get(name, ""))
        elif place in _LINKS and attributes.get("rel", "alternate") == "alternate":
            rank = 1 if "html" in attributes.get("type", "html") else 2
            self._offer_url(Field.SITE_URL, rank, attributes.get("href", ""))
        elif place == "itunes:link" and attributes.get("rel") == "image":
            self._offer_url(Field.PICTURE_URL, 3, attributes.get("href", ""))
        if place in _TEXTS or place in _URLS:
            self._collect(place)
            # Atom 1.0 and 0.3
            self._is_base64 = "base64" in (attributes.get("type"), attributes.get("mode"))

    def _start_in_item(self, name: str, attributes: dict[str, str]) -> None:
        if name == "atom:link" and attributes.get("rel", "alternate") == "alternate":
            self._item.setdefault("link", attributes.get("href", ""))
        elif name in _FILES:
            self._start_file(name, attributes)
        elif name in _ITEM_TEXTS:
            self._collect(name)

    def _start_file(self, name: str, attributes: dict[str, str]) -> None:
        """Record the first audio or video file of an item, and its first file of any kind."""
        if name == "atom:link" and attributes["rel"] != "enclosure":
            return
        kind = attributes.get("medium") or attributes.get("type", "").partition("/")[0]
        is_played = kind.lower() in _PLAYED
        if is_played or name != "media:content":  # others are pictures
            file = attributes.get(_FILES[name], "")
            self._item.setdefault("played" if is_played else "file", file)
            self._item.setdefault("duration", attributes.get("duration", ""))

    def _end(self, name: str) -> None:
        depth = len(self._path)
        if self._collected:
            if depth == self._collected_depth:
                self._end_collecting()
            else:
                self._markup("</", name)
        elif depth == self._item_depth:
            self._end_item()
        elif depth == self._head_depth:
            self._head_depth -= 1
            self.is_head_whole |= self._path[0] != "rdf:rdf"
        if self._scopes[-1].depth == depth:
            self._scopes.pop()
            self._names = {}
        self._path.pop()
        if not self._path:
            raise _Whole

    def _end_item(self) -> None:
        self._item_depth = 0
        item = self._item
        # Many feeds change all of their items from time to time.
        date = item.get("date") or item.get("changed", "")
        file = (item.get("played") or item.get("file", "")).strip()
        self.found.add_item(
            FoundItem(
                item["id"] or file,
                date,
                item.get("title") or item.get("short title", ""),
                item.get("link", ""),
                file,
                item.get("duration", ""),
                self._scopes[-1].bases,
            )
        )

    def _collect(self, place: str) -> None:
        self._collected, self._collected_depth = place, len(self._path)
        self._texts, self._characters = [], 0
        self._parser.CharacterDataHandler = self._text

    def _text(self, text: str) -> None:
        if self._characters < MAX_TEXT_CHARACTERS:
            self._texts.append(text[: MAX_TEXT_CHARACTERS - self._characters])
            self._characters += len(text)

    def _markup(self, begin: str, name: str) -> None:
        """Keep an HTML tag inside a text as text; drop other tags."""
        local = name.rpartition(":")[2]
        self._text(f"{begin}{local}>" if is_html(local) else " ")

    def _end_collecting(self) -> None:
        place, self._collected = self._collected, ""
        self._parser.CharacterDataHandler = None
        text = "".join(self._texts).strip()
        if self._is_base64:
            text, self._is_base64 = _from_base64(text), False
        if self._item_depth:
            part = _ITEM_TEXTS[place]
            self._item[part] = self._item.get(part) or text
        elif place in _TEXTS:
            self.found.offer(*_TEXTS[place], text)
        else:
            self._offer_url(*_URLS[place], text)

    def _offer_url(self, field: Field, rank: int, reference: str) -> None:
        self.found.offer_url(field, rank, self._scopes[-1].bases, reference)

    def _enter_scope(self, name: str, depth: int, attributes: dict[str, str]) -> None:
        scope = _, bases, vocabularies = self._scopes[-1]
        for attribute, value in attributes.items():
            if attribute == "xml:base":
                if len(bases) < MAX_BASES and len(value) <= MAX_URL:
                    bases = (*bases, value)
            elif attribute == "xmlns" or attribute.startswith("xmlns:"):
                prefix = attribute[len("xmlns:") :]
                if len(vocabularies) < MAX_PREFIXES:
                    vocabularies = vocabularies | {prefix: _vocabulary(prefix, value)}
        if depth == 1:
            vocabularies = vocabularies | _of_root(name)
        if (bases, vocabularies) != scope[1:]:
            self._scopes.append(_Scope(depth, bases, vocabularies))
            self._names = {}

    def _canonical(self, name: str) -> str:
        prefix, _, local = name.lower().rpartition(":")
        vocabulary = self._scopes[-1].vocabularies.get(prefix, f"{prefix}:" if prefix else "")
        return self._names.setdefault(name, vocabulary + local)


def _from_base64(text: str) -> str:
    with suppress(ValueError):
        return b64decode("".join(text.split()), validate=True).decode()
    return text


def _vocabulary(prefix: str, namespace: str) -> str:
    """Return the prefix in our table for a declared prefix.

    For an unknown namespace, the prefix itself counts: some feeds declare the wrong namespace for
    `itunes`.
    """
    name = namespace.strip().lower().partition("://")[2].rstrip("/#")
    return _VOCABULARIES.get(name, f"{prefix.lower()}:" if prefix else "")


def _of_root(name: str) -> dict[str, str]:
    """Return the meaning of the first element's prefix, whatever was declared.

    Some feeds declare no namespaces, and some RSS feeds declare Atom's as the default.
    """
    prefix, _, local = name.rpartition(":")
    match local.lower():
        case "feed":
            return {prefix: "atom:"}
        case "rdf":
            return {prefix: "rdf:"}
        case _:
            return {prefix: ""}


def _as_refusal(error: expat.ExpatError) -> NotAFeed:
    """Translate a parser error.

    Raises:
        MemoryError: This machine lacks memory; the document may be valid.
    """
    if error.code == _OUT_OF_MEMORY:
        raise MemoryError
    if error.code in _ENDED:
        return _CutOff("The document ends before its first item.")
    return _Broken(
        "The XML is broken before its first item: {reason}.",
        reason=expat.ErrorString(error.code),
    )
