"""Fixtures of the proofs: a short form in `make test`, a longer one in CI, the full one by hand."""

import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, IS_LONG, first_of
from postgres_server import drop_database, new_database
from stores import database
from web_of_hosts import web

__all__ = ["database", "web"]


@pytest.fixture
def amount():
    """Chooses a number for the short form, the full one, or CI if that is different."""

    def amount(short, full, in_ci=None):
        if IS_FULL:
            return full
        return in_ci if IS_LONG and in_ci is not None else short

    return amount


@pytest.fixture(params=first_of("sqlite", "postgres, 2 workers"))
def store_kind(request):
    return request.param


@pytest.fixture(params=first_of("sqlite", "sqlite, 2 workers", "postgres, 2 workers"))
def each_kind(request):
    """Kinds of stores for proofs about several processes on one file."""
    return request.param


@pytest.fixture
def prepare(tmp_path, request):
    """Returns services to be started, perhaps broken by programs which every process runs first."""
    prepared, databases = [], []

    def prepare_one(kind="sqlite", *broken, database="", serves=FeedkeepProcess, **settings):
        folder = tmp_path / str(len(prepared))
        folder.mkdir()
        if kind.startswith("postgres") and not database:
            database = new_database(request.getfixturevalue("postgres"))
            databases.append(database)
        settings.setdefault("workers", "2" if kind.endswith(", 2 workers") else "1")
        process = serves(folder, database, **{"log_level": "warning", **settings})
        if broken:
            process.run_first(*broken)
        prepared.append(process)
        return process

    yield prepare_one
    for process in prepared:
        if hasattr(process, "process") and process.process.poll() is None:
            process.stop()
    for url in databases:
        drop_database(request.getfixturevalue("postgres"), url)


@pytest.fixture
def start(prepare):
    """Starts the processes that `prepare` returns."""

    def start_one(kind="sqlite", *broken, **settings):
        process = prepare(kind, *broken, **settings)
        process.start()
        if (workers := process.environment["FEEDKEEP_WORKERS"]) != "1":
            process.wait_for_workers(int(workers))
        return process

    return start_one
