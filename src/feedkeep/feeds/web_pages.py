"""The feed that a web page names: who adds a podcast often has the address of its page."""

from __future__ import annotations

import html
import re
from urllib.parse import urljoin

from feedkeep.feeds.fields import absolute_url
from feedkeep.formats.decoding import utf8
from feedkeep.rules.feed_urls import MAX_CHARACTERS

_HEAD_BYTES = 256 * 1024
"""The links stand in the head of a page."""

_LINK = re.compile(r"<link\b([^<>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""([a-z-]{1,20})\s{0,9}=\s{0,9}(?:"([^"<>]{0,4000})"|'([^'<>]{0,4000})'|([^\s"'<>]{1,4000}))""",
    re.IGNORECASE,
)
_FEEDS = {"application/rss+xml", "application/atom+xml", "application/feed+json"}
_OF_COMMENTS = re.compile("comment", re.IGNORECASE)


def feed_of_page(document: bytes, content_type: str, url: str) -> str:
    """Return the URL of the first feed that a web page links to as its own; "" if there is none.

    Feeds of comments are passed over. `content_type` is the header of that name, and `url` is where
    the document came from, which links are relative to (RSS Advisory Board, RSS Autodiscovery).
    """
    head = utf8(document[:_HEAD_BYTES], content_type).decode(errors="replace")
    for link in _LINK.finditer(head):
        named = {
            name.lower(): html.unescape(double or single or bare).strip()
            for name, double, single, bare in _ATTRIBUTE.findall(link[1])
        }
        is_feed = named.get("type", "").lower() in _FEEDS
        is_its_own = "alternate" in named.get("rel", "").lower().split()
        title, place = named.get("title", ""), named.get("href", "")
        if is_feed and is_its_own and place and not _OF_COMMENTS.search(f"{title} {place}"):
            return absolute_url(_joined(url, place), MAX_CHARACTERS)
    return ""


def _joined(url: str, place: str) -> str:
    try:
        return urljoin(url, place)
    except ValueError:
        return ""
