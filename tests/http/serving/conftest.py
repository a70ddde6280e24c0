"""What the tests of the HTTP server share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from feedkeep_process import FeedkeepProcess
from served import Served


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served") / "errors"


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[FeedkeepProcess]:
    """A service that waits one second where others wait thirty."""
    process = FeedkeepProcess(tmp_path)
    process.run_first("patience_is_short")
    with process:
        yield process


@pytest.fixture(scope="module")
def served(errors: Path) -> Iterator[Served]:
    with errors.open("wb") as file:
        served = Served(file)
    yield served
    served.process.terminate()
    assert served.process.wait(20) == 0
    assert served.process.stdout is not None
    served.process.stdout.close()
