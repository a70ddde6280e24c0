"""What the tests of gpodder.net's API share: a person with a fresh account, and their clients."""

from contextlib import ExitStack

import pytest
from people import Person


@pytest.fixture
def person(feedkeep):
    """A person with an empty list, whose apps use a token as the password."""
    with ExitStack() as stack:
        yield Person.new(feedkeep, stack)


@pytest.fixture
def other(feedkeep):
    """Another person."""
    with ExitStack() as stack:
        yield Person.new(feedkeep, stack)
