"""Fixtures shared by the tests of signing in with a provider."""

from contextlib import ExitStack

import pytest
from fake_provider import FakeProvider, browser_of, signing_in


@pytest.fixture(scope="package")
def shared(tmp_path_factory):
    """A provider, and a service that lets its people in."""
    with ExitStack() as stack:
        provider = stack.enter_context(FakeProvider())
        folder = tmp_path_factory.mktemp("oidc")
        service, _ = stack.enter_context(signing_in(provider, folder))
        stack.enter_context(service.used_often())
        yield provider, service


@pytest.fixture
def provider(shared):
    """The provider, honest, and with another person for each test."""
    provider, _ = shared
    provider.be_honest()
    return provider


@pytest.fixture
def service(shared):
    return shared[1]


@pytest.fixture
def own(provider, tmp_path):
    """A service of the test's own, and a browser."""
    with signing_in(provider, tmp_path) as own:
        yield own


@pytest.fixture
def browser(service):
    with browser_of(service) as client:
        yield client
