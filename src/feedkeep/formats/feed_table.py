"""Feed lists as tables: CSV with a heading, such as YouTube's Takeout and spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from feedkeep.formats.listed_feed import ListedFeed, check_count

_DELIMITERS = ",;\t"
_MAX_LINE_CHARACTERS = 100_000
_NO_HEADING = re.compile(r"[.:/]|^#")
_ADDRESS = re.compile(r"\s*https?://\S+\s*", re.IGNORECASE)
_OF_FEEDS = ("feed", "rss", "xml")
_OF_TITLES = ("tit", "tít", "name")  # "Channel Title", "Kanaltitel", "Titre de la chaîne", "Título"


def read(text: str, max_items: int) -> list[ListedFeed] | None:
    """Return the feed of each row, "" for a missing address; None if the text is not a table.

    A table has a heading with a column of URLs, and an address there in its first row.

    Raises:
        InvalidInput: There are more than `max_items` rows.
        csv.Error: A cell has more than 131,072 characters.
    """
    heading = text.lstrip().partition("\n")[0].rstrip()
    longest = max(map(len, text.split("\n")))
    if longest > _MAX_LINE_CHARACTERS or _NO_HEADING.search(heading):
        return None
    delimiter = max(_DELIMITERS, key=heading.count)
    names = [cell.strip(' "').lower() for cell in heading.split(delimiter)]
    place = _place_of_url(names)
    if place is None:
        return None
    titles = [number for number, name in enumerate(names) if _has_any(name, _OF_TITLES)]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    feeds: list[ListedFeed] = []
    has_begun = False
    for row in rows:
        if not any(row):
            continue
        if not has_begun:  # the heading
            has_begun = True
            continue
        if not feeds and not _ADDRESS.fullmatch(_cell(row, place)):
            return None
        check_count(len(feeds) + 1, max_items)
        title = _cell(row, titles[0]).strip() if titles else ""
        feeds.append(ListedFeed(rows.line_num, _cell(row, place).strip(), None, title=title))
    return feeds or None


def _place_of_url(names: Sequence[str]) -> int | None:
    places = [place for place, name in enumerate(names) if "url" in name or name in _OF_FEEDS]
    of_feeds = [place for place in places if _has_any(names[place], _OF_FEEDS)]
    return [*of_feeds, *places][0] if places and len(names) > 1 else None


def _cell(row: Sequence[str], place: int) -> str:
    return row[place] if place < len(row) else ""


def _has_any(name: str, parts: Sequence[str]) -> bool:
    return any(part in name for part in parts)
