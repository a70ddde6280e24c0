"""What a process has counted, in the words of Prometheus.

No label holds what a client has sent: routes are templates, methods and results are known ones. So
no account, URL or address is in it, and strangers cannot make series.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.registry import Collector

from feedkeep import __version__
from feedkeep.metrics.counting import Counted, Counting
from feedkeep.metrics.readiness import Readiness
from feedkeep.model import Failure, FeedHealth, Purpose, Stamp
from feedkeep.recorder import FETCH_SECONDS, REQUEST_SECONDS, Distribution, Recorder
from feedkeep.store.base import Files, Pool, Store

_COUNTED = "Counted row by row, in small steps, so it is a minute old or more."

_RESULTS = ("read", "unchanged", *(failure.value for failure in Failure))
_SESSIONS = (Purpose.APPS, Purpose.PAGES)


def registry(
    recorder: Recorder, store: Store, readiness: Readiness, counting: Counting | None
) -> CollectorRegistry:
    """Return a registry for what a process tells, with what the system says of the process.

    `counting` counts what is stored; None in a process that leaves that to another one.
    """
    made = CollectorRegistry()
    made.register(_Told(recorder, store, readiness, counting))
    ProcessCollector(registry=made)
    return made


class _Told(Collector):
    """All of feedkeep's own metrics; it may be asked in any thread."""

    def __init__(
        self, recorder: Recorder, store: Store, readiness: Readiness, counting: Counting | None
    ) -> None:
        self._recorder = recorder
        self._store = store
        self._readiness = readiness
        self._counting = counting

    def collect(self) -> Iterator[Metric]:
        """Yield each metric as it is now."""
        state = self._store.state()
        yield InfoMetricFamily(
            "feedkeep_build",
            "What runs: feedkeep's version, Python's, and the kind of database.",
            {
                "version": __version__,
                "python": platform.python_version(),
                "database": state.kind,
            },
        )
        yield GaugeMetricFamily(
            "feedkeep_ready",
            "1 if the process can read and write all that it has to, and 0 if not.",
            self._readiness.is_ready,
        )
        yield from self._requests()
        yield from self._batches()
        yield from self._commits()
        yield from self._fetches()
        yield CounterMetricFamily(
            "feedkeep_wrong_passwords",
            "Passwords that were wrong, whether or not their account exists.",
            self._recorder.wrong_passwords,
        )
        if state.pool:
            yield from _pool(state.pool)
        if state.files:
            yield from _files(state.files, state.last_backup)
        if self._counting and self._counting.last:
            yield from _counted(self._counting.last)

    def _requests(self) -> Iterator[Metric]:
        count = CounterMetricFamily(
            "feedkeep_http_requests",
            "Requests that were answered.",
            labels=("route", "method", "status"),
        )
        took = HistogramMetricFamily(
            "feedkeep_http_request_duration_seconds",
            "Time from a request's head until its reply began.",
            labels=("route", "method"),
        )
        of_route: dict[tuple[str, str], Distribution] = {}
        for (route, method, status), seen in list(self._recorder.requests.items()):
            count.add_metric((route, method, str(status)), seen.count)
            of_route.setdefault((route, method), Distribution(REQUEST_SECONDS)).merge(seen)
        for labels, seen in of_route.items():
            _add(took, labels, seen)
        yield count
        yield took

    def _batches(self) -> Iterator[Metric]:
        jobs = HistogramMetricFamily(
            "feedkeep_store_batch_jobs",
            "Jobs that shared a transaction or a query.",
            labels=("kind",),
        )
        waited = HistogramMetricFamily(
            "feedkeep_store_batch_wait_seconds",
            "Time that a batch's longest waiting job waited until the batch began.",
            labels=("kind",),
        )
        for kind, batches in (("read", self._recorder.reads), ("write", self._recorder.writes)):
            _add(jobs, (kind,), batches.jobs)
            _add(waited, (kind,), batches.waits)
        yield jobs
        yield waited

    def _commits(self) -> Iterator[Metric]:
        took = HistogramMetricFamily(
            "feedkeep_store_commit_duration_seconds", "Time until a commit was durable."
        )
        _add(took, (), self._recorder.commits.done)
        yield took
        yield CounterMetricFamily(
            "feedkeep_store_failed_commits",
            "Transactions that failed for good; their requests were refused.",
            self._recorder.commits.failed,
        )

    def _fetches(self) -> Iterator[Metric]:
        count = CounterMetricFamily(
            "feedkeep_fetches", "Looks at feeds, by what they came to.", labels=("result",)
        )
        took = HistogramMetricFamily(
            "feedkeep_fetch_duration_seconds", "Time that a look at a feed took."
        )
        of_all = Distribution(FETCH_SECONDS)
        fetches = dict(self._recorder.fetches)
        for result in _RESULTS:
            seen = fetches.get(result, _NONE)
            count.add_metric((result,), seen.count)
            of_all.merge(seen)
        _add(took, (), of_all)
        yield count
        yield took


_NONE = Distribution(FETCH_SECONDS)


def _pool(pool: Pool) -> Iterator[Metric]:
    connections = GaugeMetricFamily(
        "feedkeep_postgres_connections",
        "Connections to PostgreSQL of this process that are open.",
        labels=("state",),
    )
    connections.add_metric(("busy",), pool.busy)
    connections.add_metric(("idle",), pool.idle)
    yield connections
    yield GaugeMetricFamily(
        "feedkeep_postgres_max_connections",
        "Connections to PostgreSQL that this process may open.",
        pool.max_connections,
    )


def _files(files: Files, last_backup: Stamp | None) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "feedkeep_sqlite_file_bytes", "Size of the SQLite file.", files.data_bytes
    )
    yield GaugeMetricFamily(
        "feedkeep_sqlite_wal_bytes", "Size of its write-ahead log.", files.log_bytes
    )
    yield GaugeMetricFamily(
        "feedkeep_sqlite_free_bytes", "Room that is left on its disk.", files.free_bytes
    )
    yield GaugeMetricFamily(
        "feedkeep_last_backup_timestamp_seconds",
        "When `feedkeep backup` last copied the file, in seconds since 1970; 0 if it never did.",
        (last_backup or 0) / 1e6,
    )


def _counted(counted: Counted) -> Iterator[Metric]:
    yield GaugeMetricFamily("feedkeep_accounts", f"Accounts. {_COUNTED}", counted.accounts)
    sessions = GaugeMetricFamily(
        "feedkeep_sessions",
        f"Sessions of apps and of browsers that have not ended. {_COUNTED}",
        labels=("purpose",),
    )
    for purpose in _SESSIONS:
        sessions.add_metric((purpose.value,), counted.sessions[purpose])
    yield sessions
    yield GaugeMetricFamily(
        "feedkeep_history_states",
        f"Former states of all lists, which are their history. {_COUNTED}",
        counted.former_states,
    )
    feeds = GaugeMetricFamily(
        "feedkeep_feeds",
        f"Feeds that were not looked at yet, that can be read, and that fail. {_COUNTED}",
        labels=("health",),
    )
    for health in FeedHealth:
        feeds.add_metric((health.value,), counted.feeds[health])
    yield feeds


def _add(family: HistogramMetricFamily, labels: Sequence[str], seen: Distribution) -> None:
    bounds = (*map(str, map(float, seen.bounds)), "+Inf")
    buckets = list(zip(bounds, accumulate(seen.counts), strict=True))
    family.add_metric(labels, buckets, seen.total)
