"""Documents of 8 MiB that are hard to read, by name; run as a program, it reads all of them.

Each line is the name of one, with what was wrong with it, if anything was.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import mutated
from forms import IS_LONG

from feedkeep.feeds.reading import MAX_BYTES

BEGIN, END = b'<rss version="2.0"><channel><title>A</title>', b"</channel></rss>"
FEED_OF_JSON = b'{"version":"https://jsonfeed.org/version/1","title":"A","items":['


_UNTITLED = b"<item><title>&lt;b&gt;</title><enclosure url='x'/><link>y</link></item>"
"""An item whose title is empty only once it was read, so that the next item is read, too."""


def full_of(unit: bytes, before: bytes = BEGIN, after: bytes = END) -> bytes:
    return before + unit * ((MAX_BYTES - len(before) - len(after)) // len(unit)) + after


def many(kind: bytes, count: int) -> bytes:
    return b"".join(kind % number for number in range(count))


SHAPES: dict[str, Callable[[], bytes]] = {
    "elements in elements": lambda: full_of(b"<a>"),
    "titles in titles": lambda: full_of(b"<title>"),
    "items": lambda: full_of(b"<item/>"),
    "items with ids": lambda: full_of(b"<item><guid>a</guid></item>"),
    "links": lambda: full_of(b"<link href='x'/>"),
    "links as text": lambda: full_of(b"<link>x</link>"),
    "bases": lambda: full_of(b"<a xml:base='x'/>"),
    "bases with links": lambda: full_of(b"<link xml:base='../x' href='y'/>"),
    "a long base": lambda: full_of(
        b"/", b"<rss xml:base='http://a.example", b"'><title>A</title>" + 100 * _UNTITLED + END
    ),
    "bases in bases": lambda: (
        b"<rss>" + 90 * (b"<channel xml:base='" + 10_000 * b"a/" + b"'>") + 100 * _UNTITLED
    ),
    "long links": lambda: (
        BEGIN + 100 * (b"<item><title>B</title><link>" + 19_000 * b"|" + b"</link></item>") + END
    ),
    "namespaces": lambda: full_of(
        b"<a xmlns:b='c'/>", BEGIN + b"<a" + many(b" xmlns:a%d='x'", 49_000) + b">"
    ),
    "attributes": lambda: full_of(b" ", BEGIN + b"<a" + many(b" a%d=''", 49_000)),
    "too many attributes": lambda: BEGIN + b"<a" + many(b" a%d=''", 600_000) + b"/>" + END,
    "a long attribute": lambda: full_of(b"x", BEGIN + b"<a b='", b"'/>" + END),
    "a long text": lambda: full_of(b"x", BEGIN + b"<description>"),
    "tags that begin": lambda: full_of(b"<"),
    "tags that never end": lambda: full_of(b"<b"),
    "ampersands": lambda: full_of(b"&"),
    "references": lambda: full_of(b"&#9;"),
    "names of HTML": lambda: full_of(b"&nbsp;"),
    "escaped HTML": lambda: full_of(b"&lt;b&gt;", BEGIN + b"<description>"),
    "scripts": lambda: full_of(b"&lt;script&gt;", BEGIN + b"<description>"),
    "comments": lambda: full_of(b"<!--"),
    "sections": lambda: full_of(b"<![CDATA["),
    "instructions": lambda: full_of(b"<?"),
    "single bytes": lambda: full_of(b"\xe9"),
    "emoji": lambda: full_of("\U0001f3a7".encode()),
    "GB18030": lambda: full_of(b"\x810\x810", b'<?xml encoding="gbk"?>' + BEGIN, b"\xff" + END),
    "zeros": lambda: full_of(b"\0"),
    "values that are none": lambda: full_of(b"<podcast:guid>x</podcast:guid>"),
    "titles that are none": lambda: full_of(
        b"<title>" + b"&lt;b&gt;" * 100 + b"</title>", b"<rss><channel>"
    ),
    "items after a mistake": lambda: full_of(b"<item><guid>a</guid></item>", BEGIN + b"</x>"),
    "links after a mistake": lambda: full_of(b"<link href=x rel='y/>", BEGIN + b"</x>"),
    "elements that never end": lambda: full_of(b"<x></y>"),
    "elements that cross": lambda: full_of(b"<x><y></x></y>"),
    "sections after a mistake": lambda: full_of(b"<![CDATA[]]>", BEGIN + b"</x>"),
    "quotes after a mistake": lambda: full_of(b"<x y='\"", BEGIN + b"</x>"),
    "equals after a mistake": lambda: full_of(b"=", BEGIN + b"</x><y ", b">" + END),
    "a name after a mistake": lambda: full_of(b"a", BEGIN + b"</x><a", b">" + END),
    "JSON arrays": lambda: full_of(b"[],", FEED_OF_JSON, b"[]]}"),
    "JSON objects": lambda: full_of(b"{},", FEED_OF_JSON, b"{}]}"),
    "JSON in JSON": lambda: full_of(b"[", FEED_OF_JSON, b""),
}

if not IS_LONG:  # others are as hard in the same way
    for like_another in (
        *("items", "links", "links as text", "bases", "attributes", "references"),
        *("titles in titles", "namespaces", "a long attribute", "tags that never end"),
        *("names of HTML", "scripts", "sections", "instructions", "emoji", "zeros"),
        *("JSON objects", "single bytes", "values that are none", "titles that are none"),
        *("links after a mistake", "elements that cross", "sections after a mistake"),
        *("equals after a mistake", "a name after a mistake"),
    ):
        del SHAPES[like_another]

if __name__ == "__main__":
    for name, shape in SHAPES.items():
        complaints = mutated.judged(mutated.read, shape(), "")
        sys.stdout.write(" ".join([name, *complaints]) + "\n")
        sys.stdout.flush()
