"""The pages where clients reach the service under a path of another site."""

import re
from html import unescape

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of
from known_feeds import know, picture, png
from page_client import PASSWORD, PageClient
from playwright.sync_api import expect

FEED = "https://of-a-path.example/feed"
PATH = "/home/feedkeep"
_PLACES = re.compile(r'(?:href|src|action|formaction)="([^"]*)"')
_WITHOUT_QUOTES = re.compile(r"=/\w")


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    folder = tmp_path_factory.mktemp("path")
    process = FeedkeepProcess(
        folder,
        public_url=f"https://site.example{PATH}/",
        trusted_proxies="127.0.0.1",
        registration="invited",
    )
    with process, process.used_often():
        yield process


class Proxy(httpx.HTTPTransport):
    """Hands on what is under the path, and nothing else; it takes the path off, or leaves it."""

    def __init__(self, address: str, *, takes_path_off: bool) -> None:
        super().__init__()
        self._address = httpx.URL(address)
        self._takes_path_off = takes_path_off

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        if not path.startswith(f"{PATH}/"):
            return httpx.Response(410, text=f"This is not feedkeep's: {path}")
        if self._takes_path_off:
            path = path.removeprefix(PATH)
        url, headers = self._address.copy_with(raw_path=path.encode()), request.headers
        handed_on = httpx.Request(request.method, url, headers=headers, stream=request.stream)
        return super().handle_request(handed_on)


@pytest.fixture(params=[True, False], ids=["taken off", "left there"])
def chief(request, process):
    """The browser of an administrator, behind a proxy that is reached by HTTPS."""
    name = process.new_account(PASSWORD)
    process.use(lambda service: service.accounts.set_admin(name, True))
    proxy = Proxy(process.base_url, takes_path_off=request.param)
    secure = {"X-Forwarded-Proto": "https"}
    client = PageClient(process, f"https://site.example{PATH}", proxy, **secure)
    assert client.sign_in(name).path == f"{PATH}/"
    return client


def test_every_place_on_every_page_is_under_the_path(chief):
    shown = "https://of-a-path.example/shown"
    know(chief.process, shown, "A show", shown=picture(png(180, 60, 40)))
    assert chief.add(FEED, shown).status == 200
    assert chief.post("/feeds/unsubscribe", {"url": FEED}).status == 200
    seen: set[str] = set()
    todo = {f"{PATH}/"}
    while todo:
        place = todo.pop()
        seen.add(place.partition("?")[0])
        shown = chief.get(f"https://site.example{place}")
        assert shown.status == 200, f"{place}: {shown.reply.text}"
        if "html" not in shown.reply.headers["content-type"]:
            continue
        assert not _WITHOUT_QUOTES.search(shown.reply.text), place
        named = {unescape(one).partition("#")[0] for one in _PLACES.findall(shown.reply.text)}
        found = {name for name in named if name.startswith("/")}
        assert all(name.startswith(f"{PATH}/") for name in found), (place, found)
        todo |= {name for name in found if name.partition("?")[0] not in seen}
    for place in ("/static/", "/feeds/", "/pictures/", "/apps/connect/kasts", "/people/of/"):
        assert any(name.startswith(PATH + place) for name in seen), place
    servers = chief.get("/openapi.json").reply.json()["servers"]
    assert [server["url"] for server in servers] == [f"{PATH}/", f"{PATH}/v1"]


def test_cookies_are_for_the_path_and_nothing_else(chief):
    assert {cookie.path for cookie in chief.http.cookies.jar} == {PATH}
    assert all(cookie.name.startswith("__Secure-") for cookie in chief.http.cookies.jar)
    ended = chief.bare_post("/sign-out")
    assert ended.headers["location"] == f"{PATH}/sign-in"
    assert "Max-Age=0" in ended.headers["set-cookie"]
    assert [cookie.name for cookie in chief.http.cookies.jar] == ["__Secure-feedkeep_note"]


def test_cookies_of_apps_are_for_the_path_if_they_came_by_it(process):
    name = process.new_account(PASSWORD)
    flow = "/index.php/login/v2/flow/" + "0a" * 32 + "?begun=99999999999"
    auth = httpx.BasicAuth(name, PASSWORD)
    # A proxy has an address that is trusted, which says nothing of who is at home without it.
    for prefix, path in ((PATH, PATH), ("", PATH)):
        with httpx.Client(base_url=process.base_url + prefix, auth=auth) as app:
            app.post(f"/api/2/auth/{name}/login.json").raise_for_status()
            app.get(flow).raise_for_status()
            assert {cookie.path for cookie in app.cookies.jar} == {path}
    with FeedkeepProcess(
        process.folder, process.database, public_url=f"https://site.example{PATH}"
    ) as at_home:
        for prefix in ("", PATH):
            with httpx.Client(base_url=at_home.base_url + prefix, auth=auth) as app:
                app.post(f"/api/2/auth/{name}/login.json").raise_for_status()
                app.get(flow).raise_for_status()
                assert {cookie.path for cookie in app.cookies.jar} == {prefix or "/"}
                assert app.get(f"/api/2/devices/{name}.json", auth=None).status_code == 200


def test_a_person_who_has_to_sign_in_is_led_back_to_the_page(chief):
    name = chief.process.new_account(PASSWORD)
    chief.http.cookies.clear()
    page = chief.get("/apps/connect/kasts?x=1")
    assert (page.path, page.values("next")) == (f"{PATH}/sign-in", ["/apps/connect/kasts?x=1"])
    typed = {"name": name, "password": PASSWORD, "next": page.values("next")[0]}
    assert chief.post("/sign-in", typed).path == f"{PATH}/apps/connect/kasts"


def test_links_and_apps_have_the_path(chief):
    [link] = chief.post("/people/invite", {"password": PASSWORD}).secrets
    assert link.startswith(f"https://site.example{PATH}/sign-up/")
    assert chief.get(link).path == f"{PATH}/sign-up"
    page = chief.get("/apps/connect/antennapod")
    assert f"https://site.example{PATH}" in page.secrets
    assert f"leave out the path {PATH} here" in page.text
    name = chief.process.new_account(PASSWORD)
    login = f"/api/2/auth/{name}/login.json"
    assert chief.bare_post(login, auth=(name, PASSWORD)).status_code == 200
    begun = chief.bare_post("/index.php/login/v2").json()
    assert begun["login"].startswith(f"https://site.example{PATH}/index.php/login/v2/")
    assert chief.get(begun["login"]).status == 200


@pytest.mark.parametrize("has_script", first_of(True, False))
def test_a_person_uses_the_list_under_a_path(process, visit, has_script):
    name = process.new_account(PASSWORD)
    laptop, phone = visit(process, has_script=has_script), visit(process)
    for visitor in (laptop, phone):
        if visitor.has_script:
            visitor.holds_the_clock()
        visitor.open(f"{PATH}/")
        visitor.fill_in({"Name": name, "Password": PASSWORD})
        visitor.press("Sign in")
    laptop.add("https://a.example/feed", "https://b.example/feed")
    laptop.has_feeds(["a.example/feed", "b.example/feed"])
    phone.page.clock.run_for(6_000)  # the script asks what is new
    phone.has_feeds(["a.example/feed", "b.example/feed"])
    laptop.choose("a.example/feed")
    laptop.press("Unsubscribe from selected")
    laptop.press("Undo")
    laptop.has_feeds(["a.example/feed", "b.example/feed"])
    laptop.follow("Account")
    laptop.page.get_by_label(laptop.say("Language")).select_option("de")
    laptop.press("Save")
    expect(laptop.page.locator("html")).to_have_attribute("lang", "de")
    assert laptop.page.url == f"{process.base_url}{PATH}/account"
