"""Services whose metrics are on: one on each store, for all tests."""

import pytest
from feedkeep_process import FeedkeepProcess
from postgres_server import drop_database, new_database
from told_metrics import Told


@pytest.fixture(scope="package")
def sqlite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sqlite")
    with FeedkeepProcess(folder, metrics_port="0", trusted_proxies="127.0.0.1") as process:
        yield Told(process)


@pytest.fixture(scope="package")
def two_workers(tmp_path_factory, postgres):
    """Two processes on PostgreSQL."""
    database, folder = new_database(postgres), tmp_path_factory.mktemp("postgres")
    with FeedkeepProcess(folder, database, workers="2", metrics_port="0") as process:
        process.wait_for_workers(2)
        yield Told(process)
    drop_database(postgres, database)


@pytest.fixture
def of_sqlite(sqlite):
    """Metrics of the service on SQLite after some traffic."""
    return sqlite.each[0]
