"""Lists of feeds in tables: CSV with a heading, as YouTube's Takeout and spreadsheets have them."""

from __future__ import annotations

import csv

from feedkeep.formats.listed_feed import ListedFeed, check_count

_DELIMITERS = ",;\t"
_MAX_LINE_CHARACTERS = 100_000
_IN_ADDRESSES = ".:/"
_OF_FEEDS = ("feed", "rss", "xml")
_OF_TITLES = ("tit", "tít", "name")  # "Channel Title", "Kanaltitel", "Titre de la chaîne", "Título"


def is_table(text: str) -> bool:
    """Say whether a text begins with the heading of a table that has a column of addresses."""
    return _place_of_url(_cells_of_heading(text)) is not None


def read(text: str, max_items: int) -> list[ListedFeed]:
    """Return the feed of each row of a table, which `is_table`; "" for an address that is missing.

    Raises:
        InvalidInput: It has more than `max_items` rows.
        csv.Error: It has a cell of more than 131,072 characters.
    """
    heading = _cells_of_heading(text)
    url_place = _place_of_url(heading)
    assert url_place is not None
    titles = [place for place, cell in enumerate(heading) if _has_any(cell, _OF_TITLES)]
    lines = iter(text.splitlines(keepends=True))  # line by line, so that other threads can run
    rows = csv.reader(lines, delimiter=_delimiter_of(_first_line(text)))
    feeds: list[ListedFeed] = []
    next(row for row in rows if any(row))  # the heading
    for row in rows:
        if not any(row):
            continue
        check_count(len(feeds) + 1, max_items)
        url = row[url_place].strip() if url_place < len(row) else ""
        title = row[titles[0]].strip() if titles and titles[0] < len(row) else ""
        feeds.append(ListedFeed(rows.line_num, url, None, title=title))
    return feeds


def _cells_of_heading(text: str) -> list[str]:
    """Return the cells of the first line, in small letters; none if that cannot be a heading."""
    line = _first_line(text)
    if len(line) > _MAX_LINE_CHARACTERS or any(map(line.__contains__, _IN_ADDRESSES)):
        return []
    if max(map(len, text.splitlines()), default=0) > _MAX_LINE_CHARACTERS:
        return []
    return [cell.strip(' "').lower() for cell in line.split(_delimiter_of(line))]


def _first_line(text: str) -> str:
    return text.lstrip().partition("\n")[0].rstrip()


def _delimiter_of(heading: str) -> str:
    return max(_DELIMITERS, key=heading.count)


def _place_of_url(heading: list[str]) -> int | None:
    """Return which column has the addresses of feeds; None if there is no other column, or none."""
    places = [place for place, cell in enumerate(heading) if "url" in cell or cell in _OF_FEEDS]
    of_feeds = [place for place in places if _has_any(heading[place], _OF_FEEDS)]
    return [*of_feeds, *places][0] if places and len(heading) > 1 else None


def _has_any(cell: str, parts: tuple[str, ...]) -> bool:
    return any(part in cell for part in parts)
