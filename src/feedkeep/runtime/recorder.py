"""Counting what a process does, for its metrics: with prometheus-client, but for requests.

No label holds what a client has sent: routes are templates, methods and results are known ones. So
no account, URL or address is in it, and strangers cannot make series. A process without metrics has
no recorder, and counts nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from feedkeep.model import Failure

if TYPE_CHECKING:
    from prometheus_client import Histogram

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
_RESULTS = ("read", "unchanged", *(failure.value for failure in Failure))


class Requests:
    """The requests of a route, method and status, as plain numbers, which cost a request least.

    Attributes:
        counts: How many took how long: as REQUEST_SECONDS has them, and those that took longer.
        seconds: The sum of what they took.
    """

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(REQUEST_SECONDS) + 1)
        self.seconds = 0.0


class Batches(NamedTuple):
    """The batches of one kind.

    Attributes:
        jobs: How many jobs they had.
        waits: For how many seconds the job of each that waited longest had waited when it began.
    """

    jobs: Histogram
    waits: Histogram


class Recorder:
    """All that a process counts.

    Attributes:
        registry: What Prometheus scrapes of this process: all of these but the requests.
        requests: The requests, by route, method and status; changed in the event loop alone.
        reads: The batches of reads.
        writes: The batches of writes.
        commits: The seconds that commits took which are durable.
        failed_commits: Transactions that failed for good, before their commit or in it.
        wrong_passwords: The wrong passwords.
    """

    def __init__(self) -> None:
        # Imported late: a process without metrics starts sooner.
        from prometheus_client import (  # noqa: PLC0415
            CollectorRegistry,
            Counter,
            Histogram,
            disable_created_metrics,
        )

        # Otherwise each series has another one beside it, with the time at which it began.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = made = CollectorRegistry()
        self.requests: dict[tuple[str, str, int], Requests] = {}
        self._seen: dict[tuple[str | None, str, int], Requests] = {}
        jobs = Histogram(
            "feedkeep_store_batch_jobs",
            "Jobs that shared a transaction or query.",
            ("kind",),
            registry=made,
            buckets=BATCH_JOBS,
        )
        waits = Histogram(
            "feedkeep_store_batch_wait_seconds",
            "Longest wait of a batch's jobs until the batch began.",
            ("kind",),
            registry=made,
            buckets=WAIT_SECONDS,
        )
        self.reads = Batches(jobs.labels("read"), waits.labels("read"))
        self.writes = Batches(jobs.labels("write"), waits.labels("write"))
        self.commits = Histogram(
            "feedkeep_store_commit_duration_seconds",
            "Time until a commit was durable.",
            registry=made,
            buckets=COMMIT_SECONDS,
        )
        self.failed_commits = Counter(
            "feedkeep_store_failed_commits",
            "Transactions that failed; their requests got an error.",
            registry=made,
        )
        self._fetches = Counter(
            "feedkeep_fetches", "Fetches of feeds, by result.", ("result",), registry=made
        )
        for result in _RESULTS:  # exposed as 0 from the start
            self._fetches.labels(result)
        self._fetch_seconds = Histogram(
            "feedkeep_fetch_duration_seconds",
            "Time that a fetch took.",
            registry=made,
            buckets=FETCH_SECONDS,
        )
        self.wrong_passwords = Counter(
            "feedkeep_wrong_passwords",
            "Failed logins with a password, whether or not the account exists.",
            registry=made,
        )

    def request(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """Count a request; `route` is the route's path with its names, None if there is none."""
        try:
            seen = self._seen[route, method, status]
        except KeyError:
            seen = self._first(route, method, status)
        seen.counts[bisect_left(REQUEST_SECONDS, seconds)] += 1
        seen.seconds += seconds

    def _first(self, route: str | None, method: str, status: int) -> Requests:
        """Return where to count a request that is seen for the first time."""
        known = method if method in _METHODS else OTHER_METHOD
        seen = self.requests.setdefault((route or NO_ROUTE, known, status), Requests())
        if known == method:  # strangers may invent any number of methods
            self._seen[route, method, status] = seen
        return seen

    def fetch(self, result: str, seconds: float) -> None:
        """Count a fetch."""
        self._fetches.labels(result).inc()
        self._fetch_seconds.observe(seconds)
