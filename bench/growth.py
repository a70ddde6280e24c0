"""Cost of requests as the database grows, and the size of the database and the service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import msgspec

from bench.cases import GET, POST, Case
from bench.data import Population
from bench.subjects import Subject, feedkeep
from bench.throughput import compare

SMALL = Population(100, 100)
GROWN = {
    "1,000,000 entries": Population(10_000, 100),
    "10,000,000 entries": Population(100_000, 100),
    "100,000 in one account": Population(1, 100_000),
}
CASES = (GET, Case("list of 50 after since", "since", 32, 0), POST)


class Grown(msgspec.Struct, frozen=True):
    """A database of one size, compared with one of 10,000 entries.

    Attributes:
        size: Description of its content.
        costs: For each case, the time per request divided by that on 10,000 entries.
        entry_bytes: Size of an entry with its share of indexes.
        memory_mib: Memory of the service after the load.
        start_seconds: Time from the start of the process to its first response.
    """

    store: str
    size: str
    costs: dict[str, float]
    entry_bytes: float
    memory_mib: float
    start_seconds: float


def measure(
    store: str,
    new_database: Callable[[], str],
    used_bytes: Callable[[str], int],
    folder: Path,
    rounds: int,
    seconds: float,
) -> Iterator[Grown]:
    """Measure one kind of database in all sizes, each alternately with its own small database."""
    for size, population in GROWN.items():
        small_database, small_sample = _filled(SMALL, new_database(), folder)
        database, sample = _filled(population, new_database(), folder)
        entry_bytes = used_bytes(database) / population.entries
        with ExitStack() as stack:
            small = stack.enter_context(feedkeep(store, small_database))
            grown = feedkeep(store, database)
            start_seconds = grown.start()
            stack.callback(grown.stop)
            costs = {
                case.name: _cost(small, grown, case, (small_sample, sample), rounds, seconds)
                for case in CASES
            }
            memory_mib = grown.memory_mib()
        yield Grown(store, size, costs, entry_bytes, memory_mib, start_seconds)


def _filled(population: Population, database: str, folder: Path) -> tuple[str, Path]:
    asyncio.run(population.fill(database))
    name = f"{population.accounts}-{population.entries_each}.sample"
    return database, population.write_sample(folder / name)


def _cost(
    small: Subject,
    grown: Subject,
    case: Case,
    samples: tuple[Path, Path],
    rounds: int,
    seconds: float,
) -> float:
    runs = compare(small, grown, case, samples, rounds, seconds)
    return median(base.per_second / run.per_second for base, run in runs)
