"""What the tests of signing in with a provider share."""

import httpx
import pytest
from fake_provider import FakeProvider, settings_for
from feedkeep_process import FeedkeepProcess


@pytest.fixture
def provider():
    with FakeProvider() as fake:
        yield fake


@pytest.fixture
def service(provider, tmp_path):
    with FeedkeepProcess(tmp_path, **settings_for(provider)) as process:
        process.new_account()  # the first one is not what is looked at here
        yield process


@pytest.fixture
def browser(service):
    with httpx.Client(base_url=service.base_url) as client:
        yield client
