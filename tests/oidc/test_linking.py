"""Linking an account to a person of the provider, and a service without passwords."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

import httpx
import pytest
from fake_provider import CLIENT, SECRET, FakeProvider, settings_for
from feedkeep_process import FeedkeepProcess
from test_signing_in import BACK, begin, name_in, sign_in

from feedkeep.model import Purpose, Stamp, TokenDecision, replace
from feedkeep.oidc.flow import Flow, FlowCookies
from feedkeep.web.authenticator import seal
from feedkeep.web.provider_sign_in import _LINKING

PASSWORD = "a good passphrase"


@pytest.fixture
def anna(service):
    return service.new_account(PASSWORD)


@contextmanager
def with_password(service: FeedkeepProcess, name: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.base_url) as browser:
        reply = browser.post("/sign-in", data={"name": name, "password": PASSWORD})
        assert reply.status_code == 303
        yield browser


def link(browser: httpx.Client, provider: FakeProvider, **other: str) -> httpx.Response:
    page = browser.post("/account/link", data={"password": PASSWORD})
    assert page.status_code == 200, page.text
    (url,) = re.findall(r'content="0;url=([^"]*)"', page.text)
    return browser.get(BACK, params=provider.answer_to(html.unescape(url)) | other)


def test_an_account_with_a_password_is_linked_and_unlinked(service, browser, provider, anna):
    with with_password(service, anna) as own:
        reply = link(own, provider)
        assert (reply.status_code, reply.headers["Location"]) == (303, "/account")
        assert "Your account is linked." in own.get("/account").text
        sign_in(browser, provider)
        assert name_in(browser) == anna
        assert own.post("/account/unlink", data={}).status_code == 303
        assert "no longer linked" in own.get("/account").text
    with httpx.Client(base_url=service.base_url) as other:
        sign_in(other, provider)
        assert name_in(other) == "zoë"  # who it is has an account of their own now


def test_a_person_who_is_linked_elsewhere_is_linked_to_no_second_account(
    service, browser, provider, anna
):
    sign_in(browser, provider)
    with with_password(service, anna) as own:
        reply = link(own, provider)
        assert (reply.status_code, "linked to this person already" in reply.text) == (403, True)
    sign_in(browser, provider)
    assert name_in(browser) == "zoë"


def test_nobody_links_an_account_by_leading_its_browser_around(service, browser, provider, anna):
    attacker = provider.answer_to(begin(browser))
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    with with_password(service, anna) as own:
        assert own.post("/account/link", data={}, headers=foreign).status_code == 403
        assert own.get("/account/link").status_code in {303, 405}
        assert own.get(BACK, params=attacker).status_code == 403
        own.post("/account/link", data={})
        assert own.get(BACK, params=attacker).status_code == 403
        # Who has begun to link, and is signed in to another account by now, links neither.
        page = own.post("/account/link", data={})
        (url,) = re.findall(r'content="0;url=([^"]*)"', page.text)
        answer = provider.answer_to(html.unescape(url))
        other = service.new_account(PASSWORD)
        own.post("/sign-in", data={"name": other, "password": PASSWORD})
        assert own.get(BACK, params=answer).status_code == 403
    sign_in(browser, provider)
    assert name_in(browser) == "zoë"


@pytest.mark.parametrize("sealed_by", ["nobody", "another session"])
def test_a_cookie_that_another_page_has_set_links_nobody(service, provider, anna, sealed_by):
    """Even one that the attacker has made here, for a session of their own."""
    state = "S" * 43
    linking = seal("" if sealed_by == "nobody" else "fks_another", _LINKING, state.encode())
    flow = Flow(state, "N" * 43, "V" * 43, "https://evil.example/", linking)
    cookie = FlowCookies(SECRET).write(flow)
    query = {"state": state, "nonce": flow.nonce, "client_id": CLIENT}
    answer = provider.answer_to(f"http://x/?{urlencode(query)}")
    with with_password(service, anna) as own:
        own.cookies.set("feedkeep_provider", cookie)
        assert own.get(BACK, params=answer).status_code == 403
        assert service.wait_for_line("another session asked")["level"] == "warning"
    assert not any(path.endswith("/token") for path, _ in provider.asked)


def test_an_answer_leads_to_no_other_site(browser, provider):
    state = "S" * 43
    flow = Flow(state, "N" * 43, "V" * 43, "https://evil.example/")
    browser.cookies.set("feedkeep_provider", FlowCookies(SECRET).write(flow))
    query = {"state": state, "nonce": flow.nonce, "client_id": CLIENT}
    reply = browser.get(BACK, params=provider.answer_to(f"http://x/?{urlencode(query)}"))
    assert (reply.status_code, reply.headers["Location"]) == (303, "/")


def test_linking_and_unlinking_ask_for_the_password_once_more(provider, tmp_path):
    service = FeedkeepProcess(tmp_path, **settings_for(provider))
    service.run_first("no_session_is_fresh")
    with service:
        name = service.new_account(PASSWORD)
        with with_password(service, name) as own:
            for action in ("/account/link", "/account/unlink"):
                for typed, told in (("", "Type your current"), ("wrong", "not your password")):
                    refused = own.post(action, data={"password": typed})
                    assert (refused.status_code, told in refused.text) == (403, True)
            assert link(own, provider).status_code == 303
            assert own.post("/account/unlink", data={"password": PASSWORD}).status_code == 303
            provider.__exit__()
            # What it says of itself is remembered, so who begins to link is led there all the same.
            assert own.post("/account/link", data={"password": PASSWORD}).status_code == 200
            provider.__enter__()


def test_who_links_while_the_provider_is_away_is_told_so(service, provider, anna):
    provider.description_status = 500
    with with_password(service, anna) as own:
        refused = own.post("/account/link", data={})
        assert (refused.status_code, "cannot be reached" in refused.text) == (503, True)


def test_who_has_no_password_is_asked_to_come_by_the_provider_and_cannot_unlink(browser, provider):
    sign_in(browser, provider)
    page = browser.get("/account").text
    assert "unlink" not in page
    assert 'name="new_password"' not in page
    refused = browser.post("/account/unlink", data={})
    assert (refused.status_code, "Set a password first" in refused.text) == (400, True)
    assert browser.post("/account/delete", data={"name": "zoë"}).status_code == 303  # it is fresh
    assert name_in(browser) == ""


def test_who_has_no_password_confirms_with_the_provider_once_a_session_is_old(provider, tmp_path):
    service = FeedkeepProcess(tmp_path, **settings_for(provider))
    service.run_first("no_session_is_fresh")
    with service, httpx.Client(base_url=service.base_url) as old:
        sign_in(old, provider)
        refused = old.post("/account/delete", data={"name": "zoë"})
        assert (refused.status_code, "/sign-in/provider" in refused.text) == (403, True)
        assert name_in(old) == "zoë"
        for form, place in (("/news/address", "/news"), ("/apps/connect/kasts",) * 2):
            refused = old.post(form)
            leads_back = f'href="/sign-in/provider?next={place}"' in refused.text
            assert (refused.status_code, leads_back, "password." in refused.text) == (
                403,
                True,
                False,
            )


@pytest.fixture
def without_passwords(provider, tmp_path):
    settings = settings_for(provider, password_login="false")
    with FeedkeepProcess(tmp_path, **settings) as process:
        yield process


def test_without_passwords_only_the_provider_and_app_passwords_let_in(without_passwords, provider):
    service = without_passwords
    name = service.new_account(PASSWORD)
    token = service.new_token(name)
    with httpx.Client(base_url=service.base_url) as browser:
        page = browser.get("/sign-in").text
        assert "Sign in with Home" in page
        assert 'type="password"' not in page
        typed = {"name": name, "password": PASSWORD}
        assert browser.post("/sign-in", data=typed).status_code == 403
        for path in ("/recover", "/reset", "/sign-up"):
            assert browser.get(path).status_code == 403
            assert browser.post(path, data=typed).status_code == 403
        basic = httpx.get(f"{service.base_url}/subscriptions", auth=(name, PASSWORD))
        assert (basic.status_code, "app password" in basic.json()["message"]) == (401, True)
        for auth in ((name, token), None):
            headers = {} if auth else {"Authorization": f"Bearer {token}"}
            reply = httpx.get(f"{service.base_url}/subscriptions", auth=auth, headers=headers)
            assert reply.status_code == 200
        sign_in(browser, provider)
        assert name_in(browser) == "zoë"
        assert 'type="password"' not in browser.get("/account").text


def test_an_app_is_let_in_by_who_has_signed_in_with_the_provider(without_passwords, provider):
    service = without_passwords
    service.new_account()
    app = httpx.post(f"{service.base_url}/index.php/login/v2?app=An+app").json()
    page, poll = app["login"], app["poll"]

    def fetched():
        return httpx.post(poll["endpoint"], data={"token": poll["token"]}).status_code

    with httpx.Client(base_url=service.base_url) as browser:
        shown = browser.get(page).text
        assert 'type="password"' not in shown
        (link_to,) = re.findall(r'href="(/sign-in/provider[^"]*)"', shown)
        location = browser.get(html.unescape(link_to)).headers["Location"]
        back = browser.get(BACK, params=provider.answer_to(location)).headers["Location"]
        shown = browser.get(back).text
        assert "You are signed in as zoë." in shown
        (secret,) = re.findall(r'name="secret" value="([^"]+)"', shown)
        assert browser.post(back, data={"secret": "guessed"}).status_code == 403
        assert browser.post(f"{back}&other=1", data={"secret": secret}).status_code == 403
        assert fetched() == 404
        (secret,) = re.findall(r'name="secret" value="([^"]+)"', browser.get(back).text)
        assert browser.post(back, data={"secret": secret}).status_code == 303
        assert fetched() == 200
    typed = {"name": "zoë", "password": PASSWORD, "secret": "x"}
    with httpx.Client(base_url=service.base_url) as stranger:
        assert stranger.post(page, data=typed).status_code == 403
        page = httpx.post(f"{service.base_url}/index.php/login/v2").json()["login"]
        stranger.cookies.set("feedkeep", "fp_" + "x" * 44)
        assert "You are signed in as" not in stranger.get(page).text
        typed["secret"] = stranger.cookies["feedkeep_login"]
        assert stranger.post(page, data=typed).status_code == 403


def test_a_session_that_is_not_fresh_lets_no_app_in_by_itself(service, browser, provider):
    sign_in(browser, provider)
    page = httpx.post(f"{service.base_url}/index.php/login/v2").json()["login"]
    assert "You are signed in as" in browser.get(page).text
    assert "You are signed in as" not in browser.get(f"{page}&other=1").text

    async def grow_old(service):
        account = await service.accounts.named("zoë")
        hour_us = 3_600_000_000

        def older(_, known):
            aged = [replace(one, created=Stamp(one.created - hour_us)) for one in known]
            return TokenDecision(aged, [one.id for one in known])

        await service.store.tokens.change(account.id, Purpose.PAGES, older)

    service.use(grow_old)
    assert name_in(browser) == "zoë"
    assert "You are signed in as" not in browser.get(page).text
    assert " again." in browser.get("/account").text
    browser.post("/sign-out")
    assert "You are signed in as" not in browser.get(page).text
