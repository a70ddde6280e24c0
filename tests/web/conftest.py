"""Fixtures shared by the tests of the pages: a browser, a service, and its visitors."""

import os
from collections.abc import Iterator

import page_client
import pytest
from feedkeep_process import FeedkeepProcess
from playwright.sync_api import Playwright, sync_playwright
from visitor import Contexts, Visitor, chromium_path, launched


@pytest.fixture(autouse=True)
def _all_browsers_are_closed():
    yield
    page_client.close_all()


class _Browser:
    """The system's Chromium, from the first test that needs it to the last of those in a row.

    While it runs, no test has an event loop of its own.
    """

    def __init__(self) -> None:
        self._playwright: Playwright | None = None

    def launched(self, path: str) -> Contexts:
        if self._playwright is None:
            self._playwright = sync_playwright().start()
            self._browser = launched(self._playwright, path)
            self._contexts = Contexts(self._browser)
        return self._contexts

    def close(self) -> None:
        if self._playwright is not None:
            self._browser.close()
            self._playwright.stop()
            self._playwright = None


_browser = _Browser()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Close the browser where a test follows that may want an event loop."""
    yield
    if "chromium" not in getattr(nextitem, "fixturenames", ()):
        _browser.close()


@pytest.fixture
def chromium(no_browser):
    """The system's Chromium. Without one, its tests are left out, unless FEEDKEEP_BROWSER is
    "required".
    """
    path = chromium_path()
    if path is None:
        if os.environ.get("FEEDKEEP_BROWSER") == "required":
            pytest.fail("There is no Chromium, and FEEDKEEP_BROWSER requires one.")
        pytest.skip(no_browser)
    return _browser.launched(path)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service that lets administrators invite; each test has accounts of its own.

    Its interface is open to other sites, which its pages are not.
    """
    process = FeedkeepProcess(
        tmp_path_factory.mktemp("pages"),
        trusted_proxies="127.0.0.1",
        cors_origins="https://player.example,*",
        registration="invited",
    )
    with process, process.used_often():
        yield process


@pytest.fixture
def name(service):
    """The name of a new account."""
    return service.new_account(page_client.PASSWORD)


@pytest.fixture
def anna(feedkeep):
    """The browser of a person who has signed in, without scripts."""
    return page_client.signed_in(feedkeep)[0]


@pytest.fixture
def visit(chromium):
    """Open the service in a browser that no other test uses, as often as needed."""
    visitors: list[Visitor] = []

    def visit(process, **options):
        visitors.append(Visitor(chromium, process.base_url, **options))
        return visitors[-1]

    yield visit
    for visitor in visitors:
        visitor.close()
