"""Requests per second of each case, alternating with the floor; and delays at half the rate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec

from bench.cases import Case
from bench.subjects import Subject
from bench.wrk import Run, load

WARM_UP_SECONDS = 1.0


class Result(msgspec.Struct, frozen=True):
    """Result of a case.

    Attributes:
        ratios: For each round, the number of feeds or requests for one request of the floor.
        floor_per_second: Median of requests per second of the floor.
        per_second: Median of requests per second.
        p50_us: Median delay under this load, in microseconds.
        p99_us: 99th percentile of the delay, in microseconds.
        processor_us: The service's processor time per request, in microseconds.
    """

    store: str
    name: str
    ratios: list[float]
    floor_per_second: float
    per_second: float
    p50_us: float
    p99_us: float
    processor_us: float

    @property
    def ratio(self) -> float:
        """Median of the ratios."""
        return median(self.ratios)


class Calm(msgspec.Struct, frozen=True):
    """Delays of a case at about half of the maximum throughput."""

    store: str
    name: str
    per_second: float
    p50_us: float
    p99_us: float


def measure(
    subject: Subject, floor: Subject, case: Case, sample: Path, rounds: int, seconds: float
) -> Result:
    """Measure a case, alternating with the floor: A B A B."""
    load(subject.url, case.load, sample, case.connections, WARM_UP_SECONDS)
    floors: list[Run] = []
    runs: list[Run] = []
    used_seconds = 0.0
    for _ in range(rounds):
        floors.append(load(floor.url, "one", sample, case.connections, seconds))
        before = subject.cpu_seconds()
        runs.append(load(subject.url, case.load, sample, case.connections, seconds))
        used_seconds += subject.cpu_seconds() - before
    return Result(
        subject.name,
        case.name,
        [
            run.per_second * case.feeds / base.per_second
            for run, base in zip(runs, floors, strict=True)
        ],
        median(run.per_second for run in floors),
        median(run.per_second for run in runs),
        median(run.p50_us for run in runs),
        median(run.p99_us for run in runs),
        used_seconds / sum(run.requests for run in runs) * 1e6,
    )


def measure_calm(subject: Subject, case: Case, full: Result, sample: Path, seconds: float) -> Calm:
    """Measure the delays of a case at about half of its maximum throughput."""
    pause_ms = round(case.connections / (full.per_second / 2) * 1e3)
    run = load(subject.url, case.load, sample, case.connections, seconds, pause_ms)
    return Calm(subject.name, case.name, run.per_second, run.p50_us, run.p99_us)


def compare(
    one: Subject,
    other: Subject,
    case: Case,
    samples: tuple[Path, Path],
    rounds: int,
    seconds: float,
) -> Iterator[tuple[Run, Run]]:
    """Yield pairs of runs of a case on two subjects in turn, each with its own sample."""
    pair = tuple(zip((one, other), samples, strict=True))
    for subject, sample in pair:
        load(subject.url, case.load, sample, case.connections, WARM_UP_SECONDS)
    for _ in range(rounds):
        first, second = (
            load(subject.url, case.load, sample, case.connections, seconds)
            for subject, sample in pair
        )
        yield first, second
