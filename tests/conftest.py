"""Fixtures shared by all tests: a service in a process of its own, and its clients."""

import asyncio
import gc
import inspect
import os
import shutil
import signal
from collections.abc import Generator
from pathlib import Path

import httpx
import hypothesis
import pytest
from asgi_servers import SERVERS, ServedByAnother
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, IS_LONG
from postgres_server import PostgresServer, drop_database, new_database

from feedkeep.store.postgres import breaker, connections

# httpx reads a hundred certificates for each client, which takes longer than what most tests ask of
# it; none of them is needed here.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull

# Default timeout of httpx: five seconds are too short on a busy machine.
_waits_for: httpx.Timeout = inspect.signature(httpx.get).parameters["timeout"].default
_waits_for.connect = _waits_for.read = _waits_for.write = _waits_for.pool = 30.0

# If there is room in memory, only the full form waits for a disk: a fifth of the time.
_IN_MEMORY, _ROOM_BYTES = Path("/dev/shm"), 2 * 1024**3  # noqa: S108 - it makes a folder of its own
if not IS_FULL and _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free > _ROOM_BYTES:
    os.environ.setdefault("TMPDIR", str(_IN_MEMORY))

# Under nohup, it would be ignored by whatever the tests start, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A test says nothing about how soon a database answers on a machine that is busy with others.
connections.CONNECT_SECONDS = connections.STATEMENT_SECONDS = 30.0
breaker.SUSPECT_SECONDS = breaker.PROBE_SECONDS = 30.0

# No deadline: the duration of an example depends on how busy the machine is.
hypothesis.settings.register_profile(
    "untimed",
    deadline=None,
    max_examples=100 if IS_LONG else 30,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("untimed")


LONGEST = (
    "test_bounded_work.py", "test_guessing.py", "test_reference.py", "test_running.py",
    "test_running_on_postgres.py", "test_linearizable.py", "test_kills.py", "test_many_actions.py",
    "test_fuzz.py", "test_copying.py",
)  # fmt: skip
"""Test modules to run first, so that no long one runs alone at the end."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector from the thousands of tests, which all stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)  # after they were grouped by what they share
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put all that needs a browser first, for one worker, and what is long first for the others.

    What is for the longer forms is left out of the short one.

    Each worker begins with its part of the list, and takes from the ends of others once that is
    done. A browser costs a second to start, so one worker has it, and once only.
    """
    in_a_browser, longest, others = [], [], []
    for item in items:
        if item.get_closest_marker("long_form") and not IS_LONG:
            continue
        if "chromium" in getattr(item, "fixturenames", ()):
            in_a_browser.append(item)
        else:
            (longest if item.path.name in LONGEST else others).append(item)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    part = len([*in_a_browser, *longest, *others]) // workers - len(in_a_browser)
    if workers > 1 and part > 0:
        items[:] = [*in_a_browser, *others[:part], *longest, *others[part:]]
    else:
        items[:] = [*in_a_browser, *longest, *others]


class _Loop(asyncio.SelectorEventLoop):
    """Ignores failures that are never awaited: a query that is cancelled late may leave one."""

    def call_exception_handler(self, context):
        if "never retrieved" not in context["message"]:
            super().call_exception_handler(context)


@pytest.fixture(scope="session")
def anyio_backend():
    """The event loop of coroutine tests and asynchronous fixtures."""
    return "asyncio", {"loop_factory": _Loop}


NO_BROWSER = "There is no Chromium on this machine."


@pytest.fixture(scope="session")
def no_browser():
    """Reason for skipping the tests in a browser, if there is none."""
    return NO_BROWSER


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report the tests and checks that were skipped for want of a browser or of promtool."""
    passed = terminalreporter.stats.get("passed", [])
    if shutil.which("promtool") is None and any(
        "prometheus_itself" in one.nodeid for one in passed
    ):
        terminalreporter.write_line(
            "The metrics, the alerts and the dashboard were not checked by Prometheus itself, since"
            " there is no promtool on this machine. On Debian and Ubuntu it is in `prometheus`."
        )
    if shutil.which("node") is None and any("examples/" in one.nodeid for one in passed):
        terminalreporter.write_line(
            "docs/examples/sync.mjs was not run, since there is no Node on this machine. On Debian"
            " and Ubuntu it is in `nodejs`."
        )
    skipped = terminalreporter.stats.get("skipped", [])
    if any("no haproxy on this machine" in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(
            "The rolling restart was not run behind haproxy, since there is none on this machine."
            " On Debian and Ubuntu it is in `haproxy`."
        )
    if count := sum(NO_BROWSER in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(
            f"{count} tests of the pages were left out. {NO_BROWSER} Install one to run them, such"
            " as `sudo apt install chromium`."
        )


@pytest.fixture(scope="session")
def postgres():
    """The URL of a PostgreSQL server on which tests create databases.

    It is started from a wheel, unless FEEDKEEP_TEST_POSTGRES names another one.
    """
    if url := os.environ.get("FEEDKEEP_TEST_POSTGRES"):
        yield url
        return
    with PostgresServer() as server:
        yield server.url


STORES = ["sqlite", "postgres, 2 workers"]
CORE = {
    "test_add.py",
    "test_authentication.py",
    "test_delete.py",
    "test_list.py",
    "test_read.py",
    "test_update.py",
}
"""The tests of the contract that other servers pass, too: what they refuse is their own."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize tests with `feedkeep` by store; in the short form, only stores' own tests.

    The longest form runs the core of the contract behind other servers, too.
    """
    if "feedkeep" in metafunc.fixturenames:
        stores = STORES if IS_LONG else STORES[:1]
        path = metafunc.definition.path
        if IS_LONG and path.parent.name == "contract" and path.name in CORE:
            stores = [*stores, *SERVERS]
        metafunc.parametrize("feedkeep", stores, indirect=True, scope="session")


@pytest.fixture(scope="session")
def feedkeep(request, tmp_path_factory):
    """A service on each store that all tests share; each test has accounts of its own.

    It believes this machine as a proxy, so that each test can have an address of its own, too: else
    the wrong passwords of all of them would count together.
    """
    folder = tmp_path_factory.mktemp("feedkeep")
    if request.param in SERVERS:
        with ServedByAnother(request.param, folder) as process, process.used_often():
            yield process
        return
    if request.param == "sqlite":
        with FeedkeepProcess(folder, trusted_proxies="127.0.0.1") as process, process.used_often():
            yield process
        return
    server: str = request.getfixturevalue("postgres")
    database = new_database(server)
    process = FeedkeepProcess(folder, database, workers="2", trusted_proxies="127.0.0.1")
    with process, process.used_often():
        yield process
    drop_database(server, database)


@pytest.fixture
def api(feedkeep):
    with feedkeep.client(feedkeep.new_account()) as client:
        yield client


@pytest.fixture
def folder(tmp_path):
    return tmp_path
