"""Reader of untrusted OPML 1.0 and 2.0."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from xml.parsers import expat

from feedkeep.formats.listed_feed import (
    INSIDE,
    LEFT,
    LINK,
    FeedList,
    ListedFeed,
    check_count,
    has_feed_sign,
    not_a_list,
)
from feedkeep.formats.opml_writer import NAMESPACE
from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules.feed_labels import (
    MAX_FOLDER,
    MAX_FOLDER_LEVELS,
    folder_names,
    folder_of,
)
from feedkeep.rules.text_limits import line_of

MAX_TAGS = 400_000
MAX_TAG_CHARACTERS = 200_000
MAX_BARE_AMPERSANDS = 100_000
"""Maximum of each in a file; no list of feeds has nearly as many.

A tag with all its attributes is parsed in one step, which blocks the process.
"""

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
_END = re.compile(rf"/{_PREFIX}outline\s{{0,9}}>", re.IGNORECASE)
_ADDRESSES = ("xmlurl", "feedurl", "rssurl", "url")
"""Attributes for the address of a feed, the usual one first."""
_NO_FEED_BY_URL = {"include", "audio"}
"""Types of outlines whose attribute `url` is another list, or music."""
_EPISODES = {"podcast-episode", "episode"}
_OF_FEEDS = {"rss", "atom"}
_NO = {"0", "false", "no"}
_WRAPPERS = {"feeds"}
"""Outline around all feeds in exports of Pocket Casts (OpmlExporter.kt), Overcast
(account/export_opml) and castero (subscriptions.py).
"""
_NAMES = ("text", "title", "type", "subscribed")
# Bounded: many unterminated quotes must not take quadratic time.
_ATTRIBUTE = re.compile(
    rf"""(?<![\w:.-])(podcast:guid|htmlurl|{"|".join((*_NAMES, *_ADDRESSES))})\s{{0,9}}=\s{{0,9}}"""
    r"""(?:"([^"]{0,9000})"|'([^']{0,9000})'|["'\u201c-\u201f]?([^\s"'>\u201c-\u201f]{1,9000}))""",
    re.IGNORECASE,
)
_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")
_NEXT_ATTRIBUTE = re.compile(r"[\w:]{0,40}=")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def is_opml(text: str) -> bool:
    """Whether a text has an element of OPML, or too many tags to search."""
    return text.count("<") > MAX_TAGS or _OPML.search(text) is not None


def read(text: str, max_items: int) -> FeedList:
    """Read the feeds of an OPML file, from all levels of its outline.

    The root may have any name; text before the first tag and after the last one is skipped, and
    titles need not be escaped. A file that declares entities or attributes is refused: only hostile
    files do. A file with other mistakes, as some apps write, is searched for outlines after the
    first mistake. An outline that looks like a feed without an address is returned with the URL "".

    Raises:
        InvalidInput: The file is not well-formed XML, is not OPML, declares something, is too
            large, or has more than `max_items` feeds.
    """
    text = _escaped(text)
    begin, end = _beginning(text), text.rfind(">") + 1
    end = len(text) if "<" in text[end:] else end  # the file is truncated
    notes = _passed_over(text[:begin], text[end:])
    outlines = _Outlines(max_items)
    parser = _Parser(1 + text.count("\n", 0, begin), outlines.start, outlines.end)
    try:
        parser.parse(text[begin:end])
    except BrokenXml as broken:
        _scan(parser.rest(), parser.line, outlines)
        if not outlines.feeds:
            raise broken if _OPML.search(text) else not_a_list() from None
        note = Sentence(
            "The XML is broken at line {line}: {reason}. All that could be read was used; check the"
            " titles and folders.",
            broken.sentence.values,
        )
        notes = [*notes, note]
    if not outlines.feeds and _local(parser.root) != "opml":
        raise not_a_list()
    is_own = parser.namespace == NAMESPACE
    return FeedList(outlines.feeds if is_own else _unwrapped(outlines.feeds), notes)


def read_whole(text: str, max_items: int) -> Sequence[ListedFeed]:
    """Read an OPML file only if it is completely valid; raises as `read`.

    Attributes other than `xmlUrl` may have other addresses, so an outline with one of them is
    returned with the URL "".
    """
    feeds: list[ListedFeed] = []
    folders: list[tuple[str, ...]] = [()]

    def start(attributes: Mapping[str, str], line: int) -> None:
        outer = folders[-1]
        feed = _feed_of(attributes, line, _ADDRESSES[:1], folder_of(outer))
        folders.append(outer if feed else _with_folder(outer, attributes))
        if feed:
            check_count(len(feeds) + 1, max_items)
            feeds.append(feed)

    parser = _Parser(1, start, folders.pop)
    parser.parse(_escaped(text.lstrip()))
    if not feeds and _local(parser.root) != "opml":
        name = parser.root[:_MAX_SHOWN_CHARACTERS]
        raise InvalidInput(
            "This is not OPML: its first element is <{name}>, not <opml>.", name=name
        )
    return feeds


class BrokenXml(InvalidInput):
    """A file that is not well-formed XML."""


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


class _Parser:
    """Calls functions at the start and at the end of each outline.

    Attributes:
        root: Name of the first element; "" if there is none.
        namespace: Its namespace for the prefix `podcast`; "" without one.
        line: Line of the last outline that was read.
    """

    def __init__(
        self,
        first_line: int,
        start: Callable[[Mapping[str, str], int], None],
        end: Callable[[], object],
    ) -> None:
        self.root = self.namespace = ""
        self.line = self._first_line = first_line
        self._start, self._end = start, end
        self._data = b""
        self._read_bytes = 0
        # The text is decoded already, since expat knows few encodings; this overrides its
        # declaration.
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._started
        self._parser.EndElementHandler = self._ended
        self._parser.StartDoctypeDeclHandler = _refuse_declarations

    def parse(self, text: str) -> None:
        self._data = text.encode()
        try:
            self._parser.Parse(self._data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            line = self._first_line - 1 + error.lineno
            raise BrokenXml(
                "The XML is broken at line {line}: {reason}.", line=line, reason=reason
            ) from error

    def rest(self) -> str:
        """Return the text from inside the last parsed tag of an outline."""
        return self._data[self._read_bytes :].decode()

    def _started(self, name: str, attributes: dict[str, str]) -> None:
        if not self.root:
            self.root, self.namespace = name, attributes.get("xmlns:podcast", "")
        if _local(name) == "outline":
            self._note_place()
            # Apps write xmlUrl, xmlurl and xmlURL.
            self._start({key.lower(): value for key, value in attributes.items()}, self.line)

    def _ended(self, name: str) -> None:
        if _local(name) == "outline":
            # expat reports the end of an empty tag behind it, outside of any tag.
            if self._data.startswith(b"</", self._parser.CurrentByteIndex):
                self._note_place()
            self._end()

    def _note_place(self) -> None:
        self.line = self._first_line - 1 + self._parser.CurrentLineNumber
        self._read_bytes = self._parser.CurrentByteIndex + 1  # behind its "<"


@dataclass(slots=True)
class _Open:
    """Outline that has not ended.

    Attributes:
        names: Folders of the outlines in it.
        folder: The same in the form of `folder_of`.
        count: Number of feeds up to its own.
        is_feed: Whether it has an address.
        is_in_feed: Whether it, or an outline around it, has one.
        may_be_folder: Whether it is listed as a feed without an address: with outlines in it, it
            is a folder.
    """

    names: tuple[str, ...] = ()
    folder: str = ""
    count: int = 0
    is_feed: bool = False
    is_in_feed: bool = False
    may_be_folder: bool = False


class _Outlines:
    """Collects feeds from the starts and ends of outlines.

    Outlines inside the outline of a feed are not feeds, such as Overcast's episodes, unless they
    have an address that only feeds have: then they are in doubt. An outline of a link around
    such outlines is a folder.
    """

    def __init__(self, max_items: int) -> None:
        self.feeds: list[ListedFeed] = []
        self._max_items = max_items
        self._open = [_Open()]
        self._link: ListedFeed | None = None
        self._is_broken = False

    def break_off(self) -> None:
        """Continue with broken XML, in which an outline of a feed ends before the next feed."""
        self._is_broken = True
        # A missing end makes feeds seem to be inside another one.
        self.feeds = [
            replace(feed, doubt=None) if feed.doubt is INSIDE else feed for feed in self.feeds
        ]
        self._open = [one for one in self._open if not one.is_feed or one.count == len(self.feeds)]

    def start(self, attributes: Mapping[str, str], line: int) -> None:
        outer = self._open[-1]
        if outer.may_be_folder:
            self.feeds.pop()
            outer.may_be_folder = False
        is_typed = _kind(attributes) in _OF_FEEDS and bool(attributes.get("url"))
        has_own = is_typed or any(map(attributes.get, _ADDRESSES[:-1]))
        if has_own and outer.is_in_feed and self.feeds[-1] is self._link:
            self._make_folder_of_link()
        is_other = attributes.get("type") in _EPISODES
        # Inside a feed, `url` is an episode's.
        is_other |= outer.is_in_feed and not has_own
        feed = None if is_other else _feed_of(attributes, line, folder=outer.folder)
        is_feed, names, folder = feed is not None and feed.feed_url != "", outer.names, outer.folder
        is_link = is_feed and not has_own
        if is_feed and outer.is_feed and self._is_broken:
            self._open.pop()
        if not is_feed or is_link:
            names = _with_folder(names, attributes)
            folder = folder_of(names)
        if feed:
            check_count(len(self.feeds) + 1, self._max_items)
            self.feeds.append(feed)
            self._link = feed if is_link else None
        is_in_feed, may_be_folder = is_feed or outer.is_in_feed, bool(feed) and not is_feed
        self._open.append(_Open(names, folder, len(self.feeds), is_feed, is_in_feed, may_be_folder))

    def end(self) -> None:
        if len(self._open) == 1:  # a broken file can end more outlines than it starts
            return
        ended = self._open.pop()
        if ended.is_feed and not self._open[-1].is_in_feed and not self._is_broken:
            inner = self.feeds[ended.count :]
            self.feeds[ended.count :] = [replace(f, doubt=f.doubt or INSIDE) for f in inner]

    def _make_folder_of_link(self) -> None:
        self.feeds.pop()
        for one in reversed(self._open):
            if not one.is_in_feed:
                break
            one.is_feed = one.is_in_feed = False


def _with_folder(names: tuple[str, ...], attributes: Mapping[str, str]) -> tuple[str, ...]:
    if len(names) >= MAX_FOLDER_LEVELS:
        return names
    name = line_of(attributes.get("text") or attributes.get("title") or "", MAX_FOLDER)
    return (*names, name) if name else names


def _unwrapped(feeds: Sequence[ListedFeed]) -> Sequence[ListedFeed]:
    """Remove the folder that an app writes around all feeds."""
    names = [folder_names(feed.folder) for feed in feeds]
    if not all(several and several[0] in _WRAPPERS for several in names):
        return feeds
    return [
        replace(feed, folder=folder_of(several[1:]))
        for feed, several in zip(feeds, names, strict=True)
    ]


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _kind(attributes: Mapping[str, str]) -> str:
    return attributes.get("type", "").strip().lower()


def _feed_of(
    attributes: Mapping[str, str],
    line: int,
    addresses: Sequence[str] = _ADDRESSES,
    folder: str = "",
) -> ListedFeed | None:
    """Return the feed of an outline with these attributes; None for a folder."""
    kind = _kind(attributes)
    for name in addresses:
        url = attributes.get(name, "")
        if not url.strip() or (name == "url" and kind in _NO_FEED_BY_URL):
            continue
        # gPodder writes the description into `text`.
        title = attributes.get("title", "").strip() or attributes.get("text", "")
        doubt = None
        if attributes.get("subscribed", "").strip().lower() in _NO:
            doubt = LEFT
        elif kind == "link" and name == "url" and not has_feed_sign(url):
            doubt = LINK
        guid = attributes.get("podcast:guid")
        return ListedFeed(line, url, guid, title=title, folder=folder, doubt=doubt)
    if kind in _OF_FEEDS or any(name.endswith("url") for name in attributes):
        title = attributes.get("title") or attributes.get("text") or ""
        return ListedFeed(line, "", None, title=title, folder=folder)
    return None


def _scan(text: str, line: int, outlines: _Outlines) -> None:
    """Collect the outlines of broken XML anywhere, except in comments.

    Real exports have unescaped markup and quotes in descriptions, which no parser accepts. So
    attributes of an outline may follow another tag. `text` begins inside a parsed tag.
    """
    outlines.break_off()
    first, *pieces = text.split("<")
    last_end = max((n for n, piece in enumerate(pieces) if "-->" in piece), default=-1)
    line += first.count("\n")
    tag = _Tag(line)
    is_comment = has_begun = False
    for number, piece in enumerate(pieces):
        seen = piece
        # An unterminated comment hides nothing.
        is_comment = is_comment or (number <= last_end and piece.startswith("!--"))
        if is_comment:
            _, ended, seen = piece.partition("-->")
            is_comment = not ended
        elif _OUTLINE.match(piece) or _END.match(piece):
            tag.collect(outlines)
            tag = _Tag(line)
            has_begun = True
            if _END.match(piece):
                outlines.end()
        tag.pieces.append(seen)
        is_outline = _OUTLINE.match(seen) is not None
        for place, name, value in _attributes(seen):
            # Outside of outlines, as in bookmarks, only these attributes are about feeds.
            if not has_begun and name not in _ADDRESSES[:-1]:
                continue
            # Tags in a description have titles and types of their own.
            if name in _NAMES and not is_outline and place < seen.find(">"):
                continue
            if name in _ADDRESSES and tag.attributes.get(name):
                tag.collect(outlines)
                tag = _Tag(line)
            if not tag.attributes and not has_begun:
                tag.line = line
            tag.attributes[name] = tag.attributes.get(name) or value
        line += piece.count("\n")
    tag.collect(outlines)


@dataclass(slots=True)
class _Tag:
    """Tag of an outline with the text up to the next one."""

    line: int
    pieces: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)

    def collect(self, outlines: _Outlines) -> None:
        if not self.attributes:
            return
        outlines.start(self.attributes, self.line)
        text = "<".join(self.pieces)
        whole = text[: text.rfind(">") + 1]
        has_address = any(map(self.attributes.get, _ADDRESSES))
        is_open = _OUTLINE.match(whole) is not None and not whole.endswith("/>")
        # In an empty tag with a mistake, the "/" may be elsewhere.
        if not is_open or (has_address and "/" in _QUOTED.sub("", whole)):
            outlines.end()


def _attributes(piece: str) -> Iterator[tuple[int, str, str]]:
    """Yield position, name and value of a feed's attributes whose ends are recognizable."""
    end = 0 if "=" in piece else len(piece)
    while match := _ATTRIBUTE.search(piece, end):
        end = match.end()
        name, value = match[1].lower(), match[2] or match[3] or match[4] or ""
        if match[4] and end == len(piece):
            continue  # truncated
        if match[4] and piece.startswith(">", end):
            value = value.removesuffix("/")
        # Without its closing quote, a value extends to the next one.
        words = value.split()
        if len(words) > 1 and _NEXT_ATTRIBUTE.fullmatch(words[-1]):
            value = " ".join(words[:-1]) if name in _NAMES else words[0]
            end -= len(words[-1]) + 1
        unescaped = _REFERENCE.sub(lambda reference: html.unescape(reference[0]), value)
        yield match.start(), name, unescaped.strip()


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
