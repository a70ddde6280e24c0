"""How long a proof runs: a short form in `make test`, a longer one in CI, the full one by hand."""

from collections.abc import Callable

import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, IS_LONG, first_of
from postgres_server import drop_database, new_database

Start = Callable[..., FeedkeepProcess]


@pytest.fixture
def amount():
    """Chooses how many: in the short form, in the full one, and in CI if that is different."""

    def amount(short, full, in_ci=None):
        if IS_FULL:
            return full
        return in_ci if IS_LONG and in_ci is not None else short

    return amount


@pytest.fixture(params=first_of("sqlite", "postgres, 2 workers"))
def store_kind(request):
    kind: str = request.param
    return kind


@pytest.fixture(params=first_of("sqlite", "sqlite, 2 workers", "postgres, 2 workers"))
def each_kind(request):
    """For what several processes on one file could break."""
    kind: str = request.param
    return kind


@pytest.fixture
def start(tmp_path, request):
    """Starts services of this test's own: on a kind of store, and perhaps broken on purpose.

    What is to be broken is named by programs of `broken`, which every process runs first.
    """
    started: list[FeedkeepProcess] = []
    databases: list[str] = []

    def start_one(store_kind, *broken):
        folder = tmp_path / str(len(started))
        folder.mkdir()
        database, workers = "", "2" if store_kind.endswith(", 2 workers") else "1"
        if store_kind.startswith("postgres"):
            database = new_database(request.getfixturevalue("postgres"))
            databases.append(database)
        process = FeedkeepProcess(folder, database, workers=workers, log_level="warning")
        if broken:
            process.run_first(*broken)
        process.start()
        started.append(process)
        if workers != "1":
            process.wait_for_workers(int(workers))
        return process

    yield start_one
    for process in started:
        if process.process.poll() is None:
            process.stop()
    for database in databases:
        drop_database(request.getfixturevalue("postgres"), database)
