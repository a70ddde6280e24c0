"""Cost of pages: size and processor time of the whole application."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from feedkeep.assembly import open_service, open_store
from feedkeep.config.settings import Settings
from feedkeep.edges import edges
from feedkeep.http.application import Application
from feedkeep.http.error_responses import OK
from feedkeep.model import Author, CredentialKind, FeedContent, replace
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import want
from feedkeep.runtime import wall_clock

SIZES = (100, 1_000)
ANEW = "my feeds, anew"
PAGES = {
    "my feeds": "/",
    ANEW: "/",
    "my apps": "/apps",
    "my account": "/account",
    "sign-in": "/sign-in",
}


class Cost(msgspec.Struct, frozen=True):
    """Cost of one page.

    Attributes:
        feeds: Number of the account's feeds.
        size_bytes: Size of its HTML.
        milliseconds: Processor time of all threads; the median of the rounds.
    """

    page: str
    feeds: int
    size_bytes: int
    milliseconds: float


async def measure(folder: Path, rounds: int) -> list[Cost]:
    """Return the cost of each page on SQLite, for accounts of two sizes with 20 apps each.

    All feeds have a title and a picture, which an earlier page has cached; for "anew", the cache is
    empty, as after the daily fetches.
    """
    settings = Settings(database=f"sqlite:///{folder}/pages.db")
    costs = []
    await _know(settings, [_url(number) for number in range(max(SIZES))])
    async with open_service(settings) as service:
        application = Application(edges(service, settings), settings)
        for size in SIZES:
            account = await service.accounts.create(f"with{size}", "a password for the bench")
            bench = Author(CredentialKind.COMMAND)
            urls = [_url(number) for number in range(size)]
            await service.subscriptions.add(account.id, [want(url, None) for url in urls], bench)
            for number in range(20):
                await service.tokens.create(account.name, f"app {number}", None)
            session = await service.page_sessions.begin(account, "bench")
            for page, path in PAGES.items():
                taken, length = [], 0
                for _ in range(4 * rounds):
                    if page == ANEW:
                        service.known_feeds.forget()
                    begun = time.process_time()
                    length = await _load(application, path, session.text)
                    taken.append(time.process_time() - begun)
                costs.append(Cost(page, size, length, 1_000 * median(taken)))
    return costs


def table(costs: list[Cost]) -> str:
    """Return the costs as a Markdown table."""
    lines = ["| page | feeds | bytes | processor time |", "|---|---|---|---|"]
    lines += [
        f"| {cost.page} | {cost.feeds:,} | {cost.size_bytes:,} | {cost.milliseconds:.2f} ms |"
        for cost in costs
    ]
    return "\n".join(lines) + "\n"


async def _know(settings: Settings, urls: list[str]) -> None:
    """Store feeds in a database, as fetched later than all subscriptions."""
    store = await open_store(settings)
    now = wall_clock.now()
    until = shift(now, DAY_US)
    await store.feeds.want({parse_feed_url(url).guid: url for url in urls}, now)
    for feed in await store.feeds.lease(now, until, len(urls)):
        content = FeedContent(
            title=f"A podcast, which has the title {feed.guid[:8]}",
            description="What it is about, in some more words. " * 20,
            podcast_guid=feed.guid,
            items=tuple(f"{number:016x}" for number in range(50)),
            newest=shift(now, -(int(feed.guid[:4], 16) % 1_000) * DAY_US),
            newest_title=f"Episode {feed.guid[:3]}, which is about audio, bitrates and earbuds",
        )
        found = replace(
            feed,
            content=content,
            looked=until,
            answered=until,
            next_fetch=until,
            picture=feed.guid[:16],
        )
        await store.feeds.save(found, until)
    await store.close()


def _url(number: int) -> str:
    return f"https://feeds.example/podcasts/{number}/rss.xml"


async def _load(application: Application, path: str, session: str) -> int:
    length = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        nonlocal length
        assert message.get("status", OK) == OK
        length += len(message.get("body", b""))

    scope = {
        "type": "http", "method": "GET", "path": path, "query_string": b"", "scheme": "http",
        "headers": [(b"host", b"feeds.example"), (b"cookie", f"feedkeep={session}".encode())],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "asgi": {"version": "3.0"},
    }  # fmt: skip
    await application(scope, receive, send)
    return length
