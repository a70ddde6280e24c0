"""A service that lets apps in by app passwords only; its pages take people's own passwords."""

import html
import re

import httpx
import pytest
from feedkeep_process import FeedkeepProcess

from feedkeep.web.apps import GUIDES

PASSWORD = "the right one"
LOGIN = "/api/2/auth/{name}/login.json"
PROTOCOLS = (
    "/subscriptions",
    "/api/2/devices/{name}.json",
    "/index.php/apps/gpoddersync/subscriptions",
    LOGIN,
)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("app_passwords_only")
    with FeedkeepProcess(folder, app_passwords_only="true") as process:
        yield process


def get(service, path, name, password):
    url = service.base_url + path.format(name=name)
    return httpx.request("POST" if path == LOGIN else "GET", url, auth=(name, password))


def opened_by(service, name, secret):
    return [path for path in PROTOCOLS if get(service, path, name, secret).status_code == 200]


def test_an_app_with_the_accounts_password_learns_where_to_make_an_app_password(service):
    name = service.new_account(PASSWORD)
    for path in PROTOCOLS:
        # Whether name and password are right makes no difference, and however often: no 429.
        for who, password in ((name, PASSWORD), *[(name, "wrong"), ("stranger", "wrong")] * 8):
            reply = get(service, path, who, password)
            assert reply.status_code == 401
            assert reply.headers["WWW-Authenticate"].startswith("Basic ")
            assert "set-cookie" not in reply.headers
            assert reply.json() == {
                "code": "401",
                "message": "The user is not authorized. Use an app password in the app: create one"
                " at /apps/connect.",
            }
    assert '"reason":"not an app password"' in service.log.read_text()


@pytest.mark.parametrize("app", GUIDES)
def test_the_page_of_each_app_makes_a_password_that_opens_every_protocol(service, app):
    name, page = service.new_account(PASSWORD), f"/apps/connect/{app}"
    with httpx.Client(base_url=service.base_url, follow_redirects=True) as browser:
        browser.post("/sign-in", data={"name": name, "password": PASSWORD})
        assert f'action="{page}"' in browser.get(page).text
        made = browser.post(page, data={"label": "phone", "scope": "write"})
    (secret,) = set(re.findall(r"fk_[\w-]{44}", html.unescape(made.text)))
    assert opened_by(service, name, secret) == [*PROTOCOLS]


def test_an_app_that_logs_in_by_nextclouds_page_is_let_in(service):
    name = service.new_account(PASSWORD)
    with httpx.Client(base_url=service.base_url) as browser:
        begun = browser.post("/index.php/login/v2").json()
        (form,) = re.findall(r'name="secret" value="([^"]+)"', browser.get(begun["login"]).text)
        sent = {"secret": form, "name": name, "password": PASSWORD}
        assert browser.post(begun["login"], data=sent).status_code == 303
        poll = {"token": begun["poll"]["token"]}
        secret = browser.post("/index.php/login/v2/poll", data=poll).json()["appPassword"]
    assert opened_by(service, name, secret) == [*PROTOCOLS]


def test_the_message_has_the_public_address(tmp_path):
    url = "https://home.example/feedkeep/"
    with FeedkeepProcess(tmp_path, app_passwords_only="true", public_url=url) as process:
        reply = get(process, "/subscriptions", "stranger", "x")
        assert reply.json()["message"].endswith("https://home.example/feedkeep/apps/connect.")
