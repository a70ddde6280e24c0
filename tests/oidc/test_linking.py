"""Linking an account to a person of the provider, and a service without passwords."""

import html
import re
from contextlib import ExitStack, contextmanager
from urllib.parse import urlencode

import httpx
import pytest
from fake_provider import CLIENT, SECRET, FakeProvider, browser_of, signing_in
from feedkeep_process import FeedkeepProcess
from test_signing_in import BACK, begin, name_in, sign_in

from feedkeep.oidc.flow import Flow, FlowCookies
from feedkeep.web.authenticator import seal
from feedkeep.web.provider_sign_in import _LINKING

PASSWORD, STATE = "a good passphrase", "S" * 43


@pytest.fixture
def anna(service):
    return service.new_account(PASSWORD)


@contextmanager
def with_password(service: FeedkeepProcess, name: str):
    with browser_of(service) as browser:
        reply = browser.post("/sign-in", data={"name": name, "password": PASSWORD})
        assert reply.status_code == 303
        yield browser


def begin_to_link(browser: httpx.Client) -> str:
    """Return the URL that the page redirects the browser to."""
    page = browser.post("/account/link", data={"password": PASSWORD})
    assert page.status_code == 200, page.text
    (url,) = re.findall(r'content="0;url=([^"]*)"', page.text)
    return html.unescape(url)


def link(browser: httpx.Client, provider: FakeProvider) -> httpx.Response:
    return browser.get(BACK, params=provider.answer_to(begin_to_link(browser)))


def test_account_is_linked_to_one_person_and_unlinked(service, browser, provider, anna):
    with with_password(service, anna) as own:
        reply = link(own, provider)
        assert (reply.status_code, reply.headers["Location"]) == (303, "/account")
        assert "Your account is linked." in own.get("/account").text
        sign_in(browser, provider)
        assert name_in(browser) == anna
        assert own.post("/account/unlink", data={}).status_code == 303
        assert "no longer linked" in own.get("/account").text
        with browser_of(service) as other:
            sign_in(other, provider)
            assert name_in(other) == provider.name  # who it is has an account of their own now
            reply = link(own, provider)
            assert (reply.status_code, "linked to this person already" in reply.text) == (403, True)
            sign_in(other, provider)
            assert name_in(other) == provider.name


def test_nobody_links_an_account_by_leading_its_browser_around(service, browser, provider, anna):
    attacker = provider.answer_to(begin(browser))
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    with with_password(service, anna) as own:
        assert own.post("/account/link", data={}, headers=foreign).status_code == 403
        assert own.get("/account/link").status_code in {303, 405}
        assert own.get(BACK, params=attacker).status_code == 403
        own.post("/account/link", data={})
        assert own.get(BACK, params=attacker).status_code == 403
        # Someone who begins to link and then signs in to another account links neither.
        answer = provider.answer_to(begin_to_link(own))
        other = service.new_account(PASSWORD)
        own.post("/sign-in", data={"name": other, "password": PASSWORD})
        assert own.get(BACK, params=answer).status_code == 403
    sign_in(browser, provider)
    assert name_in(browser) == provider.name


def answer_to(provider: FakeProvider, browser: httpx.Client, linking: str = "") -> dict[str, str]:
    """Set the cookie of a sign-in that leads to another site; return what comes back of it."""
    flow = Flow(STATE, "N" * 43, "V" * 43, "https://evil.example/", linking)
    browser.cookies.set("feedkeep_provider", FlowCookies(SECRET).write(flow))
    query = {"state": STATE, "nonce": flow.nonce, "client_id": CLIENT}
    return provider.answer_to(f"http://x/?{urlencode(query)}")


@pytest.mark.parametrize("sealed_by", ["", "fks_another"], ids=["nobody", "another session"])
def test_cookie_that_another_page_has_set_links_nobody(service, browser, provider, anna, sealed_by):
    """Even one that the attacker has made here, for a session of their own."""
    linking = seal(sealed_by, _LINKING, STATE.encode())
    with with_password(service, anna) as own:
        answer = answer_to(provider, own, linking)
        assert own.get(BACK, params=answer).status_code == 403
        address = own.headers["X-Forwarded-For"]
    assert service.wait_for_line("another session asked", address)["level"] == "warning"
    assert provider.count("token") == 0
    # Nor does an answer lead to another site.
    reply = browser.get(BACK, params=answer_to(provider, browser))
    assert (reply.status_code, reply.headers["Location"]) == (303, "/")


def test_linking_and_unlinking_ask_for_the_password_once_more(provider, tmp_path):
    with ExitStack() as stack:
        service, _ = stack.enter_context(signing_in(provider, tmp_path, "no_session_is_fresh"))
        own = stack.enter_context(with_password(service, service.new_account(PASSWORD)))
        for action in ("/account/link", "/account/unlink"):
            for typed, told in (("", "Type your current"), ("wrong", "not your password")):
                refused = own.post(action, data={"password": typed})
                assert (refused.status_code, told in refused.text) == (403, True)
        assert link(own, provider).status_code == 303
        assert own.post("/account/unlink", data={"password": PASSWORD}).status_code == 303
        with provider.away():
            # The provider's metadata are cached, so the redirect to it still works.
            assert own.post("/account/link", data={"password": PASSWORD}).status_code == 200


def test_who_links_while_the_provider_is_away_is_told_so(own, provider):
    service, _ = own
    provider.description_status = 500
    with with_password(service, service.new_account(PASSWORD)) as browser:
        refused = browser.post("/account/link", data={})
        assert (refused.status_code, "cannot be reached" in refused.text) == (503, True)


def test_who_has_no_password_comes_by_the_provider_and_cannot_unlink(browser, provider):
    sign_in(browser, provider)
    page = browser.get("/account").text
    assert "unlink" not in page
    assert 'name="new_password"' not in page
    refused = browser.post("/account/unlink", data={})
    assert (refused.status_code, "Set a password first" in refused.text) == (400, True)
    deleted = browser.post("/account/delete", data={"name": provider.name})
    assert deleted.status_code == 303  # the session is fresh
    assert name_in(browser) == ""


def test_who_has_no_password_confirms_with_the_provider_once_a_session_is_old(provider, tmp_path):
    with signing_in(provider, tmp_path, "no_session_is_fresh") as (service, old):
        sign_in(old, provider)
        refused = old.post("/account/delete", data={"name": provider.name})
        assert (refused.status_code, "/sign-in/provider" in refused.text) == (403, True)
        assert name_in(old) == provider.name
        for form, place in (("/news/address", "/news"), ("/apps/connect/kasts",) * 2):
            refused = old.post(form)
            assert refused.status_code == 403
            assert f'href="/sign-in/provider?next={place}"' in refused.text
            assert "password." not in refused.text
        page = httpx.post(f"{service.base_url}/index.php/login/v2").json()["login"]
        assert "You are signed in as" not in old.get(page).text
        assert " again." in old.get("/account").text


@pytest.fixture
def without_passwords(provider, tmp_path):
    with signing_in(provider, tmp_path, password_login="false") as own:
        yield own


def test_without_passwords_only_the_provider_and_app_passwords_let_in(without_passwords, provider):
    service, browser = without_passwords
    name = service.new_account(PASSWORD)
    token = service.new_token(name)
    page = browser.get("/sign-in").text
    assert "Sign in with Home" in page
    assert 'type="password"' not in page
    typed = {"name": name, "password": PASSWORD}
    assert browser.post("/sign-in", data=typed).status_code == 403
    for path in ("/recover", "/reset", "/sign-up"):
        assert browser.get(path).status_code == 403
        assert browser.post(path, data=typed).status_code == 403
    lists = f"{service.base_url}/subscriptions"
    basic = httpx.get(lists, auth=(name, PASSWORD))
    assert (basic.status_code, "app password" in basic.json()["message"]) == (401, True)
    assert httpx.get(lists, auth=(name, token)).status_code == 200
    assert httpx.get(lists, headers={"Authorization": f"Bearer {token}"}).status_code == 200
    sign_in(browser, provider)
    assert name_in(browser) == provider.name
    assert 'type="password"' not in browser.get("/account").text


def test_app_is_let_in_by_who_has_signed_in_with_the_provider(without_passwords, provider):
    service, browser = without_passwords
    app = httpx.post(f"{service.base_url}/index.php/login/v2?app=An+app").json()
    page, poll = app["login"], app["poll"]

    def fetched():
        return httpx.post(poll["endpoint"], data={"token": poll["token"]}).status_code

    def secret_at(place):
        return re.findall(r'name="secret" value="([^"]+)"', browser.get(place).text)[0]

    shown = browser.get(page).text
    assert 'type="password"' not in shown
    (link_to,) = re.findall(r'href="(/sign-in/provider[^"]*)"', shown)
    location = browser.get(html.unescape(link_to)).headers["Location"]
    back = browser.get(BACK, params=provider.answer_to(location)).headers["Location"]
    assert f"You are signed in as {provider.name}." in browser.get(back).text
    assert "You are signed in as" not in browser.get(f"{back}&other=1").text
    secret = secret_at(back)
    assert browser.post(back, data={"secret": "guessed"}).status_code == 403
    assert browser.post(f"{back}&other=1", data={"secret": secret}).status_code == 403
    assert fetched() == 404
    assert browser.post(back, data={"secret": secret_at(back)}).status_code == 303
    assert fetched() == 200
    browser.post("/sign-out")
    page = httpx.post(f"{service.base_url}/index.php/login/v2").json()["login"]
    assert "You are signed in as" not in browser.get(page).text
    typed = {"name": provider.name, "password": PASSWORD, "secret": "x"}
    with browser_of(service) as stranger:
        assert stranger.post(page, data=typed).status_code == 403
        stranger.cookies.set("feedkeep", "fp_" + "x" * 44)
        assert "You are signed in as" not in stranger.get(page).text
        typed["secret"] = stranger.cookies["feedkeep_login"]
        assert stranger.post(page, data=typed).status_code == 403
