"""Fixtures shared by the tests of the HTTP server."""

import pytest
from feedkeep_process import FeedkeepProcess
from served import Served


@pytest.fixture(scope="package")
def impatient(tmp_path_factory):
    """A service that waits one second where others wait thirty."""
    process = FeedkeepProcess(tmp_path_factory.mktemp("impatient"))
    process.run_first("patience_is_short")
    with process:
        yield process


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    return tmp_path_factory.mktemp("served") / "errors"


@pytest.fixture(scope="module")
def served(errors):
    served = Served(errors)
    yield served
    served.process.terminate()
    assert served.process.wait(20) == 0
    served.process.stdout.close()
