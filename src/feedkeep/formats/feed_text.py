"""Feed lists as text: an address anywhere in a line, and a title around it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from feedkeep.formats.listed_feed import (
    LINK,
    FeedList,
    ListedFeed,
    check_count,
    has_feed_sign,
    not_a_list,
)
from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules.feed_urls import LINK_SCHEMES, MAX_CHARACTERS, as_typed

MAX_LINES = 400_000
"""Maximum number of lines of a text; no list of feeds has nearly as many."""

_MOST_OTHER_LINES = 2
"""Maximum number of lines without an address for each address; a letter has more."""

_LINE_ENDS = ("\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
_ADDRESS = re.compile(
    rf"(?<![\w/=?&%.])(?:[a-z][a-z0-9+.-]{{1,20}}://|(?:{'|'.join(LINK_SCHEMES)}):)\S+",
    re.IGNORECASE,
)
_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_ENDS = ",;"
_TWO_IN_A_WORD = re.compile(r"[,;](?=https?://)", re.IGNORECASE)
_CLOSINGS = {"<": ">", '"': '"', "'": "'", "[": "]", "“": "”", "„": "“", "«": "»", "`": "`"}
_BALANCED = re.compile(r"[^()]*(?:\([^()]*\)[^()]*)*")
_HEADING = re.compile(r"\*+\s")  # of org-mode, whose lists elfeed reads
_PROPERTY = re.compile(r":[\w+-]+:(?:\s|$)|\w+=[\d,]*$|\[[^\[\].]*\]$")  # of org-mode, or INI
_ASSIGNED = re.compile(r"([\w -]{1,30})=(?=https?://)", re.IGNORECASE)
_TAGS = re.compile(r"\s:[\w@#%:]{1,500}:$")
_MARKS = re.compile(r"(?:(?:\d{1,5}[.)]|\[[ xX]?\]|[-+*•·‣▪◦])(?:\s+|$))*")
_PARTS_OF_TITLE = 10
_MOST_CHARACTERS = 1_000
_SEPARATORS = " \t-\u2013—*•·‣▪◦|,;:=→>\"'“”„«»`"
_FIELD_NAME = re.compile(r"(?:(?:xml|rss|feed)[ _-]?)?(?:url|link|rss|feed|xml)", re.IGNORECASE)
"""Names of fields such as those of YAML, which are not titles."""

OTHER_THINGS = r"seite|sitio|p[áa]gina|home|html|page|image|picture|logo|icon|cover|artwork"
"""Pattern of words in names of fields whose addresses are not of feeds."""

_OTHER_FIELD_NAME = re.compile(
    rf"(?:(?:web|home|html|show|podcast|channel)[ _-]?)?(?:site|{OTHER_THINGS})"
    r"(?:[ _-]?(?:url|link|address))?",
    re.IGNORECASE,
)
_NEWSBOAT_TITLE = re.compile(r'"~([^"]+)"')
_ORG_TITLE = re.compile(r"\]\[([^\[\]]+)\]\]")
_MARKDOWN_TITLE = re.compile(r"\[([^\[\]]*)\]\($")


def read(text: str, max_items: int) -> FeedList:
    """Read a text with an address in each line; lines that start with # are comments.

    Raises:
        InvalidInput: The text has too many lines or feeds, or is something else, such as a letter.
    """
    feeds: list[ListedFeed] = []
    others = 0
    ends = "" if _has_only_urls(text) else _ENDS
    for number, line in lines(text, MAX_LINES):
        found = feeds_of_line(number, line, max_items, ends)
        check_count(len(feeds) + len(found), max_items)
        feeds += found
        others += sum(not feed.feed_url for feed in found)
    if others > _MOST_OTHER_LINES * (len(feeds) - others):
        raise not_a_list()
    return FeedList(feeds)


def check_lines(text: str, max_lines: int) -> None:
    """Check the number of lines before they are processed.

    Raises:
        InvalidInput: There are too many.
    """
    if sum(map(text.count, _LINE_ENDS)) - text.count("\r\n") > max_lines:
        raise InvalidInput("The text has more than {max} lines.", max=max_lines)


def lines(text: str, max_lines: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that may name a feed, with their numbers."""
    check_lines(text, max_lines)
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def _has_only_urls(text: str) -> bool:
    """Whether a text has one URL a line, and no separators between the lines."""
    are_separated: list[bool] = []
    for _, line in lines(text, MAX_LINES):
        if not _URL.fullmatch(line):
            return False
        are_separated.append(line.endswith(tuple(_ENDS)))
    return not all(are_separated[:-1])  # the last line needs no separator


def feeds_of_line(number: int, line: str, max_items: int, ends: str = _ENDS) -> list[ListedFeed]:
    """Return the feeds of a line, or one without an address; [] for a heading or a rule.

    URLs do not end in the characters `ends`.

    Beside a title, only the address that looks like a feed counts; unless exactly one does, all of
    them are in doubt.
    """
    is_heading = _HEADING.match(line) is not None
    if line.startswith(";"):  # a comment of Lisp, as in lists of elfeed
        return []
    line = _TAGS.sub("", line) if is_heading else line
    if assigned := _ASSIGNED.match(line):
        line = f"{assigned[1]} = {line[assigned.end() :]}"
    urls: list[str] = []
    rest: list[str] = []
    end = 0
    for match in _ADDRESS.finditer(line):
        before = line[max(end, match.start() - _MOST_CHARACTERS) : match.start()]
        url = _enclosed(before, match[0])
        rest.append(before)
        end = match.start() + len(url)
        urls += _separated(url, ends)
        check_count(len(urls), max_items)
    rest.append(line[end : end + _MOST_CHARACTERS])
    if not urls:
        return _without_protocol(number, line, is_heading=is_heading)
    title = _title(rest)
    likely = [url for url in urls if has_feed_sign(url)]
    if len(urls) == 1 or not title:
        doubt = LINK if not likely and _OTHER_FIELD_NAME.fullmatch(title) else None
        return [ListedFeed(number, url, None, title=title, doubt=doubt) for url in urls]
    doubt = Sentence("This line has several addresses.") if len(likely) != 1 else None
    return [
        ListedFeed(number, url, None, title=title, doubt=doubt)
        for url in (urls if doubt else likely)
    ]


def _enclosed(before: str, word: str) -> str:
    """Return a word without the bracket or quote that closes one before it."""
    if closing := _CLOSINGS.get(before[-1:]):
        return word.partition(closing)[0]
    balanced = _BALANCED.match(word) if before.count("(") > before.count(")") else None
    return balanced[0] if balanced else word


def _separated(word: str, ends: str) -> list[str]:
    """Split `https://a,https://b`, except in a query."""
    before_query = word.partition("?")[0]
    words = _TWO_IN_A_WORD.split(word) if _TWO_IN_A_WORD.search(before_query) else [word]
    return [one.rstrip(ends) for one in words]


def _without_protocol(number: int, line: str, *, is_heading: bool) -> list[ListedFeed]:
    """Return the feed of a line that is one word, such as `example.com/feed`."""
    word = line if len(line) > MAX_CHARACTERS else _MARKS.sub("", line, count=1)
    word = word.strip(" <>\"',;")
    if " " not in word and "://" in as_typed(word):
        return [ListedFeed(number, word, None)]
    if is_heading or _PROPERTY.match(line) or not any(map(str.isalnum, line)):
        return []
    return [ListedFeed(number, "", None, title=line[:_MOST_CHARACTERS])]


def _title(rest: list[str]) -> str:
    """Return the title that stands before or after an address."""
    linked = _MARKDOWN_TITLE.search(rest[0])
    if linked and _FIELD_NAME.fullmatch(linked[1]):  # as in "Title: [RSS](https://...)"
        rest = [rest[0][: linked.start()], *rest[1:]]
        linked = None
    if named := _NEWSBOAT_TITLE.search(rest[1]) or _ORG_TITLE.match(rest[1]) or linked:
        return named[1].strip()
    return next(filter(None, map(_cleaned, rest[:_PARTS_OF_TITLE])), "")


def _cleaned(text: str) -> str:
    text = _MARKS.sub("", text.strip(), count=1).strip(_SEPARATORS)
    for opening, closing in ("[]", "()", "<>", "{}"):  # "Show (UK)" keeps its own
        if text.count(opening) != text.count(closing):
            text = text.strip(f"<>[](){{}}{_SEPARATORS}")
    is_title = any(map(str.isalnum, text)) and not _FIELD_NAME.fullmatch(text)
    return text if is_title else ""
