"""Fetching of feeds: its effect on requests, its rate, and its processor time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import httpx
import msgspec

from bench.cases import BESIDE_LOOKS, Case
from bench.data import Population
from bench.subjects import Subject, feedkeep, fetching, web
from bench.throughput import WARM_UP_SECONDS
from bench.web import ETAG, feed_url
from bench.wrk import Run, load
from feedkeep.assembly import open_store
from feedkeep.config.settings import Settings
from feedkeep.model import FeedContent, replace
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.runtime import wall_clock

GOAL = 0.9
DAY_SECONDS = 86_400
_KNOWN_IN = 3
"""Every third feed was fetched before, and has not changed."""

_SHORTER_BY = 4
"""Divisor of the length of runs, so that this part takes about a minute."""

_LOOKING_SECONDS = 10.0


class Beside(msgspec.Struct, frozen=True):
    """A case measured during fetches.

    Attributes:
        ratios: For each round, the number of requests for one request without fetches.
        per_second: Median of requests per second.
        without_per_second: Median of requests per second without fetches.
        processor_ratio: Processor time per request in the serving process, including its work for
            fetches, divided by that without fetches. Other load hardly affects it.
        looks_per_second: Fetches per second.
    """

    name: str
    ratios: list[float]
    per_second: float
    without_per_second: float
    processor_ratio: float
    looks_per_second: float


class Rate(msgspec.Struct, frozen=True):
    """Rate of fetches without other requests, and the processor time of 1,000 fetches.

    Attributes:
        name: Pace of the fetches.
        per_second: Fetches per second.
        serving_seconds: Processor time in the serving process.
        looking_seconds: Processor time in the fetching process.
    """

    name: str
    per_second: float
    serving_seconds: float
    looking_seconds: float


class _Podcasts(Population):
    """Accounts whose feeds are on `bench.web`, each in one list."""

    port = 0

    def feed_url(self, account: int, number: int) -> str:
        """Return the URL of a subscription."""
        return feed_url(self.port, account * self.entries_each + number)

    async def fill(self, database: str) -> None:
        """Write the population to an empty database; all feeds are due, some are unchanged."""
        await super().fill(database)
        urls = [
            self.feed_url(account, number)
            for account in range(self.accounts)
            for number in range(self.entries_each)
        ]
        store = await open_store(Settings(database=database))
        try:
            now = wall_clock.now()
            await store.feeds.want({parse_feed_url(url).guid: url for url in urls}, now)
            until = shift(now, DAY_US)
            leased = await store.feeds.lease(now, until, len(urls))
            known = leased[::_KNOWN_IN]
            told = FeedContent(title="A show that is known")
            await asyncio.gather(
                *(
                    store.feeds.save(
                        replace(feed, content=told, is_own=True, looked=now, etag=ETAG), until
                    )
                    for feed in known
                )
            )
            await store.feeds.release([feed.guid for feed in leased], until)
        finally:
            await store.close()


def measure(
    new_database: Callable[[], str], folder: Path, rounds: int, seconds: float
) -> tuple[list[Beside], list[Rate]]:
    """Measure requests alternately with and without fetches, on SQLite; then fetches alone."""
    with web() as podcasts:
        population = _Podcasts(100, 100)
        _Podcasts.port = urlsplit(podcasts.url).port or 0
        sample = population.write_sample(folder / "podcasts.sample")

        def filled() -> str:
            database = new_database()
            asyncio.run(population.fill(database))
            return database

        with ExitStack() as stack:
            without = stack.enter_context(feedkeep("without", filled()))
            looking = stack.enter_context(fetching("looking", filled(), population.port))
            _wait_for_looks(podcasts)
            beside = [
                _beside(case, without, looking, podcasts, sample, rounds, seconds / _SHORTER_BY)
                for case in BESIDE_LOOKS
            ]
        rates = [
            _rate(name, fetching(name, filled(), population.port, is_paced=is_paced), podcasts)
            for name, is_paced in (("as it is", True), ("without a pace", False))
        ]
    return beside, rates


def table(beside: Sequence[Beside], rates: Sequence[Rate]) -> str:
    """Return the results as tables."""
    lines = [
        "| case | goal | ratio | of all rounds | requests/s | without, requests/s"
        " | processor time, ratio | looks/s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *(
            f"| {one.name} | {GOAL:.2f} | **{median(one.ratios):.2f}**"
            f" | {min(one.ratios):.2f} to {max(one.ratios):.2f} | {one.per_second:,.0f}"
            f" | {one.without_per_second:,.0f} | {one.processor_ratio:.2f}"
            f" | {one.looks_per_second:.1f} |"
            for one in beside
        ),
        "",
        "| pace | looks/s | feeds a day | processor for 1,000 looks: serving, s | looking, s |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {one.name} | {one.per_second:.1f} | {one.per_second * DAY_SECONDS:,.0f}"
            f" | {one.serving_seconds:.1f} | {one.looking_seconds:.1f} |"
            for one in rates
        ),
    ]
    return "\n".join(lines) + "\n"


def _beside(
    case: Case,
    without: Subject,
    looking: Subject,
    podcasts: Subject,
    sample: Path,
    rounds: int,
    seconds: float,
) -> Beside:
    feeds_at = f"http://127.80.0.%d:{urlsplit(podcasts.url).port}"

    def run(subject: Subject, so_long: float) -> tuple[Run, float]:
        before = subject.cpu_seconds()
        done = load(subject.url, case.load, sample, case.connections, so_long, feeds_at=feeds_at)
        return done, (subject.cpu_seconds() - before) / done.requests

    with looking.paused():
        run(without, WARM_UP_SECONDS)
    run(looking, WARM_UP_SECONDS)
    bases, runs, looks = [], [], []
    for number in range(rounds):
        for is_looking in (number % 2 == 0, number % 2 == 1):  # A B B A
            if is_looking:
                before = _looks(podcasts)
                runs.append(run(looking, seconds))
                looks.append((_looks(podcasts) - before) / seconds)
            else:
                with looking.paused():
                    bases.append(run(without, seconds))
    return Beside(
        case.name,
        [one.per_second / base.per_second for (one, _), (base, _) in zip(runs, bases, strict=True)],
        median(one.per_second for one, _ in runs),
        median(base.per_second for base, _ in bases),
        median(used for _, used in runs) / median(used for _, used in bases),
        median(looks),
    )


def _rate(name: str, subject: Subject, podcasts: Subject) -> Rate:
    with subject:
        _wait_for_looks(podcasts)
        looks, begun = _looks(podcasts), time.monotonic()
        serving, looking = subject.cpu_seconds(), subject.cpu_seconds_of_children()
        time.sleep(_LOOKING_SECONDS)
        looks, seconds = _looks(podcasts) - looks, time.monotonic() - begun
        return Rate(
            name,
            looks / seconds,
            (subject.cpu_seconds() - serving) / looks * 1_000,
            (subject.cpu_seconds_of_children() - looking) / looks * 1_000,
        )


def _wait_for_looks(podcasts: Subject) -> None:
    """Wait until the fetching process runs, and the start is complete."""
    enough = _looks(podcasts) + 20
    while _looks(podcasts) < enough:
        time.sleep(0.1)


def _looks(podcasts: Subject) -> int:
    return int(httpx.get(f"{podcasts.url}/count").text)
