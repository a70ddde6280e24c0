"""A real provider and a real browser: signing in, in each language, on both stores."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from playwright.sync_api import sync_playwright
from postgres_server import drop_database, new_database

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
def real_provider(folder: Path) -> Iterator[str]:
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
def database(request, postgres):
    name = new_database(postgres)
    yield name
    drop_database(postgres, name)


def use(folder: Path, language: str, database: str = "") -> None:
    """Sign in with a new account, sign out, and again; then link one that has a password."""
    sign_in, link = WORDS[language]
    with real_provider(folder) as address:
        settings = {"oidc_issuer": address, "oidc_client_id": "feedkeep", "oidc_name": "Home"}
        settings |= {"oidc_client_secret": "secret", "oidc_new_accounts": "true"}
        with (
            FeedkeepProcess(folder, database, **settings) as service,
            sync_playwright() as playwright,
        ):
            anna = service.new_account("a good passphrase")
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"]
            )
            page = browser.new_context(locale=language, base_url=service.base_url).new_page()

            def authorize(person: str) -> None:
                page.locator("input[name=sub]").fill(person)
                page.get_by_role(
                    "button", name=re.compile("Authorize", re.IGNORECASE)
                ).first.click()
                page.wait_for_url(f"{service.base_url}/**")

            for _ in range(2):
                page.goto("/account")
                page.get_by_role("link", name=sign_in).click()
                authorize("zoe")
                assert page.url == f"{service.base_url}/account"
                assert page.locator("h1").inner_text() == "listener"
                page.locator("form[action='/sign-out'] button").click()
            page.locator("input[name=name]").fill(anna)
            page.locator("input[name=password]").fill("a good passphrase")
            page.locator("form[action='/sign-in'] button").click()
            page.goto("/account")
            page.get_by_role("button", name=link).click()
            authorize("anna-there")
            assert page.locator("h1").inner_text() == anna
            page.locator("form[action='/sign-out'] button").click()
            page.get_by_role("link", name=sign_in).click()
            authorize("anna-there")
            page.goto("/account")
            assert page.locator("h1").inner_text() == anna
            browser.close()


@pytest.mark.skipif(
    CHROMIUM is None and os.environ.get("FEEDKEEP_BROWSER") != "required", reason="no browser"
)
@pytest.mark.parametrize("language", WORDS)
def test_people_sign_in_with_a_real_provider_in_their_language(tmp_path, language):
    use(tmp_path, language)


@pytest.mark.skipif(
    CHROMIUM is None and os.environ.get("FEEDKEEP_BROWSER") != "required", reason="no browser"
)
def test_people_sign_in_with_a_real_provider_on_postgresql(tmp_path, database):
    use(tmp_path, "en", database)
