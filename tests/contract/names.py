"""Feeds and guids that the contract tests speak of."""

from __future__ import annotations

from typing import Any

import httpx

from feedkeep.rules.feed_urls import parse_feed_url

A = "https://a.example/feed"
B = "https://b.example/feed"
C = "https://c.example/feed"
G1 = "00000000-0000-4000-8000-000000000001"
G2 = "00000000-0000-4000-8000-000000000002"
G3 = "00000000-0000-4000-8000-000000000003"
UNKNOWN = "ffffffff-ffff-4fff-bfff-ffffffffffff"


def derived(url: str) -> str:
    return parse_feed_url(url).guid


def get(api: httpx.Client, guid: str) -> dict[str, Any]:
    reply = api.get(f"/subscriptions/{guid}")
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


def status(api: httpx.Client, guid: str) -> int:
    return api.get(f"/subscriptions/{guid}").status_code


def patch(api: httpx.Client, guid: str, **fields: object) -> dict[str, Any]:
    reply = api.patch(f"/subscriptions/{guid}", json=fields)
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


def refused(api: httpx.Client, guid: str, **fields: object) -> str:
    reply = api.patch(f"/subscriptions/{guid}", json=fields)
    assert reply.status_code == 405, reply.text
    assert reply.json()["message"].startswith("The input could not be validated. ")
    message: str = reply.json()["message"]
    return message


def delete(api: httpx.Client, guid: str) -> dict[str, Any]:
    reply = api.delete(f"/subscriptions/{guid}")
    assert reply.status_code == 202, reply.text
    body: dict[str, Any] = reply.json()
    return body


def entries(api: httpx.Client, **query: object) -> list[dict[str, Any]]:
    reply = api.get("/subscriptions", params=dict(query))
    assert reply.status_code == 200, reply.text
    found: list[dict[str, Any]] = reply.json()["subscriptions"]
    return found
