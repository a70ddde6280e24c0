"""Counting what a process does, for its metrics: plain numbers, which cost a request a microsecond.

Everything is called in the event loop of the process, so nothing is locked. A process without
metrics has no recorder, and counts nothing.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
WAIT_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5)
COMMIT_SECONDS = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
FETCH_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
BATCH_JOBS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)

NO_ROUTE = "none"
"""What stands for the route of requests whose path has none: whatever strangers try is one."""

OTHER_METHOD = "other"
"""What stands for methods that no route has."""

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class Distribution:
    """How many values were in each range.

    Attributes:
        bounds: The greatest value of each range but the last one, which has none.
        counts: How many values were in each range.
        total: The sum of all values.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def merge(self, other: Distribution) -> None:
        """Count all values of another one that has the same ranges."""
        self.counts = [
            mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)
        ]
        self.total += other.total

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.counts)


class Batches:
    """The batches of one kind.

    Attributes:
        jobs: How many jobs they had.
        waits: For how many seconds the job of each that waited longest had waited when it began.
    """

    def __init__(self) -> None:
        self.jobs = Distribution(BATCH_JOBS)
        self.waits = Distribution(WAIT_SECONDS)

    def begin(self, jobs: int, waited_seconds: float) -> None:
        """Count a batch that begins."""
        self.jobs.add(jobs)
        self.waits.add(waited_seconds)


class Commits:
    """The commits of a store.

    Attributes:
        done: How many seconds those took that are durable.
        failed: How many transactions failed, before their commit or in it.
    """

    def __init__(self) -> None:
        self.done = Distribution(COMMIT_SECONDS)
        self.failed = 0

    def fail(self) -> None:
        """Count a transaction that failed for good: it is not tried again."""
        self.failed += 1

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the commit that is made within this context, if it is made."""
        began = time.perf_counter()
        yield
        self.done.add(time.perf_counter() - began)


class Recorder:
    """All that a process counts.

    Attributes:
        requests: The seconds until the reply began, by route, method and status.
        reads: The batches of reads.
        writes: The batches of writes.
        commits: The commits.
        fetches: How many seconds looks at feeds took, by their result.
        wrong_passwords: How many wrong passwords came.
    """

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, int], Distribution] = {}
        self._seen: dict[tuple[str | None, str, int], Distribution] = {}
        self.reads = Batches()
        self.writes = Batches()
        self.commits = Commits()
        self.fetches: dict[str, Distribution] = {}
        self.wrong_passwords = 0

    def request(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """Count a request; `route` is the route's path with its names, None if there is none."""
        try:
            seen = self._seen[route, method, status]
        except KeyError:
            seen = self._first(route, method, status)
        seen.counts[bisect_left(REQUEST_SECONDS, seconds)] += 1  # a call would cost as much again
        seen.total += seconds

    def _first(self, route: str | None, method: str, status: int) -> Distribution:
        """Return where to count a request that is seen for the first time."""
        known = method if method in _METHODS else OTHER_METHOD
        key = route or NO_ROUTE, known, status
        seen = self.requests.setdefault(key, Distribution(REQUEST_SECONDS))
        if known == method:  # strangers may invent any number of methods
            self._seen[route, method, status] = seen
        return seen

    def fetch(self, result: str, seconds: float) -> None:
        """Count a look at a feed."""
        self.fetches.setdefault(result, Distribution(FETCH_SECONDS)).add(seconds)
