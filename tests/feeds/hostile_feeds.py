"""Documents of 8 MiB that are hard to read, by name; run as a program, it reads all of them.

Each line is the name of one, with what was wrong with it, if anything was.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import mutated

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
    "items with ids": lambda: full_of(b"<item><guid>a</guid></item>"),
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
    "too many attributes": lambda: BEGIN + b"<a" + many(b" a%d=''", 600_000) + b"/>" + END,
    "a long text": lambda: full_of(b"x", BEGIN + b"<description>"),
    "tags that begin": lambda: full_of(b"<"),
    "ampersands": lambda: full_of(b"&"),
    "escaped HTML": lambda: full_of(b"&lt;b&gt;", BEGIN + b"<description>"),
    "comments": lambda: full_of(b"<!--"),
    "GB18030": lambda: full_of(b"\x810\x810", b'<?xml encoding="gbk"?>' + BEGIN, b"\xff" + END),
    "items after a mistake": lambda: full_of(b"<item><guid>a</guid></item>", BEGIN + b"</x>"),
    "elements that never end": lambda: full_of(b"<x></y>"),
    "quotes after a mistake": lambda: full_of(b"<x y='\"", BEGIN + b"</x>"),
    "JSON arrays": lambda: full_of(b"[],", FEED_OF_JSON, b"[]]}"),
    "JSON in JSON": lambda: full_of(b"[", FEED_OF_JSON, b""),
    "titles in titles": lambda: full_of(b"<title>"),
    "namespaces": lambda: full_of(
        b"<a xmlns:b='c'/>", BEGIN + b"<a" + many(b" xmlns:a%d='x'", 49_000) + b">"
    ),
    "attributes": lambda: full_of(b" ", BEGIN + b"<a" + many(b" a%d=''", 49_000)),
    "a long attribute": lambda: full_of(b"x", BEGIN + b"<a b='", b"'/>" + END),
    "scripts": lambda: full_of(b"&lt;script&gt;", BEGIN + b"<description>"),
    "sections": lambda: full_of(b"<![CDATA["),
    "instructions": lambda: full_of(b"<?"),
    "emoji": lambda: full_of("\U0001f3a7".encode()),
    "zeros": lambda: full_of(b"\0"),
    "titles that are none": lambda: full_of(
        b"<title>" + b"&lt;b&gt;" * 100 + b"</title>", b"<rss><channel>"
    ),
    "sections after a mistake": lambda: full_of(b"<![CDATA[]]>", BEGIN + b"</x>"),
    "equals after a mistake": lambda: full_of(b"=", BEGIN + b"</x><y ", b">" + END),
    "a name after a mistake": lambda: full_of(b"a", BEGIN + b"</x><a", b">" + END),
}

if __name__ == "__main__":
    for name, shape in SHAPES.items():
        complaints = mutated.judged(mutated.read, shape(), "")
        sys.stdout.write(" ".join([name, *complaints]) + "\n")
        sys.stdout.flush()
