"""The login flow v2, as AntennaPod and its owner's browser go through it."""

import re
import time

import httpx
import pytest
from browser import Login, Owner, Page, let_in, open_page, submit
from feedkeep_process import FeedkeepProcess
from markupsafe import escape

from feedkeep.service.logins import OPEN_SECONDS, login_of, new_secret

SUBSCRIPTIONS = "/index.php/apps/gpoddersync/subscriptions"
EVIL = """<script>alert(1)</script>" onload='x' &amp; {app}"""


def status(app: httpx.Client, name: str, secret: str) -> int:
    return app.get(SUBSCRIPTIONS, auth=(name, secret)).status_code


def test_an_app_waits_until_its_owner_has_let_it_in_and_gets_its_token_once(app, browser, owner):
    login = Login.begin(app)
    assert login.page.startswith(owner.process.base_url)
    assert login.endpoint.startswith(owner.process.base_url)
    assert login.token not in login.page
    assert login.poll().status_code == 404
    page = open_page(browser, login.page)
    assert login.poll().status_code == 404
    done = submit(browser, page, name=owner.name.upper(), password=owner.password)
    assert done.reply.status_code == 200
    assert done.fields == {}
    reply = login.poll()
    assert reply.status_code == 200
    told = reply.json()
    owner.process.tokens.append(told["appPassword"])
    assert set(told) == {"server", "loginName", "appPassword"}
    assert (told["server"], told["loginName"]) == (owner.process.base_url, owner.name)
    assert [login.poll().status_code for _ in range(4)] == [404] * 4  # both processes
    assert status(app, told["loginName"], told["appPassword"]) == 200


def test_an_app_that_asks_to_read_is_let_in_to_read_and_its_owner_is_told(app, browser, owner):
    login = Login.begin(app, scope="read", app="Reader of lists")
    page = open_page(browser, login.page)
    assert "<strong>Reader of lists</strong> asks to read your account." in page.reply.text
    submit(browser, page, name=owner.name, password=owner.password)
    token = login.poll().json()["appPassword"]
    owner.process.tokens.append(token)
    bearer = {"Authorization": f"Bearer {token}"}
    assert app.get("/subscriptions", headers=bearer).status_code == 200
    added = app.post("/subscriptions", headers=bearer, json={"subscriptions": []})
    assert added.status_code == 403
    assert "Reader of lists" in owner.process.must("token", "list", owner.name)


def test_an_app_gets_nothing_by_a_link_that_says_less_than_it_asked_for(app, browser, owner):
    for asked, shown in (("write", "read"), ("read", "write")):
        login = Login.begin(app, scope=asked)
        address = login.page.replace("&scope=read", "") + f"&scope={shown}"
        page = open_page(browser, address)
        assert ("asks to read your" in page.reply.text) is (shown == "read")
        done = submit(browser, page, name=owner.name, password=owner.password)
        assert done.reply.status_code == 200
        assert login.is_waiting()


def test_there_is_no_other_scope(app, browser):
    reply = app.post("/index.php/login/v2?scope=all")
    assert (reply.status_code, "read and write" in reply.json()["message"]) == (400, True)
    assert browser.get(Login.begin(app).page + "&scope=all").status_code == 400


def test_the_token_is_named_after_the_app_and_can_be_revoked(app, browser, owner):
    told = let_in(app, browser, owner)
    feedkeep = owner.process
    listed = feedkeep.must("token", "list", owner.name)
    number = re.findall(r"(\d+)\s.*active.*AntennaPod/3\.9\.0", listed)[-1]
    feedkeep.use(lambda service: service.tokens.revoke(owner.name, int(number)))
    assert status(app, told["loginName"], told["appPassword"]) == 401


def test_a_wrong_password_is_rejected_and_can_be_tried_again(app, browser, owner):
    login = Login.begin(app)
    page = open_page(browser, login.page)
    again = submit(browser, page, name=owner.name, password="wrong")
    assert again.reply.status_code == 403
    assert "not right" in again.alert
    assert "WWW-Authenticate" not in again.reply.headers  # or the browser would ask by itself
    assert login.is_waiting()
    done = submit(browser, again, name=owner.name, password=owner.password)
    assert done.reply.status_code == 200
    assert not login.is_waiting()


@pytest.mark.parametrize("secret", [None, "", "guessed"])
def test_a_form_without_the_secret_of_its_page_is_refused(app, browser, owner, secret):
    login = Login.begin(app)
    page = open_page(browser, login.page)
    fields = {"name": owner.name, "password": owner.password}
    fields |= {} if secret is None else {"secret": secret}
    reply = browser.post(page.action, data=fields)
    assert reply.status_code == 403
    assert "try again" in Page(reply).alert
    assert login.is_waiting()


@pytest.mark.parametrize("headers", [{}, {"Cookie": "feedkeep_login="}], ids=["none", "empty"])
@pytest.mark.parametrize("is_known", [True, False], ids=["with its secret", "without one"])
def test_a_form_that_comes_from_another_browser_is_refused(app, browser, owner, headers, is_known):
    login = Login.begin(app)
    page = open_page(browser, login.page)
    secret = page.fields["secret"] if is_known else ""
    fields = {"secret": secret, "name": owner.name, "password": owner.password}
    with httpx.Client(timeout=30) as elsewhere:
        reply = elsewhere.post(page.action, data=fields, headers=headers)
    assert reply.status_code == 403
    assert login.is_waiting()


def test_each_page_has_a_secret_of_its_own_in_a_cookie_that_no_other_site_sends(app, browser):
    login = Login.begin(app)
    secrets = []
    for _ in range(3):
        page = open_page(browser, login.page)
        secret = page.fields["secret"]
        cookie = page.reply.headers["Set-Cookie"]
        assert f"={secret};" in cookie
        assert {"HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
        secrets.append(secret)
    assert len(set(secrets)) == 3


def test_the_page_works_without_its_script_and_loads_from_this_service_only(app, browser, owner):
    page = open_page(browser, Login.begin(app).page)
    done = submit(browser, page, name=owner.name, password=owner.password)
    assert page.method == "post"
    assert page.action == str(page.reply.url)
    assert set(page.fields) == {"secret", "name", "password"}
    for shown in (page, done):
        assert {"/", "#main", "/manifest.webmanifest"} >= {
            place for place in shown.loaded if not place.startswith("/static/")
        }
        assert not {name for name in shown.attributes if name.startswith("on")}
        assert shown.reply.headers["Content-Type"] == "text/html; charset=utf-8"
        assert shown.reply.headers["X-Content-Type-Options"] == "nosniff"
        assert shown.reply.headers["Referrer-Policy"] == "same-origin"
        assert shown.reply.headers["Cache-Control"] == "no-store"


def test_the_policy_of_the_page_allows_its_own_style_and_form_and_nothing_else(app, browser):
    page = open_page(browser, Login.begin(app).page)
    parts = page.reply.headers["Content-Security-Policy"].split("; ")
    policy = dict(part.split(" ", 1) for part in parts)
    assert policy == {
        "default-src": "'none'",
        "style-src": "'self'",
        "script-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "manifest-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert "style" not in page.attributes


def test_the_name_of_the_app_is_shown_and_is_no_markup(app, browser, owner):
    app.headers["User-Agent"] = EVIL
    page = open_page(browser, Login.begin(app).page)
    done = submit(browser, page, name=owner.name, password=owner.password)
    for shown in (page, done):
        assert "<script>" not in shown.reply.text
        assert escape(EVIL) in shown.reply.text
    plain = httpx.URL(str(page.reply.url)).copy_remove_param("app")
    assert "An app" in open_page(browser, str(plain)).reply.text


def test_two_logins_at_once_are_not_mixed_up(app, browser, owner):
    first, second = Login.begin(app), Login.begin(app)
    page = open_page(browser, first.page)
    submit(browser, page, name=owner.name, password=owner.password)
    assert second.is_waiting()
    assert not first.is_waiting()


@pytest.mark.parametrize("token", ["", "x", "0" * 64])
def test_polling_with_what_began_no_login_is_404(app, token):
    for data in ({"token": token}, {}):
        assert app.post("/index.php/login/v2/poll", data=data).status_code == 404
    assert app.post("/index.php/login/v2/poll", content=b"\xff=\xff").status_code == 404


def test_what_is_in_the_address_of_the_page_does_not_fetch_the_token(app, browser, owner):
    login = Login.begin(app)
    page = open_page(browser, login.page)
    submit(browser, page, name=owner.name, password=owner.password)
    in_address = httpx.URL(login.page).path.rsplit("/", 1)[1]
    assert app.post(login.endpoint, data={"token": in_address}).status_code == 404
    assert not login.is_waiting()


def test_an_app_may_poll_with_json(app, browser, owner):
    """Cardo and PinePods."""
    login = Login.begin(app)
    assert login.poll_by_json().status_code == 404
    submit(browser, open_page(browser, login.page), name=owner.name, password=owner.password)
    told = login.poll_by_json().json()
    owner.process.tokens.append(told["appPassword"])
    assert status(app, told["loginName"], told["appPassword"]) == 200
    assert login.poll_by_json().status_code == 404
    for body in (b"{}", b'{"token": 5}', b' {"token": null}', b'{"token": "\\ud800"}', b"{"):
        assert app.post(login.endpoint, content=body).status_code in {404, 400}


def test_an_address_with_a_slash_at_its_end_works(app, browser, owner):
    """Cardo puts a path behind the address as it was typed."""
    base = f"{owner.process.base_url}/"
    begun = app.post(f"{base}/index.php/login/v2").json()
    assert begun["login"].startswith(f"{base}index.php/")
    page = open_page(browser, begun["login"].replace(base, f"{base}/"))
    done = submit(browser, page, name=owner.name, password=owner.password)
    assert done.reply.status_code == 200
    polled = app.post(f"{base}/index.php/login/v2/poll", data={"token": begun["poll"]["token"]})
    token = polled.json()["appPassword"]
    owner.process.tokens.append(token)
    sync = f"{base}/index.php/apps/gpoddersync"
    credential = (owner.name, token)
    for path in ("subscriptions", "episode_action"):
        for slashes in ("", "/", "//"):
            reply = app.get(f"{base}{slashes}{sync.removeprefix(base)}/{path}", auth=credential)
            assert reply.status_code == 200
    changes = {"add": [], "remove": []}
    reply = app.post(f"{sync}/subscription_change/create", json=changes, auth=credential)
    assert reply.status_code == 200
    reply = app.post(f"{sync}/episode_action/create", json=[], auth=credential)
    assert reply.status_code == 200


def test_the_page_says_what_its_reader_can_do_without_a_command(app, browser):
    page = open_page(browser, Login.begin(app).page)
    assert "<code>" not in page.reply.text
    assert "revoke its access at any time under “Apps”" in page.reply.text


def test_a_link_lets_an_app_in_once(app, browser, owner, feedkeep):
    other = Owner(feedkeep, feedkeep.new_account("a phrase too"), "a phrase too")
    login = Login.begin(app)
    for number, who in enumerate((owner, other, owner)):
        page = open_page(browser, login.page)
        done = submit(browser, page, name=who.name, password=who.password)
        assert done.reply.status_code == (403 if number else 200)
        assert ("used before" in done.reply.text) == bool(number)
        assert done.fields == {}
    told = login.poll().json()
    owner.process.tokens.append(told["appPassword"])
    assert told["loginName"] == owner.name
    for who in (owner, other):  # nor after the app has fetched its token
        page = open_page(browser, login.page)
        done = submit(browser, page, name=who.name, password=who.password)
        assert "used before" in done.reply.text
        assert login.is_waiting()


@pytest.mark.parametrize("is_disabled", [True, False], ids=["disabled", "password"])
def test_a_login_that_was_granted_ends_with_the_password_and_while_the_account_is_disabled(
    app, browser, feedkeep, is_disabled
):
    owner = Owner(feedkeep, feedkeep.new_account("a passphrase"), "a passphrase")
    login = Login.begin(app)
    page = open_page(browser, login.page)
    assert submit(browser, page, name=owner.name, password=owner.password).reply.status_code == 200
    if is_disabled:
        feedkeep.use(lambda service: service.accounts.set_disabled(owner.name, True))
    else:
        feedkeep.use(lambda service: service.accounts.set_password(owner.name, "another one"))
    assert login.is_waiting()
    feedkeep.use(lambda service: service.accounts.set_disabled(owner.name, False))
    assert login.is_waiting()


@pytest.mark.parametrize("ago", ["1201", "9" * 12, "none", "-99"])
def test_a_link_that_is_not_of_the_last_20_minutes_lets_no_app_in(app, browser, owner, ago):
    login = Login.begin(app)
    page = open_page(browser, login.page)
    second = ago if ago == "none" else str(max(0, int(time.time()) - int(ago)))
    old = re.sub(r"begun=\d+", f"begun={second}", login.page)
    shown = open_page(browser, old)
    assert shown.fields == {}
    assert "too old" in shown.reply.text
    typed = {**page.fields, "name": owner.name, "password": owner.password}
    reply = browser.post(old, data=typed)
    assert reply.status_code == 403
    assert "too old" in reply.text
    assert login.is_waiting()


def test_no_app_fetches_what_was_granted_by_a_link_that_was_made_to_seem_newer(app, browser, owner):
    secret = new_secret("x" * 43, int(time.time()) - OPEN_SECONDS - 5)
    fresh = Login.begin(app)
    address = re.sub("flow/[0-9a-f]+", f"flow/{login_of(secret).hex()}", fresh.page)
    page = open_page(browser, address)
    done = submit(browser, page, name=owner.name, password=owner.password)
    assert done.reply.status_code == 200
    assert Login(app, secret, fresh.endpoint, address).is_waiting()


def test_an_account_that_is_gone_before_the_app_polls_is_404(app, browser, feedkeep):
    gone = Owner(feedkeep, feedkeep.new_account("short lived"), "short lived")
    login = Login.begin(app)
    page = open_page(browser, login.page)
    done = submit(browser, page, name=gone.name, password=gone.password)
    assert done.reply.status_code == 200
    feedkeep.use(lambda service: service.accounts.delete(gone.name))
    assert login.poll().status_code == 404


def test_too_many_wrong_passwords_have_to_wait_on_the_page_too(tmp_path):
    with FeedkeepProcess(tmp_path) as process, httpx.Client(base_url=process.base_url) as client:
        page = open_page(client, Login.begin(client).page)
        for _ in range(10):
            page = submit(client, page, name="stranger", password="wrong")
            assert page.reply.status_code == 403
        page = submit(client, page, name="stranger", password="wrong")
        assert page.reply.status_code == 429
        assert int(page.reply.headers["Retry-After"]) > 0
        assert "wait" in page.alert


def test_behind_a_trusted_proxy_with_https_the_addresses_are_https(tmp_path):
    with (
        FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1") as process,
        httpx.Client(
            base_url=process.base_url,
            headers={"X-Forwarded-Proto": "https", "Host": "pods.example"},
        ) as client,
    ):
        login = Login.begin(client)
        assert login.page.startswith("https://pods.example/index.php/login/v2/flow/")
        assert login.endpoint.startswith("https://pods.example/")


def test_behind_a_proxy_all_addresses_are_the_public_ones(tmp_path):
    public = "https://pods.example/sync"
    settings = {"public_url": public, "trusted_proxies": "127.0.0.1"}
    with (
        FeedkeepProcess(tmp_path, **settings) as process,
        httpx.Client(base_url=process.base_url) as client,
    ):
        login = Login.begin(client)
        assert login.page.startswith(f"{public}/index.php/login/v2/flow/")
        assert login.endpoint == f"{public}/index.php/login/v2/poll"
        path = login.page.removeprefix(public)
        reply = client.get(path, headers={"X-Forwarded-Proto": "https"})
        attributes = reply.headers["Set-Cookie"].split("; ")
        assert "Secure" in attributes
        cookie_path = next(a for a in attributes if a.startswith("Path=")).removeprefix("Path=")
        assert httpx.URL(login.page).path.startswith(cookie_path)  # or no browser sends it
