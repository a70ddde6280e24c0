"""Files of 4 MiB that are hard to read, by name; run as a program, it reads all of them.

Each of its two readers has a minute of the processor for each. The slowest takes 9 s, and twice
that on a busy machine; one that takes quadratic time needs many minutes.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path

from feedkeep.formats.feed_list import MAX_ITEMS, decoded_exactly, read_feed_list
from feedkeep.formats.opml import read_whole
from feedkeep.model.errors import InvalidInput

SIZE_BYTES = 4 * 1024 * 1024
CPU_SECONDS = 60
MEMORY_BYTES = 400 * 1024 * 1024
BEGIN, END = b"<opml version='2.0'><body>", b"</body></opml>"


def full_of(unit: bytes, before: bytes = BEGIN, after: bytes = END) -> bytes:
    return before + unit * ((SIZE_BYTES - len(before) - len(after)) // len(unit)) + after


def in_tags(unit: bytes, tag: bytes = b"<a/>", size: int = 150_000) -> bytes:
    """Return a file that is full of pieces which are as long as they may be."""
    return full_of(tag + unit * (size // len(unit)))


def outline(inside: bytes) -> bytes:
    return b"<outline " + inside + b"/>"


def said_to_be(encoding: bytes, unit: bytes) -> bytes:
    return full_of(unit, b'<?xml version="1.0" encoding="' + encoding + b'"?>' + BEGIN)


MANY_ATTRIBUTES = b" ".join(b"a%d=''" % number for number in range(14_000))
SHAPES: dict[str, Callable[[], bytes]] = {
    "ampersands": lambda: full_of(b"&"),
    "ampersands in UTF-16": lambda: full_of(b"&\0", b"\xff\xfe<\0o\0>\0", b""),
    "escaped ampersands": lambda: in_tags(b"&amp;"),
    "broken references": lambda: in_tags(b"&#x"),
    "tags that begin": lambda: full_of(b"<"),
    "as many tags as may be": lambda: BEGIN + b"<o>" * 390_000,
    "attributes": lambda: full_of(outline(MANY_ATTRIBUTES)),
    "a long comment": lambda: full_of(b"- ", BEGIN + b"<!--", b"-->" + END),
    "declarations": lambda: full_of(b"<!ENTITY a 'b'>", b"<!DOCTYPE opml [", b"]>" + BEGIN + END),
    "punycode": lambda: said_to_be(b"punycode", b"a-b"),
    "gb18030": lambda: said_to_be(b"gb18030", b"<a/>" + b"\x810\x810" * 40_000),
    "JSON items": lambda: full_of(b'{"feed_url":""},', b'{"subscriptions":[', b'{"feed_url":""}]}'),
    "a JSON list deep inside": lambda: (
        b'{"k":' * 60 + b"[" + b"{}," * 60_000 + b'"https://a"]' + b"}" * 60
    ),
    "a bracket that never ends": lambda: full_of(b"a.", b"<", b""),
    "addresses without protocols": lambda: full_of(b"a.bc/\n", b"", b""),
    "salvaged with white space": lambda: in_tags(b"url='" + b" " * 8_990 + b"'", b"<outline "),
    "empty lines": lambda: full_of(b"\n", b"", b""),
    "URLs": lambda: full_of(b"a\n", b"", b""),
    "list marks": lambda: full_of(b"1. ", b"", b""),
    "addresses in brackets": lambda: full_of(b"(https://a.example/x ", b"", b""),
    "a table": lambda: full_of(b"https://a.b/c,A title\n", b"", b""),
    "titles that are salvaged": lambda: in_tags(b'text="a text=', b"<outline "),
    "outlines in an outline": lambda: full_of(b"<outline url='a'>", b"<opml><a", b""),
    "a long reference": lambda: in_tags(b"9", b"<a/>&#"),
    "long attributes": lambda: full_of(outline(b"xmlUrl='" + b"x" * 150_000 + b"'")),
    "text": lambda: in_tags(b"]]&gt;"),
    "lines": lambda: in_tags(b"\r\n"),
    "iso-2022-jp": lambda: said_to_be(b"iso-2022-jp", b"<a/>" + b"\x1b$B!!\x1b(B" * 15_000),
    "a declaration": lambda: full_of(b"encoding ", b"<?xml "),
    "UTF-32": lambda: full_of(b"<a/>&").decode()[: SIZE_BYTES // 4].encode("utf-32"),
    "spaces": lambda: full_of(b" ", b"", b""),
    "zeros": lambda: full_of(b"\0", b"", b""),
    "JSON arrays": lambda: full_of(b"[],", b'{"x":[', b"[]]}"),
    "JSON that never ends": lambda: full_of(b'{"a":', b"", b""),
    "long addresses without protocols": lambda: full_of(b"a." * 4_000 + b"!\n", b"", b""),
    "salvaged without quotes": lambda: in_tags(b"url=", b"<outline "),
    "comments that never end": lambda: full_of(b"<!--", b"<opml><outline url='a'/>", b""),
}


def read(data: bytes) -> None:
    assert len(data) <= SIZE_BYTES + 16
    for reader in (read_feed_list, lambda data: read_whole(decoded_exactly(data), MAX_ITEMS)):
        until = int(used_seconds()) + 1 + CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
        try:
            reader(data)
        except InvalidInput as refusal:
            assert len(str(refusal)) < 200, refusal


def used_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def most_bytes() -> int:
    """Return the most memory that this program had; `getrusage` counts what started it, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


if __name__ == "__main__":
    for name, shape in SHAPES.items():
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        read(shape())
    sys.exit(most_bytes() > MEMORY_BYTES)
