"""The login flow v2, as AntennaPod and its owner's browser go through it."""

import re
import time

import httpx
import pytest
from browser import Login, Owner, Page, grant, let_in, open_page, submit
from feedkeep_process import FeedkeepProcess
from markupsafe import escape

from feedkeep.service.logins import OPEN_SECONDS, login_of, new_secret

SUBSCRIPTIONS = "/index.php/apps/gpoddersync/subscriptions"
EVIL = """<script>alert(1)</script>" onload='x' &amp; {app}"""


@pytest.fixture
def login(app):
    return Login.begin(app)


@pytest.fixture
def page(browser, login):
    return open_page(browser, login.page)


def status(app, told):
    return app.get(SUBSCRIPTIONS, auth=(told["loginName"], told["appPassword"])).status_code


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
    in_address = httpx.URL(login.page).path.rsplit("/", 1)[1]
    assert app.post(login.endpoint, data={"token": in_address}).status_code == 404
    told = login.fetched(owner)
    assert set(told) == {"server", "loginName", "appPassword"}
    assert (told["server"], told["loginName"]) == (owner.process.base_url, owner.name)
    assert [login.poll().status_code for _ in range(4)] == [404] * 4  # both processes
    assert status(app, told) == 200


def test_an_app_that_asks_to_read_is_let_in_to_read_and_its_owner_is_told(app, browser, owner):
    login = Login.begin(app, scope="read", app="Reader of lists")
    page = open_page(browser, login.page)
    assert "<strong>Reader of lists</strong> asks to read your account." in page.reply.text
    grant(browser, page, owner)
    bearer = {"Authorization": f"Bearer {login.fetched(owner)['appPassword']}"}
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
        grant(browser, page, owner)
        assert login.is_waiting()
    reply = app.post("/index.php/login/v2?scope=all")  # there is no other scope
    assert (reply.status_code, "read and write" in reply.json()["message"]) == (400, True)
    assert browser.get(f"{login.page}&scope=all").status_code == 400


def test_the_token_is_named_after_the_app_and_can_be_revoked(app, browser, owner):
    told = let_in(app, browser, owner)
    feedkeep = owner.process
    listed = feedkeep.must("token", "list", owner.name)
    number = re.findall(r"(\d+)\s.*active.*AntennaPod/3\.9\.0", listed)[-1]
    feedkeep.use(lambda service: service.tokens.revoke(owner.name, int(number)))
    assert status(app, told) == 401


def test_a_wrong_password_is_rejected_and_can_be_tried_again(browser, owner, login, page):
    again = submit(browser, page, name=owner.name, password="wrong")
    assert again.reply.status_code == 403
    assert "not right" in again.alert
    assert "WWW-Authenticate" not in again.reply.headers  # or the browser would ask by itself
    assert login.is_waiting()
    grant(browser, again, owner)
    assert not login.is_waiting()


@pytest.mark.parametrize("secret", [{}, {"secret": ""}, {"secret": "guessed"}])
def test_a_form_without_the_secret_of_its_page_is_refused(browser, owner, login, page, secret):
    fields = {"name": owner.name, "password": owner.password}
    reply = browser.post(page.action, data=fields | secret)
    assert reply.status_code == 403
    assert "try again" in Page(reply).alert
    assert login.is_waiting()


def test_a_form_that_comes_from_another_browser_is_refused(owner, login, page):
    fields = {"name": owner.name, "password": owner.password}
    with httpx.Client(timeout=30) as elsewhere:
        for secret in (page.fields["secret"], ""):
            for headers in ({}, {"Cookie": "feedkeep_login="}):
                data = fields | {"secret": secret}
                reply = elsewhere.post(page.action, data=data, headers=headers)
                assert reply.status_code == 403
                assert login.is_waiting()


def test_each_page_has_a_secret_of_its_own_in_a_cookie_that_no_other_site_sends(browser, login):
    secrets = set()
    for _ in range(3):
        page = open_page(browser, login.page)
        secrets.add(page.fields["secret"])
        cookie = page.reply.headers["Set-Cookie"]
        assert f"={page.fields['secret']};" in cookie
        assert {"HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
    assert len(secrets) == 3


def test_the_page_works_without_its_script_and_loads_from_this_service_only(browser, owner, page):
    done = grant(browser, page, owner)
    assert (page.method, page.action) == ("post", str(page.reply.url))
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
    assert "<code>" not in page.reply.text
    assert "revoke its access at any time under “Apps”" in page.reply.text
    assert "style" not in page.attributes
    parts = page.reply.headers["Content-Security-Policy"].split("; ")
    assert dict(part.split(" ", 1) for part in parts) == {
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


def test_the_name_of_the_app_is_shown_and_is_no_markup(app, browser, owner):
    app.headers["User-Agent"] = EVIL
    page = open_page(browser, Login.begin(app).page)
    for shown in (page, grant(browser, page, owner)):
        assert "<script>" not in shown.reply.text
        assert escape(EVIL) in shown.reply.text
    plain = httpx.URL(str(page.reply.url)).copy_remove_param("app")
    assert "An app" in open_page(browser, str(plain)).reply.text


def test_two_logins_at_once_are_not_mixed_up(app, browser, owner):
    first, second = Login.begin(app), Login.begin(app)
    grant(browser, open_page(browser, first.page), owner)
    assert second.is_waiting()
    assert not first.is_waiting()


def test_polling_with_what_began_no_login_is_404(app):
    poll = "/index.php/login/v2/poll"
    for data in ({}, {"token": ""}, {"token": "x"}, {"token": "0" * 64}):
        assert app.post(poll, data=data).status_code == 404
    assert app.post(poll, content=b"\xff=\xff").status_code == 404
    for body in (b"{}", b'{"token": 5}', b' {"token": null}', b'{"token": "\\ud800"}', b"{"):
        assert app.post(poll, content=body).status_code in {404, 400}


def test_an_app_may_poll_with_json(app, browser, owner, login, page):
    """Cardo and PinePods."""
    by_json = {"content": f' {{"token": "{login.token}"}}'}
    assert app.post(login.endpoint, **by_json).status_code == 404
    grant(browser, page, owner)
    assert status(app, login.fetched(owner, **by_json)) == 200
    assert app.post(login.endpoint, **by_json).status_code == 404


def test_an_address_with_a_slash_at_its_end_works(app, browser, owner):
    """Cardo puts a path behind the address as it was typed."""
    base = f"{owner.process.base_url}/"
    begun = app.post(f"{base}/index.php/login/v2").json()
    assert begun["login"].startswith(f"{base}index.php/")
    grant(browser, open_page(browser, begun["login"].replace(base, f"{base}/")), owner)
    login = Login(app, begun["poll"]["token"], f"{base}/index.php/login/v2/poll", "")
    credential = (owner.name, login.fetched(owner)["appPassword"])
    sync = "index.php/apps/gpoddersync"
    for slashes in ("", "/", "//"):
        for path in ("subscriptions", "episode_action"):
            assert app.get(f"{base}{slashes}{sync}/{path}", auth=credential).status_code == 200
    for path, body in (
        ("subscription_change/create", {"add": [], "remove": []}),
        ("episode_action/create", []),
    ):
        assert app.post(f"{base}/{sync}/{path}", json=body, auth=credential).status_code == 200


def test_a_link_lets_an_app_in_once(browser, owner, login, feedkeep):
    other = Owner.new(feedkeep, "a passphrase")
    for number, who in enumerate((owner, other, owner)):
        done = grant(browser, open_page(browser, login.page), who, 403 if number else 200)
        assert ("used before" in done.reply.text) == bool(number)
        assert done.fields == {}
    assert login.fetched(owner)["loginName"] == owner.name
    for who in (owner, other):  # nor after the app has fetched its token
        done = grant(browser, open_page(browser, login.page), who, 403)
        assert "used before" in done.reply.text
        assert login.is_waiting()


@pytest.mark.parametrize(
    ("method", "arguments"),
    [("set_disabled", (True,)), ("set_password", ("another one",)), ("delete", ())],
)
def test_a_granted_login_ends_with_the_password_or_account_and_while_that_is_disabled(
    browser, feedkeep, login, page, method, arguments
):
    owner = Owner.new(feedkeep, "a passphrase")
    grant(browser, page, owner)
    feedkeep.use(lambda service: getattr(service.accounts, method)(owner.name, *arguments))
    assert login.poll().status_code == 404
    if method != "delete":
        feedkeep.use(lambda service: service.accounts.set_disabled(owner.name, False))
        assert login.is_waiting()


@pytest.mark.parametrize("ago", ["1201", "9" * 12, "none", "-99"])
def test_a_link_that_is_not_of_the_last_20_minutes_lets_no_app_in(browser, owner, login, page, ago):
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
    grant(browser, open_page(browser, address), owner)
    assert Login(app, secret, fresh.endpoint, address).is_waiting()


def test_too_many_wrong_passwords_have_to_wait_on_the_page_too(browser, login, page):
    for _ in range(10):
        page = submit(browser, page, name="nobody", password="wrong")
        assert page.reply.status_code == 403
    page = submit(browser, page, name="nobody", password="wrong")
    assert page.reply.status_code == 429
    assert int(page.reply.headers["Retry-After"]) > 0
    assert "wait" in page.alert


def test_behind_a_trusted_proxy_with_https_the_addresses_are_https(app):
    app.headers.update({"X-Forwarded-Proto": "https", "Host": "pods.example"})
    login = Login.begin(app)
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
