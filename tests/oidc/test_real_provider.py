"""A real provider and a real browser: signing in, in each language, on both stores."""

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_LONG, in_the_long_form
from playwright.sync_api import Page, sync_playwright
from stores import database

__all__ = ["database"]

PATIENCE_SECONDS = 30
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome")
     for folder in os.environ["PATH"].split(":")
     if (path := Path(folder, name)).is_file()),
    None,
)  # fmt: skip
WORDS = {
    "en": ("Sign in with Home", "Link the account"),
    "de": ("Mit Home anmelden", "Konto verknüpfen"),
    "fr": ("Se connecter avec Home", "Lier le compte"),
    "es": ("Entrar con Home", "Vincular la cuenta"),
}


@contextmanager
def real_provider(folder: Path):
    """Run the provider of a package; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)]
    with (folder / "provider.log").open("wb") as log:
        running = subprocess.Popen([*command, "--require-nonce", "true"], stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + PATIENCE_SECONDS
            while True:
                try:
                    httpx.get(f"{address}/.well-known/openid-configuration").raise_for_status()
                    break
                except httpx.HTTPError:
                    assert time.monotonic() < deadline, (folder / "provider.log").read_text()
                    time.sleep(0.05)
            yield address
        finally:
            running.terminate()
            running.wait()


@pytest.fixture
def store(request):
    """The URL of a database, or "" for a file of SQLite."""
    return request.getfixturevalue("database") if request.param == "postgres" else ""


def use(page: Page, language: str, service: FeedkeepProcess) -> None:
    """Sign in with a new account, sign out, and again; then link one that has a password."""
    sign_in, link = WORDS[language]
    owner = service.new_account("a good passphrase")

    def authorize(person):
        page.locator("input[name=sub]").fill(f"{person}-{language}")
        page.get_by_role("button", name=re.compile("Authorize", re.IGNORECASE)).first.click()
        page.wait_for_url(f"{service.base_url}/**")

    names = []
    for _ in range(2):
        page.goto("/account")
        page.get_by_role("link", name=sign_in).click()
        authorize("zoe")
        assert page.url == f"{service.base_url}/account"
        names.append(page.locator("h1").inner_text())
        page.locator("form[action='/sign-out'] button").click()
    assert names[0] == names[1]
    assert names[0].startswith("listener")
    page.locator("input[name=name]").fill(owner)
    page.locator("input[name=password]").fill("a good passphrase")
    page.locator("form[action='/sign-in'] button").click()
    page.goto("/account")
    page.get_by_role("button", name=link).click()
    authorize("anna-there")
    assert page.locator("h1").inner_text() == owner
    page.locator("form[action='/sign-out'] button").click()
    page.get_by_role("link", name=sign_in).click()
    authorize("anna-there")
    page.goto("/account")
    assert page.locator("h1").inner_text() == owner


@pytest.mark.skipif(
    CHROMIUM is None and os.environ.get("FEEDKEEP_BROWSER") != "required", reason="no browser"
)
@pytest.mark.parametrize(
    ("store", "languages"),
    [
        ("sqlite", WORDS if IS_LONG else ["en", "de"]),
        pytest.param("postgres", ["en"], marks=in_the_long_form),
    ],
    indirect=["store"],
)
def test_people_sign_in_with_a_real_provider_in_their_language(tmp_path, store, languages):
    with real_provider(tmp_path) as address:
        settings = {"oidc_issuer": address, "oidc_client_id": "feedkeep", "oidc_name": "Home"}
        settings |= {"oidc_client_secret": "secret", "oidc_new_accounts": "true"}
        with FeedkeepProcess(tmp_path, store, **settings) as service, sync_playwright() as started:
            options = ["--no-sandbox", "--disable-background-networking"]
            browser = started.chromium.launch(executable_path=CHROMIUM, args=options)
            for language in languages:
                context = browser.new_context(locale=language, base_url=service.base_url)
                use(context.new_page(), language, service)
            browser.close()
