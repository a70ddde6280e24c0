"""What the tests of `feedkeep try` share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from trying import Trial


@pytest.fixture
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with Trial(tmp_path_factory.mktemp("trial")) as process:
        yield process
