"""Writer of OPML 2.0.

A guid that differs from the one derived from the URL is in the attribute `podcast:guid`. Other data
is in the attributes that podcast apps use; a feed without a title has its URL instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from feedkeep.formats.listed_feed import ListedFeed
from feedkeep.rules.feed_labels import folder_names

NAMESPACE = "https://podcastindex.org/namespace/1.0"
_NOT_IN_XML = re.compile("[\ufffe\uffff]")


def in_xml(url: str) -> str:
    """Percent-encode the characters of a URL that XML does not allow."""
    return _NOT_IN_XML.sub(lambda character: quote(character[0]), url)


def write(feeds: Iterable[ListedFeed]) -> bytes:
    """Write the feeds as an OPML 2.0 file in UTF-8."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<opml version="2.0" xmlns:podcast="{NAMESPACE}">',
        "  <head><title>Subscriptions</title></head>",
        "  <body>",
        *_outlines(feeds),
        "  </body>",
        "</opml>",
    ]
    return "".join(f"{line}\n" for line in lines).encode()


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
    url = quoteattr(in_xml(feed.feed_url))
    guid = f" podcast:guid={quoteattr(feed.guid)}" if feed.guid else ""
    text, more = url, ""
    if feed.card and feed.card.title:
        text = quoteattr(feed.card.title)
        told = {"htmlUrl": in_xml(feed.card.site_url), "description": feed.card.description}
        more = f" title={text}"
        more += "".join(f" {name}={quoteattr(value)}" for name, value in told.items() if value)
    return f'<outline type="rss" text={text}{more} xmlUrl={url}{guid}/>'
