"""How long a proof runs: a short form in `make test`, the full one in `make prove`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL
from postgres_server import drop_database, new_database

Start = Callable[..., FeedkeepProcess]


@pytest.fixture
def amount() -> Callable[[int, int], int]:
    """Chooses how many: in the short form, or in the full one."""
    return lambda short, full: full if IS_FULL else short


@pytest.fixture(params=["sqlite", "postgres, 2 workers"])
def store_kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def start(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Start]:
    """Starts services of this test's own: on a kind of store, and perhaps broken on purpose.

    What is to be broken is named by programs of `broken`, which every process runs first.
    """
    started: list[FeedkeepProcess] = []
    databases: list[str] = []

    def start_one(store_kind: str, *broken: str) -> FeedkeepProcess:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        database, workers = "", "1"
        if store_kind != "sqlite":
            database, workers = new_database(request.getfixturevalue("postgres")), "2"
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
