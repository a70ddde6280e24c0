"""Feed lists as tables, such as YouTube's Takeout and spreadsheets, with or without a heading."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from feedkeep.formats.feed_text import OTHER_THINGS
from feedkeep.formats.listed_feed import ListedFeed, check_count, not_a_list
from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules.feed_urls import as_linked, as_typed

_SEPARATORS = ",;\t|"
_IN_ADDRESSES = ",;|"
_MAX_LINE_CHARACTERS = 100_000
_SAMPLE_ROWS = 100
_EXCEL_SEPARATOR = re.compile(r"sep=([,;\t|])\r?\n", re.IGNORECASE)
_MARKDOWN_LINK = re.compile(r"\[[^\[\]]*\]\((\S+)\)|<(\S+)>")
_NOT_A_RULE = re.compile(r"[^\s:=-]")  # Markdown has a rule below the heading
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_OF_FEEDS = ("feed", "rss", "xml")
_OF_OTHER_THINGS = re.compile(rf"site(?:[ _-]?(?:url|link|address))?$|{OTHER_THINGS}")
_TOO_WIDE = Sentence("This row has more cells than the table has columns.")
_OF_TITLES = ("tit", "tít", "name")  # "Channel Title", "Kanaltitel", "Titre de la chaîne", "Título"


class UnclearColumn(InvalidInput):
    """Several columns of a table have addresses, and no name tells which ones are of feeds.

    Attributes:
        names: Names of these columns.
    """

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            "It is not clear which column has the addresses of the feeds: {columns}.",
            columns=", ".join(names),
        )
        self.names = names


class _Columns(NamedTuple):
    """Columns of a table; `title` is None without a column of titles."""

    width: int
    address: int
    title: int | None
    has_heading: bool


def read(text: str, max_items: int, column: str = "") -> list[ListedFeed] | None:
    """Return the feed of each row, "" for a missing address; None if the text is not a table.

    The column of addresses has a known name, or is the only one with addresses, or is called
    `column`.

    Raises:
        InvalidInput: There are too many rows, or a cell has more than 131,072 characters.
        UnclearColumn: Several columns may have the addresses, or only one for other pages.
    """
    declared = _EXCEL_SEPARATOR.match(text)
    text = text[declared.end() :] if declared else text
    if max(map(len, text.split("\n"))) > _MAX_LINE_CHARACTERS:
        return None
    first = text.lstrip().partition("\n")[0]
    separators = [declared[1]] if declared else sorted(_SEPARATORS, key=first.count, reverse=True)
    for separator in separators:
        try:
            sample = [row for _, row in islice(_rows(text, separator), _SAMPLE_ROWS)]
        except csv.Error:
            continue
        if columns := _columns(sample, separator, column):
            try:
                return _feeds(text, separator, columns, max_items)
            except csv.Error as error:
                raise not_a_list() from error
    return None


def only_address(fields: Mapping[str, object]) -> str:
    """Return the address of a feed among named values; "" unless exactly one may be it."""
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    with suppress(UnclearColumn):
        place = _address_column(list(texts), [[text] for text in texts.values()], "")
        return "" if place is None else list(texts.values())[place]
    return ""


def _rows(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not empty, comments or rules, with the numbers of their lines."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    for row in rows:
        cells = [_linked(cell.strip()) for cell in row]
        if any(map(_NOT_A_RULE.search, cells)) and not (
            len(cells) == 1 and cells[0].startswith("#")
        ):
            yield rows.line_num, cells


def _columns(rows: Sequence[Sequence[str]], separator: str, chosen: str) -> _Columns | None:
    """Return the columns if most rows have as many, or without a heading all rows."""
    if len(rows) < 2 or len(rows[0]) < 2:  # noqa: PLR2004 - a table has two of both
        return None
    width, has_heading = len(rows[0]), not any(map(_is_address, rows[0]))
    cells = rows[1:] if has_heading else rows
    agreeing = sum(len(row) == width for row in cells)
    if has_heading and agreeing < len(cells) / 2:  # most titles may have separators
        cells = [row[-width:] for row in cells]
        agreeing = sum(len(row) == width for row in cells)
    if agreeing < len(cells) / 2 or (not has_heading and agreeing < len(cells)):
        return None
    names = list(rows[0]) if has_heading else [str(number) for number in range(1, width + 1)]
    columns = [[row[place] for row in cells if place < len(row)] for place in range(width)]
    address = _address_column(names, columns, chosen)
    if address is None:
        return None
    # A separator inside all addresses looks like one between columns.
    may_be_in_addresses = not has_heading and separator in _IN_ADDRESSES and address + 1 < width
    if may_be_in_addresses and not _most(map(_is_title, columns[address + 1])):
        return None
    return _Columns(width, address, _title_column(names, columns, address), has_heading)


def _address_column(
    names: Sequence[str], columns: Sequence[Sequence[str]], chosen: str
) -> int | None:
    lower = [name.lower() for name in names]
    of_feeds = [any(word in name for word in _OF_FEEDS) for name in lower]
    is_known = [known or "url" in name for known, name in zip(of_feeds, lower, strict=True)]
    with_addresses = [
        place
        for place, cells in enumerate(columns)
        if _most(map(_is_address, filter(None, cells)))
        or (is_known[place] and any("://" in as_typed(cell) for cell in cells))
    ]
    if not with_addresses:
        return None
    usual = [place for place in with_addresses if not _OF_OTHER_THINGS.search(lower[place])]
    known = [place for place in usual if of_feeds[place]][:1]
    known = known or [place for place in usual if is_known[place]] or usual
    labels = _labels(names, with_addresses)
    known = [place for place in with_addresses if labels[place] == chosen] or known
    if len(known) != 1:
        raise UnclearColumn(list(labels.values()))
    return known[0]


def _labels(names: Sequence[str], places: Sequence[int]) -> dict[int, str]:
    """Return the names of columns as forms send them, with numbers if some are empty or equal."""
    labels = {place: " ".join(names[place].split()) for place in places}
    if "" in labels.values() or len(set(labels.values())) < len(labels):
        return {place: f"{place + 1}: {name}".rstrip(": ") for place, name in labels.items()}
    return labels


def _title_column(
    names: Sequence[str], columns: Sequence[Sequence[str]], address: int
) -> int | None:
    """Return the first column with a name for titles, or else the first with words."""
    others = [place for place in range(len(names)) if place != address]
    named = [place for place in others if any(word in names[place].lower() for word in _OF_TITLES)]
    of_words = [place for place in others if _most(map(_has_words, filter(None, columns[place])))]
    return next(iter([*named, *of_words]), None)


def _feeds(text: str, separator: str, columns: _Columns, max_items: int) -> list[ListedFeed]:
    width, address, title, has_heading = columns
    feeds: list[ListedFeed] = []
    for number, row in islice(_rows(text, separator), int(has_heading), None):
        check_count(len(feeds) + 1, max_items)
        while len(row) > width and not row[-1] and not _is_shifted(row, columns):
            row.pop()
        if len(row) > width:
            feeds += _feeds_of_wide_row(number, row, separator, columns)
            check_count(len(feeds), max_items)
            continue
        cells = [*row, *[""] * (width - len(row))]
        name = "" if title is None else cells[title]
        feeds.append(ListedFeed(number, cells[address], None, title=name))
    return feeds


def _is_shifted(row: Sequence[str], columns: _Columns) -> bool:
    """Whether only cells before the address are too many."""
    place = columns.address
    return not _is_address(row[place]) and _is_address(row[place - columns.width])


def _feeds_of_wide_row(
    number: int, row: Sequence[str], separator: str, columns: _Columns
) -> list[ListedFeed]:
    """Return the feed of a row in which a text without quotes has a separator.

    If it is not clear which text has it, all addresses of the row are in doubt.
    """
    width, address, title, _ = columns
    name = "" if title is None else row[title]
    if _is_shifted(row, columns):
        if title is not None:
            first = title if title < address else title - width
            name = f"{separator} ".join(row[first : len(row) - width + title + 1])
        return [ListedFeed(number, row[address - width], None, title=name)]
    if _is_address(row[address]) and not _is_address(row[address - width]):
        if _is_title(row[address + 1]):
            return [ListedFeed(number, row[address], None, title=name)]
        if address == width - 1:
            return [ListedFeed(number, separator.join(row[address:]), None, title=name)]
    if urls := list(filter(_is_address, row)):
        return [ListedFeed(number, url, None, title=name, doubt=_TOO_WIDE) for url in urls]
    return [ListedFeed(number, "", None, title=f"{separator} ".join(row))]


def _most(are_so: Iterable[bool]) -> bool:
    each = list(are_so)
    return sum(each) > len(each) / 2


def _is_address(cell: str) -> bool:
    return _ADDRESS.fullmatch(as_linked(cell)) is not None


def _linked(cell: str) -> str:
    """Return the address in a cell that is a link of Markdown."""
    link = _MARKDOWN_LINK.fullmatch(cell)
    return link[1] or link[2] if link else cell


def _has_words(cell: str) -> bool:
    return any(map(str.isalpha, cell)) and not _is_address(cell)


def _is_title(cell: str) -> bool:
    """Whether a cell is words, and not the rest of an address that has a comma."""
    is_text = " " in cell or cell[:1].isupper() or not cell.isascii()
    return is_text and _has_words(cell) and not any(mark in cell for mark in "/=&?%")
