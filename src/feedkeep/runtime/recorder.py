"""Count what a process does, for its metrics; all but requests with prometheus-client.

Labels hold nothing that clients send: routes are templates, methods and results are fixed sets. So
metrics contain no account, URL or address, and strangers cannot create series. A process without
metrics has no recorder.
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
"""Route label of all requests whose path has no route."""

OTHER_METHOD = "other"
"""Method label of all methods that no route has."""

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_RESULTS = ("read", "unchanged", *(failure.value for failure in Failure))


class Requests:
    """Requests of one route, method and status, as plain numbers for speed.

    Attributes:
        counts: Requests by duration: one for each bound in `REQUEST_SECONDS`, then all slower ones.
        seconds: Total duration.
    """

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(REQUEST_SECONDS) + 1)
        self.seconds = 0.0


class Batches(NamedTuple):
    """Batches of reads or of writes.

    Attributes:
        jobs: Jobs of each batch.
        waits: Longest wait, in seconds, of a job in each batch until the batch began.
    """

    jobs: Histogram
    waits: Histogram


class Recorder:
    """Counters of a process.

    Attributes:
        registry: Everything that Prometheus scrapes of this process, except requests.
        requests: Requests by route, method and status; changed in the event loop only.
        commits: Durations of durable commits, in seconds.
        failed_commits: Transactions that failed permanently, before or during their commit.
    """

    def __init__(self) -> None:
        # Imported late: a process without metrics starts sooner.
        from prometheus_client import (  # noqa: PLC0415
            CollectorRegistry,
            Counter,
            Histogram,
            disable_created_metrics,
        )

        # A `_created` series for each other series would double their number.
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
        """Count a request; `route` is the route's path template, None without one."""
        try:
            seen = self._seen[route, method, status]
        except KeyError:
            seen = self._first(route, method, status)
        seen.counts[bisect_left(REQUEST_SECONDS, seconds)] += 1
        seen.seconds += seconds

    def _first(self, route: str | None, method: str, status: int) -> Requests:
        known = method if method in _METHODS else OTHER_METHOD
        seen = self.requests.setdefault((route or NO_ROUTE, known, status), Requests())
        if known == method:  # strangers may invent any number of methods
            self._seen[route, method, status] = seen
        return seen

    def fetch(self, result: str, seconds: float) -> None:
        self._fetches.labels(result).inc()
        self._fetch_seconds.observe(seconds)
