"""Feeds of a list that look like duplicates, and pairs marked as different. Pure.

By the contract (section 3) they are different feeds: the likeness is only a hint to a person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import unquote

from feedkeep.model import Guid, Value
from feedkeep.rules.feed_urls import authority_of, host_of, is_https

MAX_PAIRS = 1_000
"""Maximum number of pairs stored for an account; a new pair replaces the oldest."""

_FEEDBURNER = re.compile(
    r"feeds\d?\.feedburner\.com|feeds\.feedburner\.google\.com|feedproxy\.google\.com"
)
_MAX_HOST = 253
"""RFC 1035, section 3.1; for longer hosts, Python's Punycode takes quadratic time."""


class Pair(Value, frozen=True):
    """Two feeds marked as different, by their guids in the list.

    Attributes:
        lower: The guid that sorts first.
        higher: The other guid.
    """

    lower: Guid
    higher: Guid


def likely_name(url: str) -> str:
    """Return a key that similar spellings of a feed URL share.

    It ignores `www.`, a dot at the end of the host, IDN or Punycode, an empty query, escapes, and
    the hosts and formats of FeedBurner, beside what contract section 3 ignores.
    """
    authority = authority_of(url)
    user_info, at, location = authority.rpartition("@")
    written = host_of(url)
    port = location[len(written) :].removeprefix(":").lstrip("0")
    host = _in_ascii(written.rstrip(".").removeprefix("www."))
    path, _, query = url.partition("://")[2][len(authority) :].partition("#")[0].partition("?")
    # Contract section 3 ignores one slash at the end, also after a query.
    path, query = _decoded(path), _decoded(query.rstrip("&/").lstrip("&"))
    if _FEEDBURNER.fullmatch(host):
        host, path, query = "feeds.feedburner.com", path.removeprefix("/~r").casefold(), ""
    place = f"{host}:{port}" if port not in {"", "443" if is_https(url) else "80"} else host
    rest = path.rstrip("/") + (f"?{query}" if query else "")
    return f"{user_info}{at}{place}{rest}".rstrip("/")


def _in_ascii(host: str) -> str:
    if not host.isascii() and len(host) <= _MAX_HOST:
        with suppress(UnicodeError):
            return host.encode("idna").decode("ascii").removeprefix("www.")
    return host


def _decoded(text: str) -> str:
    return unquote(text, errors="surrogateescape") if "%" in text else text


def pair_of(one: Guid, other: Guid) -> Pair:
    return Pair(min(one, other), max(one, other))


def keep_apart(kept: Sequence[Pair], one: Guid, other: Guid) -> Sequence[Pair]:
    """Add a pair to the stored ones, as the newest and last."""
    pair = pair_of(one, other)
    return [*(known for known in kept if known != pair), pair][-MAX_PAIRS:]
