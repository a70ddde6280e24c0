"""What metrics cost: the processor time of a GET with them, divided by that without, in turn."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import httpx
import msgspec

from bench.cases import GET, POST, Case
from bench.data import Population
from bench.subjects import Subject, feedkeep
from bench.throughput import WARM_UP_SECONDS
from bench.wrk import load

GOAL = 1.02
_ROUNDS_MORE = 8
_PAGES, _SHARED_SECONDS = 9, 1.1
_SHORTER_BY = 4
"""More and shorter rounds than elsewhere: two per cent are less than what other work changes."""


class Cost(msgspec.Struct, frozen=True):
    """What metrics cost in one case.

    Attributes:
        name: The case.
        ratios: For each round, the processor time of a request with metrics for one without.
        same: The same of two services without metrics: how far it can be told apart at all.
        without_us: The processor time of a request without metrics, in microseconds.
    """

    name: str
    ratios: list[float]
    same: list[float]
    without_us: float


def measure(
    new_database: Callable[[], str], folder: Path, rounds: int, seconds: float
) -> tuple[list[Cost], float]:
    """Measure services on databases with the same content.

    Returns the costs, and the processor time of writing the page, in milliseconds.
    """
    population = Population(1_000, 100)
    sample = population.write_sample(folder / "sample")
    with ExitStack() as stack:

        def started(name: str, port: str | None) -> Subject:
            database = new_database()
            asyncio.run(population.fill(database))
            subject = feedkeep(name, database, metrics_port=port)
            return stack.enter_context(subject)

        without, again, told = started("off", None), started("off", None), started("on", "0")
        subjects = without, again, told
        costs = [_cost(case, subjects, sample, rounds, seconds) for case in (GET, POST)]
        return costs, _page_ms(told)


def _cost(
    case: Case,
    subjects: tuple[Subject, Subject, Subject],
    sample: Path,
    rounds: int,
    seconds: float,
) -> Cost:
    without, again, told = subjects
    for subject in subjects:
        load(subject.url, case.load, sample, case.connections, WARM_UP_SECONDS)
    ratios, same, without_us = [], [], []
    for _ in range(rounds * _ROUNDS_MORE):
        used = {}
        for subject in random.sample(subjects, len(subjects)):
            before = subject.cpu_seconds_of_threads()
            run = load(subject.url, case.load, sample, case.connections, seconds / _SHORTER_BY)
            used[subject] = (subject.cpu_seconds_of_threads() - before) / run.requests * 1e6
        ratios.append(used[told] / used[without])
        same.append(used[again] / used[without])
        without_us.append(used[without])
    return Cost(case.name, ratios, same, median(without_us))


def _page_ms(told: Subject) -> float:
    """Return the processor time of a page; those of one second would be one page."""
    url, used = _metrics_url(told), []
    for _ in range(_PAGES):
        time.sleep(_SHARED_SECONDS)
        before = told.cpu_seconds_of_threads()
        httpx.get(url).raise_for_status()
        used.append((told.cpu_seconds_of_threads() - before) * 1e3)
    return median(used)


def _metrics_url(subject: Subject) -> str:
    found = re.search(r"http://\S+/metrics", subject.told)
    assert found is not None
    return found[0]


def table(costs: list[Cost], page_ms: float) -> str:
    """Return the results as a table."""
    lines = [
        "| case | ratio | quartiles | two without metrics | processor time without, µs |",
        "| --- | --- | --- | --- | --- |",
    ]
    for cost in costs:
        ordered = sorted(cost.ratios)
        lower, upper = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
        lines.append(
            f"| {cost.name} | **{median(cost.ratios):.3f}** | {lower:.3f} to {upper:.3f}"
            f" | {median(cost.same):.3f} | {cost.without_us:.0f} |"
        )
    return "\n".join([*lines, "", f"A page takes {page_ms:.1f} ms of processor time.", ""])
