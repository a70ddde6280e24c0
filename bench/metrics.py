"""Cost of metrics: GETs alternately with and without them, and the page that Prometheus reads."""

from __future__ import annotations

import asyncio
import gc
import random
import re
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import msgspec
from starlette.types import Message

from bench.cases import GET
from bench.data import Population
from bench.subjects import Subject, feedkeep
from bench.throughput import WARM_UP_SECONDS
from bench.wrk import load
from feedkeep.assembly import open_service
from feedkeep.config.settings import Settings
from feedkeep.edges import edges
from feedkeep.http.application import Application
from feedkeep.http.backpressure import InFlight
from feedkeep.model import Author, CredentialKind
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import want
from feedkeep.runtime.recorder import Recorder

GOAL = 1.02
_ROUNDS_MORE = 8
_SHORTER_BY = 4
"""More and shorter rounds than elsewhere, since other load changes results by two per cent."""

_PAGES, _SHARED_SECONDS = 9, 1.1
_AT_ONCE, _TIMES, _PARTS = 32, 10, 40
"""For the application alone: concurrent requests, repetitions in a part, and parts in a round."""

_URL = "https://feeds.example/rss"


class Added(msgspec.Struct, frozen=True):
    """Time added to the processor time of a GET, in microseconds.

    Attributes:
        by_metrics: Time added by metrics.
        by_nothing: Difference of a second application without metrics: the measuring error.
    """

    by_metrics: float
    by_nothing: float


class Whole(msgspec.Struct, frozen=True):
    """Processor time of a GET in a whole process.

    Attributes:
        without_us: Time without metrics, in microseconds.
        ratios: For each round, the ratio with metrics to without.
        same: For each round, the ratio of two processes without metrics.
        page_ms: Time of the page of metrics, in milliseconds.
    """

    without_us: float
    ratios: list[float]
    same: list[float]
    page_ms: float


def measure(new_database: Callable[[], str], folder: Path, rounds: int, seconds: float) -> Whole:
    """Measure whole processes on databases with the same content."""
    population = Population(1_000, 100)
    sample = population.write_sample(folder / "sample")
    with ExitStack() as stack:

        def started(name: str, **settings: str) -> Subject:
            database = new_database()
            asyncio.run(population.fill(database))
            return stack.enter_context(feedkeep(name, database, 1, **settings))

        without, again = started("off"), started("off")
        told = started("on", FEEDKEEP_METRICS_PORT="0")
        used: dict[Subject, list[float]] = {without: [], again: [], told: []}
        for subject in used:
            load(subject.url, GET.load, sample, GET.connections, WARM_UP_SECONDS)
        for _ in range(rounds * _ROUNDS_MORE):
            for subject in random.sample(list(used), len(used)):
                before = subject.cpu_seconds_of_threads()
                length = seconds / _SHORTER_BY
                run = load(subject.url, GET.load, sample, GET.connections, length)
                after = subject.cpu_seconds_of_threads()
                used[subject].append((after - before) / run.requests * 1e6)
        return Whole(
            median(used[without]),
            _ratios(used[told], used[without]),
            _ratios(used[again], used[without]),
            _page_ms(told),
        )


async def measure_application(folder: Path, rounds: int) -> Added:
    """Measure the application with its store in this process, without a server."""
    async with AsyncExitStack() as stack:

        async def application(name: str, recorder: Recorder | None) -> tuple[InFlight, Any]:
            settings = Settings(database=f"sqlite:///{folder}/{name}.db")
            service = await stack.enter_async_context(open_service(settings, recorder=recorder))
            account = await service.accounts.create("anna", None)
            token = await service.tokens.create(account.name, "bench", None)
            author = Author(CredentialKind.TOKEN, None, "", "", "")
            await service.subscriptions.add(account.id, [want(_URL, None)], author)
            made = Application(edges(service, settings), settings, recorder)
            return InFlight(made, settings.max_in_flight_bytes), token.text

        all_three = [
            await application("without", None),
            await application("again", None),
            await application("told", Recorder()),
        ]
        used: list[list[float]] = [[], [], []]
        for one in all_three:
            await _get_often(*one)
        gc.freeze()
        for _ in range(rounds * _PARTS):
            for number in random.sample(range(3), 3):
                used[number].append(await _get_often(*all_three[number]))
        gc.unfreeze()
        without, again, told = used
        return Added(
            median(more - less for more, less in zip(told, without, strict=True)),
            median(more - less for more, less in zip(again, without, strict=True)),
        )


async def _get_often(application: InFlight, token: str) -> float:
    """Return the processor time of a GET in microseconds."""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_: Message) -> None:
        """Discard the message."""

    async def get() -> None:
        scope = {
            "type": "http",
            "method": "GET",
            "path": f"/subscriptions/{parse_feed_url(_URL).guid}",
            "query_string": b"",
            "headers": [(b"host", b"x"), (b"authorization", f"Bearer {token}".encode())],
            "scheme": "http",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 80),
        }
        await application(scope, receive, send)

    begun = time.thread_time()
    for _ in range(_TIMES):
        await asyncio.gather(*(get() for _ in range(_AT_ONCE)))
    return (time.thread_time() - begun) / (_TIMES * _AT_ONCE) * 1e6


def _ratios(ones: list[float], others: list[float]) -> list[float]:
    return [one / other for one, other in zip(ones, others, strict=True)]


def _page_ms(told: Subject) -> float:
    """Return the processor time of a page; requests within one second would share a page."""
    found = re.search(r"http://\S+/metrics", told.told)
    assert found is not None
    used = []
    for _ in range(_PAGES):
        time.sleep(_SHARED_SECONDS)
        before = told.cpu_seconds_of_threads()
        httpx.get(found[0]).raise_for_status()
        used.append((told.cpu_seconds_of_threads() - before) * 1e3)
    return median(used)


def table(added: Added, whole: Whole) -> str:
    """Return the results as text."""
    ordered = sorted(whole.ratios)
    lower, upper = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
    part = added.by_metrics / whole.without_us
    return (
        f"Metrics add {added.by_metrics:.2f} µs to a GET (nothing adds {added.by_nothing:.2f} µs),"
        f" which takes {whole.without_us:.0f} µs: {part:.1%}; the goal is {GOAL - 1:.0%}.\n"
        f"Whole processes in turn: {median(whole.ratios):.3f} ({lower:.3f} to {upper:.3f} for the"
        f" middle half); two without metrics: {median(whole.same):.3f}.\n"
        f"The page that Prometheus reads takes {whole.page_ms:.1f} ms.\n"
    )
