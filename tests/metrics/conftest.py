"""Services whose metrics are on, and what one of each kind tells, which is read and not changed."""

import pytest
from feedkeep_process import FeedkeepProcess
from postgres_server import drop_database, new_database
from told_metrics import metrics_urls, once_counted, some_traffic


@pytest.fixture
def told(tmp_path):
    """A service on SQLite with metrics, of the test's own."""
    with FeedkeepProcess(tmp_path, metrics_port="0", trusted_proxies="127.0.0.1") as process:
        yield process


@pytest.fixture
def told_by_two(tmp_path, postgres):
    """Two processes on PostgreSQL with metrics, of the test's own."""
    database = new_database(postgres)
    process = FeedkeepProcess(tmp_path, database, workers="2", metrics_port="0")
    with process:
        process.wait_for_workers(2)
        yield process
    drop_database(postgres, database)


@pytest.fixture(scope="package")
def of_sqlite(tmp_path_factory):
    """What a service on SQLite tells after some traffic, once it has counted what is stored."""
    folder = tmp_path_factory.mktemp("of_sqlite")
    with FeedkeepProcess(folder, metrics_port="0", trusted_proxies="127.0.0.1") as process:
        some_traffic(process)
        return once_counted(metrics_urls(process)[0])


@pytest.fixture(scope="package")
def of_postgres(tmp_path_factory, postgres):
    """The same of the first one of two processes on PostgreSQL."""
    database = new_database(postgres)
    folder = tmp_path_factory.mktemp("of_postgres")
    with FeedkeepProcess(folder, database, workers="2", metrics_port="0") as process:
        process.wait_for_workers(2)
        some_traffic(process)
        found = once_counted(metrics_urls(process)[0])
    yield found
    drop_database(postgres, database)
