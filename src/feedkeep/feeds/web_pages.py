"""Documents that are not feeds: recognition of feeds, and discovery of feeds in web pages."""

from __future__ import annotations

import contextlib
import html
import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import urljoin

import msgspec

from feedkeep.feeds.found import absolute_url
from feedkeep.formats.decoding import utf8
from feedkeep.rules.feed_urls import MAX_CHARACTERS, host_of

_HEAD_BYTES = 256 * 1024
"""Links are in the head of a page."""

_LINK = re.compile(r"<link\b([^<>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""([a-z-]{1,20})\s{0,9}=\s{0,9}(?:"([^"<>]{0,4000})"|'([^'<>]{0,4000})'|([^\s"'<>]{1,4000}))""",
    re.IGNORECASE,
)
_FEEDS = {"application/rss+xml", "application/atom+xml", "application/feed+json"}
_OF_COMMENTS = re.compile("comment", re.IGNORECASE)


_NAMED_IN_SCRIPTS = {"podcasts.apple.com": "feedUrl", "youtube.com": "rssUrl"}
"""Key of the feed URL in the page data of hosts that have no feed link in the head."""

MAX_PAGE_FEEDS = 8

_ENCLOSURE = re.compile(
    rb"""<(?:[\w-]{1,20}:)?enclosure\s|\srel\s?=\s?["']enclosure["']|"attachments"\s?:""",
    re.IGNORECASE,
)


def feeds_of_page(document: bytes, content_type: str, url: str) -> tuple[str, ...]:
    """Return the URLs of a web page's own feeds, at most `MAX_PAGE_FEEDS`.

    Feeds of comments are skipped. `content_type` is the header, and `url` the base of relative
    links (RSS Advisory Board, RSS Autodiscovery).
    """
    head = utf8(document[:_HEAD_BYTES], content_type).decode(errors="replace")
    found = dict.fromkeys(filter(None, _linked(head, url)))
    return tuple(islice(found, MAX_PAGE_FEEDS)) or _named_in_scripts(document, url)


def _linked(head: str, url: str) -> Iterator[str]:
    for link in _LINK.finditer(head):
        named = {
            name.lower(): html.unescape(double or single or bare).strip()
            for name, double, single, bare in _ATTRIBUTE.findall(link[1])
        }
        is_feed = named.get("type", "").lower() in _FEEDS
        is_its_own = "alternate" in named.get("rel", "").lower().split()
        title, place = named.get("title", ""), named.get("href", "")
        if is_feed and is_its_own and place and not _OF_COMMENTS.search(f"{title} {place}"):
            yield absolute_url(_joined(url, place), MAX_CHARACTERS)


def _named_in_scripts(document: bytes, url: str) -> tuple[str, ...]:
    """Return the feed URL in the data of a podcast directory's page, if any."""
    host = host_of(url).removeprefix("www.").removeprefix("m.")
    if host not in _NAMED_IN_SCRIPTS:
        return ()
    name = _NAMED_IN_SCRIPTS[host].encode()
    values = re.finditer(rb'"%s" ?: ?("[^"\s]{1,4000}")' % name, document)
    for value in islice(values, MAX_PAGE_FEEDS):
        with contextlib.suppress(msgspec.DecodeError):
            text = msgspec.json.decode(value[1], type=str)
            if found := absolute_url(text, MAX_CHARACTERS):
                return (found,)
    return ()


def has_enclosures(feed: bytes) -> bool:
    """Whether the items of a feed seem to have media files: in RSS, Atom or JSON Feed."""
    return _ENCLOSURE.search(feed) is not None


def _joined(url: str, place: str) -> str:
    try:
        return urljoin(url, place)
    except ValueError:
        return ""


_BEFORE = b" \t\r\n\x0b\x0c\0" + "\ufeff".encode()
"""White space and byte order marks, also as single bytes of UTF-16."""

_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Bytes absent from text in any encoding; ISO-2022 uses the escape character."""


def may_be_feed(head: bytes, content_type: str) -> bool:
    """Whether a document with this beginning can be XML, JSON or a web page.

    Text may precede the first element, such as a warning of the publisher's program. Of the header
    `content_type`, only the charset counts.
    """
    text = utf8(head, content_type).lstrip(_BEFORE)
    if text.startswith((b"<", b"{", b"[")):
        return True
    return b"<" in text and not _CONTROLS.search(text)
