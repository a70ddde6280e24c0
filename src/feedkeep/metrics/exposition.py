"""The page that Prometheus scrapes, and metrics that are read at each scrape."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import accumulate

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Metric,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.registry import Collector
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from feedkeep import __version__
from feedkeep.metrics.counting import Counted, Counting, Readiness
from feedkeep.model import FeedHealth, Purpose, Stamp
from feedkeep.runtime.recorder import REQUEST_SECONDS, Recorder, Requests
from feedkeep.runtime.shared import Shared
from feedkeep.store.base import Files, Pool, Store

_COUNTED = "A minute old or more."

_BOUNDS = (*map(str, map(float, REQUEST_SECONDS)), "+Inf")
_SESSIONS = (Purpose.APPS, Purpose.PAGES)


def register(
    recorder: Recorder, store: Store, readiness: Readiness, counting: Counting | None
) -> None:
    """Add requests and the state of store and system to a recorder's registry.

    `counting` counts stored data; None in processes that leave it to another one.
    """
    recorder.registry.register(_Present(recorder, store, readiness, counting))
    ProcessCollector(registry=recorder.registry)


class _Present(Collector):
    """Collector that reads all values at one moment, in any thread."""

    def __init__(
        self, recorder: Recorder, store: Store, readiness: Readiness, counting: Counting | None
    ) -> None:
        self._recorder = recorder
        self._store = store
        self._readiness = readiness
        self._counting = counting

    def collect(self) -> Iterator[Metric]:
        state = self._store.state()
        yield InfoMetricFamily(
            "feedkeep_build",
            "Versions of feedkeep and Python, and the kind of database.",
            {
                "version": __version__,
                "python": platform.python_version(),
                "database": state.kind,
            },
        )
        yield GaugeMetricFamily(
            "feedkeep_ready",
            "1 if the process can read and write its database, otherwise 0.",
            self._readiness.is_ready,
        )
        yield from _requests(dict(self._recorder.requests))
        if state.pool:
            yield from _pool(state.pool)
        if state.files:
            yield from _files(state.files, state.last_backup)
        if self._counting and self._counting.last:
            yield from _counted(self._counting.last)


def _requests(by_labels: Mapping[tuple[str, str, int], Requests]) -> Iterator[Metric]:
    answered = CounterMetricFamily(
        "feedkeep_http_requests",
        "Requests answered.",
        labels=("route", "method", "status"),
    )
    took = HistogramMetricFamily(
        "feedkeep_http_request_duration_seconds",
        "Time from a request's header section until its response began.",
        labels=("route", "method"),
    )
    of_route: dict[tuple[str, str], list[Requests]] = {}
    for (route, method, status), seen in by_labels.items():
        answered.add_metric((route, method, str(status)), sum(seen.counts))
        of_route.setdefault((route, method), []).append(seen)
    for labels, of_each_status in of_route.items():
        counts = map(sum, zip(*(seen.counts for seen in of_each_status), strict=True))
        buckets = list(zip(_BOUNDS, accumulate(counts), strict=True))
        took.add_metric(labels, buckets, sum(seen.seconds for seen in of_each_status))
    yield answered
    yield took


def _pool(pool: Pool) -> Iterator[Metric]:
    connections = GaugeMetricFamily(
        "feedkeep_postgres_connections",
        "Open connections of this process to PostgreSQL.",
        labels=("state",),
    )
    connections.add_metric(("busy",), pool.busy)
    connections.add_metric(("idle",), pool.idle)
    yield connections
    yield GaugeMetricFamily(
        "feedkeep_postgres_max_connections",
        "Most connections that this process may open to PostgreSQL.",
        pool.max_connections,
    )


def _files(files: Files, last_backup: Stamp | None) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "feedkeep_sqlite_file_bytes", "Size of the SQLite file.", files.data_bytes
    )
    yield GaugeMetricFamily(
        "feedkeep_sqlite_wal_bytes", "Size of the write-ahead log.", files.log_bytes
    )
    yield GaugeMetricFamily(
        "feedkeep_sqlite_free_bytes", "Free space on its disk.", files.free_bytes
    )
    yield GaugeMetricFamily(
        "feedkeep_last_backup_timestamp_seconds",
        "Time of the last `feedkeep backup`, in seconds since 1970; 0 if there was none.",
        (last_backup or 0) / 1e6,
    )


def _counted(counted: Counted) -> Iterator[Metric]:
    yield GaugeMetricFamily("feedkeep_accounts", f"Accounts. {_COUNTED}", counted.accounts)
    sessions = GaugeMetricFamily(
        "feedkeep_sessions",
        f"Active sessions of apps and of browsers. {_COUNTED}",
        labels=("purpose",),
    )
    for purpose in _SESSIONS:
        sessions.add_metric((purpose.value,), counted.sessions[purpose])
    yield sessions
    yield GaugeMetricFamily(
        "feedkeep_history_states",
        f"Previous states in the history of all lists, each once for each KiB. {_COUNTED}",
        counted.former_states,
    )
    feeds = GaugeMetricFamily(
        "feedkeep_feeds",
        f"Feeds not fetched yet, readable, and failing. {_COUNTED}",
        labels=("health",),
    )
    for health in FeedHealth:
        feeds.add_metric((health.value,), counted.feeds[health])
    yield feeds


PATH = "/metrics"

_SHARED_SECONDS = 1.0
_READING = {"GET", "HEAD"}


class MetricsPage:
    """ASGI application with one page.

    Rendering takes milliseconds, so a thread renders the page at most once a second, and all
    requests of that second share it.

    Args:
        prepare: Awaited before each rendering.
    """

    def __init__(self, registry: CollectorRegistry, prepare: Callable[[], Awaitable[None]]) -> None:
        self._registry = registry
        self._prepare = prepare
        self._text = Shared(self._written, _SHARED_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._response(scope))(scope, receive, send)

    async def _response(self, scope: Scope) -> Response:
        if scope["path"] != PATH:
            return PlainTextResponse(f"There is {PATH} only.\n", 404)
        if scope["method"] not in _READING:
            return PlainTextResponse("It can only be read.\n", 405, {"Allow": "GET, HEAD"})
        return Response(await self._text.get(), media_type=CONTENT_TYPE_LATEST)

    async def _written(self) -> bytes:
        await self._prepare()
        return await asyncio.to_thread(generate_latest, self._registry)
