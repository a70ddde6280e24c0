"""Feeds and guids that the contract tests speak of."""

from feedkeep.rules.feed_urls import parse_feed_url

A = "https://a.example/feed"
B = "https://b.example/feed"
C = "https://c.example/feed"
D = "https://d.example/feed"
G1 = "00000000-0000-4000-8000-000000000001"
G2 = "00000000-0000-4000-8000-000000000002"
G3 = "00000000-0000-4000-8000-000000000003"
UNKNOWN = "ffffffff-ffff-4fff-bfff-ffffffffffff"
NOT_FOUND = {"code": "404", "message": "The resource was not found."}


def derived(url):
    return parse_feed_url(url).guid
