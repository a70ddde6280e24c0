"""The cluster that a drill is about; `make prove-cluster` says which one."""

import os
from itertools import count

import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL
from machines import Cluster, made, programs_with_citus
from postgres_server import distributed_database, drop_database

# Only `make prove-cluster` collects these.
collect_ignore_glob = [] if "CLUSTER_DRILL" in os.environ else ["test_*.py"]
_numbers = count(1)


@pytest.fixture(scope="session")
def cluster():
    if coordinator := os.environ.get("CLUSTER_COORDINATOR"):
        yield Cluster(coordinator, os.environ.get("CLUSTER_WORKERS", "").split())
        return
    with made(programs_with_citus(os.environ.get("CLUSTER_PREFIX", ""))) as cluster:
        yield cluster


@pytest.fixture
def own_cluster(cluster):
    """A cluster whose machines the drill may kill."""
    if not cluster.servers:
        pytest.skip("not run: this cluster is not the drill's own")
    return cluster


@pytest.fixture
def amount():
    """Chooses a number for the short form or the full one."""
    return lambda short, full: full if IS_FULL else short


@pytest.fixture
def start(cluster, tmp_path, monkeypatch):
    """Starts a service of two processes on a database of its own, split over the cluster."""
    for name, value in cluster.environment().items():
        monkeypatch.setenv(name, value)
    started = []

    def start_one(database="", **settings):
        folder = tmp_path / str(len(started))
        folder.mkdir()
        name = f"drill_{os.getpid()}_{next(_numbers)}"
        url = database or distributed_database(cluster.coordinator, cluster.workers, name)
        process = FeedkeepProcess(folder, url, **{"workers": "2", "log_level": "error", **settings})
        process.start()
        process.wait_for_workers(2)
        started.append(process)
        return process

    yield start_one
    for process in started:
        if process.process.poll() is None:
            process.stop()
        if "drill_" in process.database:
            drop_database(cluster.coordinator, process.database)


@pytest.fixture
def figures(capsys):
    """Prints the figures of a drill, in one line."""

    def tell(line):
        with capsys.disabled():
            print(f"\n{line}", flush=True)

    return tell
