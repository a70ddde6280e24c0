"""Measured cases."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of request.

    Attributes:
        name: Name in tables.
        load: Name in load.lua.
        connections: Number of concurrent clients.
        feeds: Number of feeds added by a request, if feeds are counted.
    """

    name: str
    load: str
    connections: int
    feeds: int = 1


GET = Case("GET one", "one", 32)
POST = Case("POST of one new feed", "post", 64)
POST_100 = Case("POST of 100 new feeds", "post_100", 32, feeds=100)

LIST = Case("list, a page of 50", "list", 32)
PATCH = Case("PATCH is_subscribed", "patch", 32)

# Reads come first: writes change the data for later cases.
ALL = (
    GET,
    Case("GET one that answers 304", "known", 32),
    LIST,
    Case("list, nothing new", "nothing", 32),
    Case("app's poll of its list, nothing new", "poll", 32),
    Case("app's poll of episode actions, nothing new", "poll_actions", 32),
    POST,
    POST_100,
    PATCH,
)
QUICK = (GET, POST, POST_100)
BESIDE_LOOKS = (GET, LIST, POST, POST_100, PATCH)
"""Cases that are also measured while the service fetches feeds."""
