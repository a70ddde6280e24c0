"""Access to pages, their security headers, and protection from other origins."""

import io
import re

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from page_client import PASSWORD, PageClient, Shown, administrator, signed_in
from PIL import Image
from route_table import all_pages, all_routes, path_of

from feedkeep.http.routing import PublicRoute, Route

VALUES = {
    "guid": "00000000-0000-4000-8000-000000000001", "format": "opml", "app": "antennapod",
    "name": "Stranger", "link": "x", "user": "x", "device": "x", "deletion_id": "1", "stamp": "1",
    "count": "1", "scope": "account",
}  # fmt: skip
DOWNLOADS = {"/export/opml", "/account/download", "/feeds/changed"}
FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://player.example"},
    {"Origin": "https://player.example"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
]


def pages(method: str, kind: type[Route | PublicRoute] = Route) -> list[str]:
    """Return the paths of all pages that take a method."""
    return [
        path_of(target.path, VALUES)
        for target in all_pages()
        if isinstance(target.route, kind) and method in target.route.methods
    ]


@pytest.fixture
def anna(service):
    return administrator(service)[0]


@pytest.fixture
def stranger(service):
    return PageClient(service)


def test_who_is_not_signed_in_is_led_to_sign_in_and_back(stranger, service):
    name = service.new_account(PASSWORD)
    assert len(pages("GET")) >= 10
    assert len(pages("POST")) >= 15
    for path in pages("GET"):
        page = stranger.get(path)
        assert page.path == "/sign-in", path
        assert page.values("next") == [path]
    data = {"name": name, "password": PASSWORD, "next": "/apps"}
    assert stranger.post("/sign-in", data).path == "/apps"


def test_the_address_of_a_form_that_is_opened_leads_to_the_page_with_that_form(anna):
    """A form that was refused is shown at its own address, and may be loaded anew from there."""
    only_forms = set(pages("POST")) - set(pages("GET"))
    led = {path: anna.get(path) for path in only_forms}
    assert led["/feeds/add"].path == led["/sign-out"].path == "/"
    assert led["/changes/undo"].path == "/changes"
    of_no_feed = {path for path in only_forms if VALUES["guid"] in path}
    for path in only_forms - of_no_feed:
        assert led[path].status == 200, path
        assert led[path].path == "/" or f"{path}/".startswith(f"{led[path].path}/")
    for path in of_no_feed:
        assert (led[path].status, led[path].path) == (404, f"/feeds/{VALUES['guid']}")


def test_a_form_of_who_is_not_signed_in_changes_nothing_and_says_so(stranger):
    for path in pages("POST"):
        page = stranger.post(path)
        assert page.status == 401, path
        assert "You are signed out" in page.text
        assert "WWW-Authenticate" not in page.reply.headers  # or the browser asks by itself


def test_signing_in_redirects_to_no_other_service(stranger, service):
    data = {"name": service.new_account(PASSWORD), "password": PASSWORD}
    places = ("https://evil.example", "//evil.example", "/\\evil.example", "evil", "", "/\nx")
    for place in places:
        reply = stranger.bare_post("/sign-in", {**data, "next": place})
        assert reply.headers["Location"] == "/", place


def test_no_page_of_another_origin_sends_a_form_whatever_the_interface_allows(anna):
    for path in [*pages("POST"), *pages("POST", PublicRoute)]:
        for headers in FOREIGN:
            reply = anna.bare_post(path, {"urls": "https://a.example"}, headers=headers)
            assert reply.status_code == 403, (path, headers)
            assert "You are not allowed to do that" in Shown(reply).text
    assert anna.get("/").values("feed") == []


def test_our_own_pages_send_forms(anna):
    site = "Sec-Fetch-Site"
    for headers in ({site: "same-origin"}, {site: "none"}, {"Origin": anna.process.base_url}, {}):
        reply = anna.bare_post("/feeds/add", {"urls": "https://a.example"}, headers=headers)
        assert reply.status_code == 303, headers


def test_every_page_may_load_and_be_framed_by_nothing_from_elsewhere(anna, stranger):
    shown = [anna.get(path) for path in pages("GET") if path not in DOWNLOADS]
    shown += [stranger.get(path) for path in ("/sign-in", "/sign-up", "/recover", "/reset")]
    shown += [anna.post(path) for path in pages("POST") if path != "/sign-out"][:3]
    for page in shown:
        headers = page.reply.headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none';"), page.path
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        is_answer_to_form = page.reply.request.method == "POST"
        kept = "private, no-cache" if is_answer_to_form else "no-store"
        assert headers["Cache-Control"] == kept, page.path
        assert not re.search(
            r"<style|\sstyle=|\son\w+=|<script(?! src=\"/static/)", page.reply.text
        )
        assert not re.search(r'(?:src|action)="(?!/|data:)', page.reply.text)


def test_static_files_are_kept_for_good_and_named_by_what_is_in_them(stranger):
    found = set(re.findall(r"/static/[\w.-]+", stranger.get("/sign-in").reply.text))
    assert len(found) == 4
    sizes = {}
    for path in found:
        reply = stranger.http.get(path)
        assert reply.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        sizes[path.rsplit(".", 1)[1]] = len(reply.content)
    assert sizes["css"] <= 22 * 1024
    assert sizes["js"] <= 12 * 1024
    assert stranger.get("/static/style.css").status == 404


def test_a_phone_can_install_the_pages_and_share_links_with_them(stranger):
    page = stranger.get("/sign-in").reply
    assert "manifest-src 'self'" in page.headers["Content-Security-Policy"]
    [place] = re.findall(r'<link rel="manifest" href="([^"]+)">', page.text)
    reply = stranger.http.get(place)
    assert reply.headers["Content-Type"] == "application/manifest+json"
    manifest = reply.json()
    for icon in manifest["icons"]:
        image = Image.open(io.BytesIO(stranger.http.get(f"/{icon['src']}").content))
        assert (image.format, icon["sizes"]) == ("PNG", f"{image.width}x{image.height}")
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    target = manifest["share_target"]
    assert (target["action"], target["method"]) == ("./", "GET")
    assert set(target["params"].values()) == {"title", "text", "url"}
    icon = Image.open(io.BytesIO(stranger.http.get("/favicon.ico").content))
    assert icon.format == "ICO"


def test_the_cookie_of_a_session_is_the_service_s_own_and_of_https_only_where_that_is_used(service):
    data = {"name": service.new_account(PASSWORD), "password": PASSWORD}
    browser = PageClient(service)
    plain = browser.bare_post("/sign-in", data)
    assert plain.headers["Set-Cookie"].startswith("feedkeep=fp_")
    assert plain.headers["Set-Cookie"].endswith(
        "; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax"
    )
    proxied = {"X-Forwarded-Proto": "https"}
    secure = PageClient(service).bare_post("/sign-in", data, headers=proxied)
    assert secure.headers["Set-Cookie"].startswith("__Host-feedkeep=fp_")
    assert secure.headers["Set-Cookie"].endswith("; HttpOnly; SameSite=Lax; Secure")
    ended = browser.bare_post("/sign-out")  # which leaves nothing to go back to
    assert ended.headers["Clear-Site-Data"] == '"cache"'


def test_a_browser_s_session_opens_nothing_but_pages_and_a_refused_one_is_logged(anna, stranger):
    stranger.http.cookies["feedkeep"] = "fp_unknown"
    refused = stranger.http.get("/account")
    line = anna.process.wait_for_line(refused.headers["x-request-id"])
    assert (line["event"], line["credential"]) == ("login refused", "browser")
    session = anna.http.cookies["feedkeep"]
    anna.process.tokens.append(session)
    ways = [
        {"Cookie": f"feedkeep={session}"},
        {"Cookie": f"sessionid={session}"},
        {"Cookie": f"sessionid={session.replace('fp_', 'fs_', 1)}"},
        {"Authorization": f"Bearer {session}"},
        {"Authorization": f"Bearer {session.replace('fp_', 'fk_', 1)}"},
    ]
    for target in all_routes():
        if isinstance(target.route, Route):
            path = path_of(target.path, VALUES)
            for headers in ways:
                assert stranger.http.get(path, headers=headers).status_code == 401, (path, headers)


def test_what_opens_the_interface_opens_no_page(service):
    name = service.new_account(PASSWORD)
    token = service.new_token(name)
    with httpx.Client(base_url=service.base_url) as app:
        app.post(f"/api/2/auth/{name}/login.json", auth=(name, PASSWORD))
        session = app.cookies["sessionid"]
    service.tokens.append(session)
    for text in (token, session):
        for cookie in (text, "fp_" + text[3:]):
            for headers in ({"Cookie": f"feedkeep={cookie}"}, {"Authorization": f"Bearer {text}"}):
                reply = httpx.get(f"{service.base_url}/apps", headers=headers)
                assert reply.status_code == 303, headers
    reply = httpx.get(f"{service.base_url}/apps", auth=(name, PASSWORD))
    assert reply.status_code == 303


def test_what_is_for_administrators_is_refused_to_others(service, anna):
    ben, name = signed_in(service)
    for path in ("/people", f"/people/of/{name}", "/people/link"):
        assert anna.get(path).status == 200
        assert ben.get(path).status == 403
    for path in [path for path in pages("POST") if path.startswith("/people/")]:
        data = {"name": name, "action": "admin", "by": name, "id": "1", "label": "x"}
        assert ben.post(path, data).status == 403
    account = service.use(lambda service: service.accounts.named(name))
    assert not account.is_admin
    assert "/people" not in ben.get("/").reply.text


def test_no_account_sees_or_changes_what_is_another_s(service, anna):
    anna.add("https://secret.example/feed")
    (guid,) = anna.get("/").values("feed")
    anna.post("/apps/connect/antennapod", {"label": "phone"})
    (number,) = anna.get("/apps").values("id")
    before = anna.get("/").reply.text
    ben, _ = signed_in(service)
    assert "secret.example" not in ben.get("/").reply.text
    assert ben.get(f"/feeds/{guid}").status == 404
    for form in ("move", "merge", "apart", "delete"):
        other = {"other_url": "https://secret.example/feed", "other": guid}
        data = {"new_url": "https://b.example", **other}
        assert ben.post(f"/feeds/{guid}/{form}", data).status == 404
    for form in ("unsubscribe", "subscribe"):
        ben.post(f"/feeds/{form}", {"feed": guid, "only": guid})
    stamps = anna.get("/changes").values("stamps")
    assert stamps
    for stamp in stamps:
        for when in ("ask", "leave", "overwrite"):
            data = {"stamps": stamp, "guid": guid, "when": when}
            assert "no longer, in the history" in ben.post("/changes/undo", data).note
    for page in ("/changes", f"/changes/restore?at={stamps[0]}"):
        assert "secret.example" not in ben.get(page).reply.text
    ben.post("/changes/restore", {"at": stamps[0], "keep": "0"})
    ben.post("/changes/meant", {"stamps": "9" * 17})
    ben.post("/apps/disconnect", {"id": number})
    assert anna.get("/").reply.text == before
    assert anna.get("/apps").values("id") == [number]
    assert ben.get("/apps").values("id") == []


def test_no_secret_of_the_pages_ends_in_the_log(tmp_path):
    with FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1", registration="invited") as process:
        link = re.search(r"/sign-up/(\S+)", "".join(process.printed))
        process.tokens.append(link[1])
        process.passwords.append(PASSWORD)
        anna = PageClient(process)
        anna.get(link[0])
        anna.post("/sign-up", {"name": "anna", "password": PASSWORD})
        codes = re.findall(r"<code>([\w-]{19})</code>", anna.post("/account/codes").reply.text)
        assert len(codes) == 10
        invited = anna.post("/people/invite", {"label": "Ben"}).secrets[0]
        reset = anna.post("/people/reset-link", {"name": "anna"}).secrets[0]
        app = anna.post("/apps/connect/other", {"label": "x"}).secrets[2]
        told = [*codes, invited.rsplit("/", 1)[1], reset.rsplit("/", 1)[1], app]
        assert set(told) <= set(process.tokens)
        process.tokens.append(anna.http.cookies["feedkeep"])
        ben = PageClient(process)
        for path in (invited, reset):
            page = ben.get(path)
            assert page.status == 200
            assert path.rsplit("/", 1)[1] not in str(page.reply.url)  # nor in a Referer, then
        ben.post("/recover", {"name": "anna", "code": codes[0], "password": PASSWORD})
        ben.post("/recover", {"name": codes[1], "code": codes[1], "password": "x"})
        ben.post("/sign-in", {"name": PASSWORD, "password": app})
    # FeedkeepProcess looks for all of them in the log and in the database when it stops.
