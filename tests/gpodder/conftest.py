"""Fixtures shared by the tests of gpodder.net's API: people with new accounts, and clients."""

from contextlib import ExitStack

import pytest
from people import Person


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def person(feedkeep, stack):
    """A person with an empty list, whose apps use a token as the password."""
    return Person.new(feedkeep, stack)


@pytest.fixture
def other(feedkeep, stack):
    return Person.new(feedkeep, stack)
