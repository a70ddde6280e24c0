"""Cost of the history: changes with and without it, and undoing a mass unsubscribe."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import httpx
import msgspec

from bench.cases import PATCH, POST, Case
from bench.data import Population
from bench.subjects import Subject, feedkeep
from bench.throughput import WARM_UP_SECONDS
from bench.wrk import load
from feedkeep.model.stamps import write_stamp
from feedkeep.runtime import wall_clock

CASES = (PATCH, POST)
GOALS = {PATCH.name: 1.15, POST.name: 1.03}
_SHORTER_BY, _ROUNDS_MORE = 2, 3
"""More and shorter rounds than elsewhere, since other load changes results by a few per cent."""

_POPULATION = Population(1_000, 100)
_WIPED = Population(1, 1_000)


class Cost(msgspec.Struct, frozen=True):
    """Ratios of a case with the history to the case without, one for each round.

    Attributes:
        times: Ratios of the time per request.
        processor: Ratios of the service's processor time per request.
    """

    name: str
    times: list[float]
    processor: list[float]


class Wiped(msgspec.Struct, frozen=True):
    """Response times, in ms, when an app unsubscribes a whole list and its owner restores it."""

    wipe: float
    newest_page: float
    preview: float
    undo: float


def measure(
    new_database: Callable[[], str], folder: Path, rounds: int, seconds: float
) -> tuple[list[Cost], Wiped]:
    """Measure alternately with and without the history; then a mass unsubscribe."""
    sample = _POPULATION.write_sample(folder / "sample")
    with ExitStack() as stack:

        def started(days: str) -> Subject:
            database = new_database()
            asyncio.run(_POPULATION.fill(database))
            return stack.enter_context(feedkeep(days, database, FEEDKEEP_HISTORY_DAYS=days))

        without, kept = started("0"), started("90")
        costs = [_cost(case, without, kept, sample, rounds, seconds) for case in CASES]
    database = new_database()
    asyncio.run(_WIPED.fill(database))
    with feedkeep("wiped", database) as subject:
        return costs, _wiped(subject, rounds * _ROUNDS_MORE)


def _cost(
    case: Case, without: Subject, kept: Subject, sample: Path, rounds: int, seconds: float
) -> Cost:
    for subject in (without, kept):
        load(subject.url, case.load, sample, case.connections, WARM_UP_SECONDS)
    cost = Cost(case.name, [], [])
    for _ in range(rounds * _ROUNDS_MORE):
        times, used = {}, {}
        for subject in random.sample((without, kept), 2):
            before = subject.cpu_seconds_of_threads()
            run = load(
                subject.url, case.load, sample, case.connections, max(1, seconds // _SHORTER_BY)
            )
            used[subject] = (subject.cpu_seconds_of_threads() - before) / run.requests
            times[subject] = 1 / run.per_second
        cost.times.append(times[kept] / times[without])
        cost.processor.append(used[kept] / used[without])
    return cost


def _wiped(subject: Subject, rounds: int) -> Wiped:
    """Repeatedly unsubscribe a whole list as an app does, show the changes, and undo them."""
    token = _WIPED.keys()[0][1]
    urls = [_WIPED.feed_url(0, number) for number in range(_WIPED.entries_each)]
    taken: dict[str, list[float]] = {"wipe": [], "page": [], "preview": [], "undo": []}
    with httpx.Client(base_url=subject.url, headers={"Authorization": f"Bearer {token}"}) as client:

        def timed(what: str, request: httpx.Request) -> httpx.Response:
            began = time.perf_counter()
            reply = client.send(request)
            taken[what].append((time.perf_counter() - began) * 1e3)
            return reply.raise_for_status()

        upload, ask = "/api/2/subscriptions/u0/phone.json", client.build_request
        for _ in range(rounds):
            before = write_stamp(wall_clock.now())
            timed("wipe", ask("POST", upload, json={"remove": urls}))
            page = timed("page", ask("GET", "/history"))
            timed("preview", ask("GET", "/restore", params={"at": before}))
            newest = page.json()["changes"][0]
            assert newest["feeds_count"] == len(urls)
            timed("undo", ask("POST", f"/history/{newest['stamp']}/undo"))
    return Wiped(*(median(some) for some in taken.values()))


def table(costs: list[Cost], wiped: Wiped) -> str:
    """Return the results as a table and a sentence."""
    rows = [
        f"| {cost.name} | {GOALS[cost.name]:.2f} | {median(cost.times):.2f} |"
        f" {median(cost.processor):.2f} |"
        for cost in costs
    ]
    return "\n".join(
        [
            "| with a history, for one without | goal | time | processor |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            f"A list of {_WIPED.entries_each:,} feeds, over HTTP: an app's upload that removes all"
            f" {wiped.wipe:.0f} ms, the newest page of the history {wiped.newest_page:.0f} ms,"
            f" the preview of a restore {wiped.preview:.0f} ms, taking it back"
            f" {wiped.undo:.0f} ms.\n",
        ]
    )
