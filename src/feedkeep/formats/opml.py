"""Reader of untrusted OPML 1.0 and 2.0, and writer.

A guid that differs from the one derived from the URL is in the attribute `podcast:guid`. Other data
is in the attributes that podcast apps use; a feed without a title has its URL instead.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from feedkeep.formats.listed_feed import FeedList, ListedFeed, check_count
from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules.feed_labels import (
    MAX_FOLDER,
    MAX_FOLDER_LEVELS,
    folder_names,
    folder_of,
    title_of,
)
from feedkeep.rules.text_limits import line_of

MAX_TAGS = 400_000
MAX_TAG_CHARACTERS = 200_000
MAX_BARE_AMPERSANDS = 100_000
"""Maximum of each in a file; no list of feeds has nearly as many.

A tag with all its attributes is parsed in one step, which blocks the process.
"""

_NAMESPACE = "https://podcastindex.org/namespace/1.0"
_MAX_SHOWN_CHARACTERS = 60
_MAX_PASSED_OVER = 1_000
_NAME = "(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+)"
_REFERENCE = re.compile(f"&{_NAME};")
_MARKUP = re.compile(r"[^\W\d]|[:/!?]")
"""Characters after the "<" of a tag; a title such as "Two < 3" has others."""
_BARE_AMPERSAND = re.compile(f"&(?!{_NAME};)")
_PREFIX = r"(?:[\w.-]{1,40}:)?"
_OPML = re.compile(rf"<{_PREFIX}(?:opml|outline)[\s/>]", re.IGNORECASE)
_BEGINNING = re.compile(rf"<(?:\?xml\s|!doctype\s+opml\b|{_PREFIX}opml[\s>])", re.IGNORECASE)
_OUTLINE = re.compile(rf"{_PREFIX}outline[\s/>]", re.IGNORECASE)
_ADDRESSES = ("xmlurl", "feedurl", "rssurl", "url")
"""Attributes for the address of a feed, the usual one first."""
_NO_FEED_BY_URL = {"include", "audio"}
"""Types of outlines whose attribute `url` is another list, or music."""
_OF_FEEDS = {"rss", "atom"}
# Bounded: many unterminated quotes must not take quadratic time.
_ATTRIBUTE = re.compile(
    rf"""(?<![\w:.-])(podcast:guid|type|htmlurl|{"|".join(_ADDRESSES)})\s{{0,9}}=\s{{0,9}}"""
    r"""(?:"([^"]{0,9000})"|'([^']{0,9000})'|["'\u201c-\u201f]?([^\s"'>\u201c-\u201f]{1,9000}))""",
    re.IGNORECASE,
)
_NEXT_ATTRIBUTE = re.compile(r"[\w:]{0,40}=")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NOT_IN_XML = re.compile("[\ufffe\uffff]")


def is_opml(text: str) -> bool:
    """Whether a text has an element of OPML, or too many tags to search."""
    return text.count("<") > MAX_TAGS or _OPML.search(text) is not None


def read(text: str, max_items: int) -> FeedList:
    """Read the feeds of an OPML file, from all levels of its outline.

    The root may have any name; text before the first tag and after the last one is skipped, and
    titles need not be escaped. A file that declares entities or attributes is refused: only hostile
    files do. From a file with other mistakes, as some apps write, every feed that can be found is
    returned. An outline that looks like a feed without an address is returned with the URL "".

    Raises:
        InvalidInput: The file is not well-formed XML, is not OPML, declares something, is too
            large, or has more than `max_items` feeds.
    """
    text = _escaped(text)
    begin, end = _beginning(text), text.rfind(">") + 1
    end = len(text) if "<" in text[end:] else end  # the file is truncated
    notes = _passed_over(text[:begin], text[end:])
    try:
        first_line = 1 + text.count("\n", 0, begin)
        return FeedList(_parsed(text[begin:end], first_line, max_items), notes)
    except BrokenXml as broken:
        feeds = list(islice(_salvaged(text), max_items + 1))
        check_count(len(feeds), max_items)
        if not feeds:
            raise
        note = Sentence(
            "The XML is broken at line {line}: {reason}. Every address in it was used, but titles"
            " and folders could not be read.",
            broken.sentence.values,
        )
        return FeedList(feeds, [*notes, note])


def read_whole(text: str, max_items: int) -> Sequence[ListedFeed]:
    """Read an OPML file only if it is completely valid; raises as `read`.

    Attributes other than `xmlUrl` may have other addresses, so an outline with one of them is
    returned with the URL "".
    """
    return _parsed(_escaped(text.lstrip()), 1, max_items, _ADDRESSES[:1])


class BrokenXml(InvalidInput):
    """A file that is not well-formed XML."""


def write(feeds: Iterable[ListedFeed]) -> bytes:
    """Write the feeds as an OPML 2.0 file in UTF-8.

    Raises:
        InvalidInput: A URL has a character that XML does not allow.
    """
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<opml version="2.0" xmlns:podcast="{_NAMESPACE}">',
        "  <head><title>Subscriptions</title></head>",
        "  <body>",
        *_outlines(feeds),
        "  </body>",
        "</opml>",
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _beginning(text: str) -> int:
    """Return the start of the XML, which a PHP warning or a code fence may precede."""
    first, found = text.find("<"), _BEGINNING.search(text)
    if found is None or _OPML.search(text, 0, found.start()):
        return max(first, 0)
    return found.start()


def _passed_over(*texts: str) -> list[Sentence]:
    shown = [" ".join(text[:_MAX_PASSED_OVER].split()) for text in texts]
    return [
        Sentence("Ignored text outside the list: {text}", {"text": text[:_MAX_SHOWN_CHARACTERS]})
        for text in shown
        if text
    ]


def _parsed(
    text: str, first_line: int, max_items: int, addresses: Sequence[str] = _ADDRESSES
) -> list[ListedFeed]:
    reader = _Reader(first_line, max_items, addresses)
    try:
        reader.parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        line = first_line - 1 + error.lineno
        raise BrokenXml(
            "The XML is broken at line {line}: {reason}.", line=line, reason=reason
        ) from error
    if not reader.feeds and _local(reader.root) != "opml":
        name = reader.root[:_MAX_SHOWN_CHARACTERS]
        raise InvalidInput(
            "This is not OPML: its first element is <{name}>, not <opml>.", name=name
        )
    return reader.feeds


class _Reader:
    """Collects the feeds of a parser's outlines."""

    def __init__(self, first_line: int, max_items: int, addresses: Sequence[str]) -> None:
        self.feeds: list[ListedFeed] = []
        self.root = ""
        self._first_line = first_line
        self._max_items = max_items
        self._addresses = addresses
        # The text is decoded already, since expat knows few encodings; this overrides its
        # declaration.
        self.parser = expat.ParserCreate("utf-8")
        self._folders: list[tuple[str, ...]] = [()]
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = _refuse_declarations

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.root = self.root or name
        if _local(name) == "outline":
            # Apps write xmlUrl, xmlurl and xmlURL.
            known = {key.lower(): value for key, value in attributes.items()}
            line = self._first_line - 1 + self.parser.CurrentLineNumber
            folders = self._folders[-1]
            feeds = _feeds_of(known, line, self._addresses, folder_of(folders))
            if not feeds and len(folders) < MAX_FOLDER_LEVELS:
                name = line_of(known.get("text") or known.get("title") or "", MAX_FOLDER)
                folders = (*folders, name) if name else folders
            self._folders.append(folders)
            check_count(len(self.feeds) + len(feeds), self._max_items)
            self.feeds += feeds

    def _end(self, name: str) -> None:
        if _local(name) == "outline":
            self._folders.pop()


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _feeds_of(
    attributes: Mapping[str, str],
    line: int,
    addresses: Sequence[str] = _ADDRESSES,
    folder: str = "",
) -> list[ListedFeed]:
    """Return the feed of an outline with these attributes; an empty list for a folder."""
    kind = attributes.get("type", "").strip().lower()
    names = [name for name in addresses if name != "url" or kind not in _NO_FEED_BY_URL]
    urls = [attributes[name] for name in names if attributes.get(name, "").strip()]
    if urls:
        # gPodder writes the description into `text`.
        title = title_of(attributes.get("title", "").strip() or attributes.get("text", ""), urls[0])
        guid = attributes.get("podcast:guid")
        return [ListedFeed(line, urls[0], guid, title=title, folder=folder)]
    is_of_feed = kind in _OF_FEEDS or any(name.endswith("url") for name in attributes)
    return [ListedFeed(line, "", None, folder=folder)] if is_of_feed else []


def _salvaged(text: str) -> Iterator[ListedFeed]:
    """Yield the feeds of all outlines anywhere, except in comments.

    Real exports have unescaped markup and quotes in descriptions, which no parser accepts. So
    attributes of an outline may follow another tag.
    """
    pieces = text.split("<")
    last_end = max((n for n, piece in enumerate(pieces) if "-->" in piece), default=-1)
    known: dict[str, str] = {}
    line = start = 1
    is_comment = has_begun = False
    for number, piece in enumerate(pieces):
        seen = piece
        # An unterminated comment hides nothing.
        is_comment = is_comment or (number <= last_end and piece.startswith("!--"))
        if is_comment:
            _, ended, seen = piece.partition("-->")
            is_comment = not ended
        elif _OUTLINE.match(piece):
            yield from _feeds_of(known, start)
            known, start, has_begun = {}, line, True
        for name, value in _attributes(seen):
            # Outside of outlines, as in bookmarks, only these attributes are about feeds.
            if not has_begun and name not in _ADDRESSES[:-1]:
                continue
            if name in _ADDRESSES and known.get(name):
                yield from _feeds_of(known, start)
                known = {}
            if not known and not has_begun:
                start = line
            known[name] = known.get(name) or value
        line += piece.count("\n")
    yield from _feeds_of(known, start)


def _attributes(piece: str) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a feed, as far as their ends are recognizable."""
    for match in _ATTRIBUTE.finditer(piece) if "=" in piece else ():
        value = match[2] or match[3] or match[4] or ""
        if match[4] and match.end() == len(piece):
            continue  # truncated
        if match[4] and piece.startswith(">", match.end()):
            value = value.removesuffix("/")
        # Without its closing quote, a value extends to the next one.
        words = value.split()
        if len(words) > 1 and _NEXT_ATTRIBUTE.fullmatch(words[-1]):
            value = words[0]
        unescaped = _REFERENCE.sub(lambda reference: html.unescape(reference[0]), value)
        yield match[1].lower(), unescaped.strip()


def _refuse_declarations(_name: str, _system: str | None, _public: str | None, own: bool) -> None:
    # Entities can expand a billion times, or name a local file. A document type that is only
    # referenced is never fetched, and harmless.
    if own:
        raise InvalidInput(
            "The XML declares entities or attributes of its own, which no feed list needs;"
            " it was not read."
        )


def _escaped(text: str) -> str:
    """Escape the characters that apps leave bare in titles: "Q & A", "One < Two".

    Control characters become spaces. Afterwards, no entity is left to expand. Each piece is a tag
    with the text after it, so that other threads can run in between.
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
        written = _CONTROLS.sub(" ", piece)
        if "&" in piece:
            written, found = _BARE_AMPERSAND.subn("&amp;", written)
            bare += found
            if bare > MAX_BARE_AMPERSANDS:
                raise InvalidInput(
                    "More than {max} ampersands are not escaped.", max=MAX_BARE_AMPERSANDS
                )
        begins = "" if place == 0 else "<" if _MARKUP.match(piece) else "&lt;"
        pieces[place] = begins + written
    return "".join(pieces)


def _outlines(feeds: Iterable[ListedFeed]) -> Iterator[str]:
    tree = _Folder()
    for feed in feeds:
        folder = tree
        for name in folder_names(feed.folder):
            folder = folder.folders.setdefault(name, _Folder())
        folder.feeds.append(feed)
    yield from _lines_of(tree, "    ")


@dataclass(slots=True)
class _Folder:
    feeds: list[ListedFeed] = field(default_factory=list)
    folders: dict[str, _Folder] = field(default_factory=dict)


def _lines_of(folder: _Folder, indent: str) -> Iterator[str]:
    for feed in folder.feeds:
        yield f"{indent}{_outline(feed)}"
    for name, inner in folder.folders.items():
        text = quoteattr(name)
        yield f"{indent}<outline text={text} title={text}>"
        yield from _lines_of(inner, f"{indent}  ")
        yield f"{indent}</outline>"


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
    return f'<outline type="rss" text={text}{more} xmlUrl={url}{guid}/>'
