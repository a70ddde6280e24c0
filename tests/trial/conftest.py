"""What the tests of `feedkeep try` share."""

import pytest
from trying import Trial


@pytest.fixture
def trial(tmp_path_factory):
    with Trial(tmp_path_factory.mktemp("trial")) as process:
        yield process
