"""What the tests of gpodder.net's API share: a person with a fresh account, and their clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from feedkeep_process import FeedkeepProcess
from people import Person


@pytest.fixture
def person(feedkeep: FeedkeepProcess) -> Iterator[Person]:
    """A person with an empty list, whose apps use a token as the password."""
    with ExitStack() as stack:
        yield Person.new(feedkeep, stack)


@pytest.fixture
def other(feedkeep: FeedkeepProcess) -> Iterator[Person]:
    """Another person."""
    with ExitStack() as stack:
        yield Person.new(feedkeep, stack)
