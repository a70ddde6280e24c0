"""Signing up and in, recovery, the account, apps and people; over HTTP, on both stores."""

import re
from html import unescape

import pytest
from feedkeep_process import FeedkeepProcess
from page_client import PASSWORD, PageClient, administrator, place_of, signed_in

from feedkeep.model import Stamp
from feedkeep.rules.clock import MINUTE_US
from feedkeep.service.page_sessions import PageSessions

NEW_PASSWORD = "another good one"


@pytest.fixture
def chief(feedkeep):
    return administrator(feedkeep)[0]


@pytest.fixture
def stranger(feedkeep):
    return PageClient(feedkeep)


def grow_old(browser: PageClient) -> None:
    """Give a browser a session that began eleven minutes ago."""

    async def begin(service):
        long_ago = Stamp(service.now() - 11 * MINUTE_US)
        sessions = PageSessions(
            service.store, service.authentication, service.news, lambda: long_ago
        )
        return await sessions.begin(await service.accounts.named(browser.name), "a browser")

    session = browser.process.use(begin).text
    browser.http.cookies.set("feedkeep", session, domain="127.0.0.1")


def test_a_wrong_name_and_a_wrong_password_or_code_answer_alike_and_keep_the_name(feedkeep):
    name, wrong = feedkeep.new_account(PASSWORD), {"password": "wrong"}
    codes = {"code": "aaaa-bbbb-cccc-dddd", "password": NEW_PASSWORD}
    for path, field, data in (("/sign-in", "password", wrong), ("/recover", "code", codes)):
        shown = {}
        for typed in (name, "nobody12"):
            page = PageClient(feedkeep).post(path, {"name": typed, **data})
            assert page.status == 403
            assert page.problem(field).startswith(f"The name or the {field} is not right")
            assert page.values("name") == [typed]
            assert page.values("password") == [""]
            shown[typed] = page.reply.text.replace(typed, "NAME")
        assert shown[name] == shown["nobody12"]


def test_too_many_wrong_passwords_or_codes_have_to_wait(feedkeep):
    feedkeep.new_account()  # without any account, the page says how to make the first
    codes = {"name": "somebody2", "code": "aaaa-bbbb-cccc-dddd", "password": NEW_PASSWORD}
    for path, field, data in (
        ("/sign-in", "password", {"name": "some-name", "password": "wrong"}),
        ("/recover", "code", codes),
    ):
        stranger = PageClient(feedkeep)
        pages = [stranger.post(path, data) for _ in range(11)]
        assert [page.status for page in pages] == [403] * 10 + [429]
        assert int(pages[-1].reply.headers["Retry-After"]) > 0
        assert "wait" in pages[-1].problem(field)


def test_a_stranger_cannot_sign_up_where_that_is_closed_nor_by_a_link_that_is_none(stranger):
    links = ("x", "fi_" + "A" * 44, "é", "a b", "x" * 200)
    for path in ("sign-up", *(f"{kind}/{link}" for kind in ("sign-up", "reset") for link in links)):
        page = stranger.get(f"/{path}")
        assert page.status == 403, path
        assert "no longer works" in page.text
    assert stranger.post("/sign-up", {"name": "x1", "password": PASSWORD}).status == 403


def test_a_forgotten_password_is_set_by_a_code_once(anna, stranger):
    codes = re.findall(r"<code>([\w-]{19})</code>", anna.post("/account/codes").reply.text)
    assert len(set(codes)) == 10
    assert "shown once" in anna.get("/account/codes").text
    assert "10 recovery codes left" in anna.get("/account").text
    data = {"name": anna.name, "code": codes[0].upper().replace("-", " "), "password": "short"}
    page = stranger.post("/recover", data)
    assert page.status == 400
    assert "at least 8 characters" in page.problem("password")
    assert page.values("code") == [data["code"].split(" ")[0]]  # up to the first space
    page = stranger.post("/recover", {**data, "password": NEW_PASSWORD})
    assert page.path == "/"
    assert "new password is now active" in page.note
    assert "9 recovery codes left" in stranger.get("/account").text
    assert anna.get("/").path == "/sign-in"
    again = PageClient(anna.process).post("/recover", {**data, "password": PASSWORD})
    assert again.status == 403
    assert "used before" in again.problem("code")


def test_an_administrator_makes_a_link_that_sets_a_password_once(chief, feedkeep):
    ben, name = signed_in(feedkeep)
    (link,) = chief.post("/people/reset-link", {"name": name}).secrets
    assert "shown once" in chief.get("/people/link").text
    fresh = PageClient(feedkeep)
    assert name in fresh.get(link).text
    assert "at least 8" in fresh.post("/reset", {"password": "short"}).problem("password")
    assert fresh.post("/reset", {"password": NEW_PASSWORD}).path == "/"
    assert ben.get("/").path == "/sign-in"
    assert PageClient(feedkeep).get(link).status == 403
    assert fresh.post("/reset", {"password": NEW_PASSWORD}).status == 403


def test_a_new_password_or_signing_out_ends_sessions_of_others_or_this_one(anna):
    other = PageClient(anna.process)
    other.sign_in(anna.name)
    page = anna.post("/account/password", {"new_password": "short"})
    assert page.status == 400
    assert "at least 8" in page.problem("new_password")
    assert anna.post("/account/password", {"new_password": NEW_PASSWORD}).path == "/account"
    assert other.get("/").path == "/sign-in"
    assert anna.get("/").path == "/"
    assert other.sign_in(anna.name, NEW_PASSWORD).path == "/"
    assert "signed out" in anna.post("/account/sign-out-others").note
    assert other.get("/").path == "/sign-in"
    session = anna.http.cookies["feedkeep"]
    assert "You are signed out" in anna.post("/sign-out").note
    anna.http.cookies.set("feedkeep", session, domain="127.0.0.1")
    assert anna.get("/").path == "/sign-in"


@pytest.mark.parametrize(
    ("form", "field", "data"),
    [
        ("/account/password", "password", {"new_password": NEW_PASSWORD}),
        ("/account/codes", "codes_password", {}),
        ("/account/delete", "delete_password", {"name": "NAME"}),
        ("/people/reset-link", "password", {"name": "NAME"}),
        ("/people/change", "state_password", {"name": "NAME", "action": "disable"}),
    ],
)
def test_what_is_dangerous_asks_for_a_password_that_was_typed_long_ago(chief, form, field, data):
    data = {key: value.replace("NAME", chief.name) for key, value in data.items()}
    grow_old(chief)
    asked = "/account" if form.startswith("/account") else f"/people/of/{chief.name}"
    assert "current password" in chief.get(asked).text
    for typed, told in (("", "current password"), ("wrong", "not your password")):
        page = chief.post(form, {**data, "password": typed})
        assert page.status == 403, page.text
        assert told in page.problem(field)
    assert chief.get("/").path == "/"
    assert chief.post(form, {**data, "password": PASSWORD}).status in {200, 400}
    if form == "/account/codes":
        assert "current password" not in chief.get("/account").text


def test_guessing_the_password_that_is_asked_for_again_has_to_wait(chief):
    grow_old(chief)
    page = chief.get("/account")
    while page.status != 429:
        page = chief.post("/account/codes", {"password": "wrong"})
        assert page.status in {403, 429}
    assert "wait" in page.problem("codes_password")
    assert int(page.reply.headers["Retry-After"]) > 0


def test_language_time_zone_and_look_are_the_account_s(anna):
    typed = {"name": f"{anna.name} ", "password": PASSWORD}
    for zone in ("no/where", "Asia/Kolkata", "Europe/Paris"):  # the first real one is kept
        anna.post("/sign-in", {**typed, "time_zone": zone})
    assert "<option selected>Asia/Kolkata" in anna.get("/account").reply.text
    wanted = {"language": "de", "time_zone": "Europe/Berlin", "theme": "dark"}
    anna.post("/account/preferences", wanted)
    text = anna.get("/account").reply.text
    assert '<html lang="de" data-theme="dark">' in text
    assert "<option selected>Europe/Berlin" in text
    anna.post("/account/preferences", {"language": "xx", "time_zone": "x/y", "theme": "<b>"})
    assert '<html lang="en">' in anna.get("/account").reply.text
    anna.http.headers["Accept-Language"] = "fr;q=0.2, es-MX, de;q=0.9"
    assert '<html lang="es">' in anna.get("/account").reply.text


def test_a_form_whose_session_has_ended_leads_back_to_its_page(stranger):
    own = stranger.process.base_url
    for page_before, link in (
        (f"{own}/import?x=1", 'href="/sign-in?next=/import%3Fx%3D1"'),
        ("https://evil.example/import", 'href="/sign-in"'),
    ):
        headers = {"Referer": page_before, "Origin": own}
        reply = stranger.bare_post("/feeds/add", {"urls": "https://a.example"}, headers=headers)
        assert reply.status_code == 401
        assert link in reply.text
        assert reply.headers["Cache-Control"] == "private, no-cache"  # going back shows it again


def test_everything_of_an_account_is_one_file_and_goes_by_typing_its_name(anna):
    anna.add("https://a.example/feed", "https://b.example/feed")
    anna.post(f"{place_of('https://a.example/feed')}/move", {"new_url": "https://c.example/feed"})
    reply = anna.http.get("/account/download")
    assert "attachment" in reply.headers["Content-Disposition"]
    everything = reply.json()
    urls = {feed["feed_url"] for feed in everything["feeds"]}
    assert urls == {"https://b.example/feed", "https://c.example/feed"}
    assert everything["episode_actions"] == everything["devices"] == []
    with anna.process.client(anna.name) as app:
        action = {"podcast": "https://b.example/feed", "episode": "https://b.example/1.mp3"}
        actions = [{**action, "action": "new"}, {**action, "action": "download"}]
        app.post(f"/api/2/episodes/{anna.name}.json", json=actions)
        app.post(f"/api/2/devices/{anna.name}/phone.json", json={"caption": "Phone"})
    everything = anna.http.get("/account/download").json()
    assert len(everything["episode_actions"]) == 2
    assert everything["devices"][0]["caption"] == "Phone"
    ended = [state for state in everything["history"] if state["ended"]]
    assert [state["entry"]["feed_url"] for state in ended] == ["https://a.example/feed"]
    assert ended[0]["author"]["kind"] == "browser"
    anna.post("/account/preferences", {"theme": "dark"})
    with_theme = anna.http.get("/account/download").json()["documents"]
    assert {one["kind"] for one in with_theme} == {"preferences"}
    assert with_theme[0]["body"]["theme"] == "dark"
    assert {one["purpose"] for one in everything["secrets"]} == {"pages", "apps"}
    assert "hash" not in reply.text
    page = anna.post("/account/delete", {"name": "other"})
    assert page.status == 400
    assert "Type the name" in page.problem("name")
    assert "account is deleted" in anna.post("/account/delete", {"name": anna.name.upper()}).note
    assert "feedkeep" not in anna.http.cookies
    assert anna.sign_in(anna.name).status == 403


def test_an_app_is_connected_seen_and_ended(anna):
    name = anna.name
    assert "No app is connected yet" in anna.get("/apps").text
    assert "AntennaPod" in anna.get("/apps/connect").text
    page = anna.post("/apps/connect/antennapod", {"label": "  my phone ", "scope": "write"})
    server, user, secret = page.secrets
    assert (server, user) == (anna.process.base_url, name)
    assert "data:image/svg+xml" in page.reply.text
    assert secret in anna.get("/apps/connected").secrets  # also after a reload
    with PageClient(anna.process).http as app:
        assert app.get("/subscriptions", auth=(name, secret)).status_code == 200
        assert secret not in anna.until("/apps/connected", "Connected: my phone").text
        assert "Connected: my phone" in anna.get("/apps/connected").text
        added = {"subscriptions": [{"feed_url": "https://a.example"}]}
        assert app.post("/subscriptions", auth=(name, secret), json=added).status_code == 200
        cards = anna.get("/apps").text
        assert "my phone Last sync" in cards
        assert "Last change it sent 1 feed, just now" in cards
        assert "read and change your list" in cards
        (number,) = anna.get("/apps").values("id")
        assert "Disconnect my phone?" in anna.get(f"/apps/disconnect?id={number}").text
        assert "my phone is disconnected." in anna.post("/apps/disconnect", {"id": number}).note
        assert app.get("/subscriptions", auth=(name, secret)).status_code == 401
    assert anna.post("/apps/disconnect", {"id": number}).note == "That app is disconnected."
    assert anna.get(f"/apps/disconnect?id={number}").path == "/apps"
    assert "no longer shown" in anna.get("/apps/connected").text
    for wrong in ("x", "", "9" * 30):
        assert anna.post("/apps/disconnect", {"id": wrong}).status == 404


def test_a_new_password_is_shown_in_the_browser_that_made_it_alone(feedkeep, anna):
    anna.post("/apps/connect/kasts", {"label": "phone"})
    kept = anna.http.cookies["feedkeep_new_password"]
    ben, _ = signed_in(feedkeep)
    for cookie in (kept, kept[:-8], "x", ""):
        ben.http.cookies.set("feedkeep_new_password", cookie, domain="127.0.0.1")
        assert "no longer shown" in ben.get("/apps/connected").text
    assert anna.get("/apps/connected").secrets


def test_an_app_that_may_only_read_changes_nothing(anna):
    [secret, *_] = anna.post("/apps/connect/developer", {"label": "shelf", "scope": "read"}).secrets
    body = {"subscriptions": [{"feed_url": "https://a.example"}]}
    headers = {"Authorization": f"Bearer {secret}"}
    assert anna.http.post("/subscriptions", json=body, headers=headers).status_code == 403
    assert anna.http.get("/subscriptions", headers=headers).json()["total"] == 0
    assert "only read your list" in anna.get("/apps").text


def test_every_kind_of_app_is_explained(anna):
    for kind in ("antennapod", "gpodder", "kasts", "nextcloud", "other"):
        assert anna.process.base_url in anna.get(f"/apps/connect/{kind}").text
        page = anna.post(f"/apps/connect/{kind}", {})
        assert anna.process.base_url in page.secrets
    assert "leave out the path" not in anna.get("/apps/connect/antennapod").text
    assert anna.get("/apps/connect/nonsense").status == 404
    assert anna.post("/apps/connect/nonsense").status == 404


def test_no_more_apps_are_connected_than_there_may_be(anna):
    async def connect(service):
        account = await service.accounts.named(anna.name)
        for number in range(200):
            await service.apps.connect(account, str(number), "write")

    anna.process.use(connect)
    page = anna.post("/apps/connect/other", {"label": "one more"})
    assert page.status == 400
    assert "200" in page.problem("label")
    assert page.values("label") == ["one"] or "one more" in page.reply.text


def test_administrators_see_people_and_change_them(chief, feedkeep):
    ben, name = signed_in(feedkeep)
    assert name in chief.get(f"/people?q={name}").text
    place = f"/people/of/{name}"
    assert "Make administrator" in chief.get(place).text

    def change(action, **more):
        return chief.post("/people/change", {"name": name, "action": action, **more}).note

    assert "administrator now" in change("admin")
    assert ben.get("/people").status == 200
    assert "no longer an administrator" in change("no-admin")
    assert "disabled" in change("disable")
    assert ben.get("/").path == "/sign-in"
    assert "disabled" in chief.get(place).text
    assert "enabled" in change("enable")
    page = chief.post("/people/change", {"name": name, "action": "delete", "typed": "x"})
    assert (page.status, "Type the name" in page.problem("typed")) == (400, True)
    assert "deleted" in change("delete", typed=name)
    assert chief.get(place).status == 404
    for form in ("change", "reset-link"):
        data = {"name": name, "action": "disable"}
        assert chief.post(f"/people/{form}", data).status == 404
    assert chief.post("/people/change", {"name": chief.name, "action": "x"}).status == 404


def test_the_last_administrator_stays_and_finds_people_by_the_beginning_of_their_names(tmp_path):
    with FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1") as process:
        chief, name = administrator(process)
        for form, field, data in (
            ("/people/change", "action", {"name": name, "action": "disable"}),
            ("/people/change", "action", {"name": name, "action": "no-admin"}),
            ("/account/delete", "name", {"name": name}),
        ):
            grow_old(chief)
            page = chief.post(form, {**data, "password": PASSWORD})
            assert page.status == 400, data
            assert "administrator" in page.problem(field)
            assert chief.get("/").path == "/"  # the password began a new session
        assert 'role="search"' not in chief.get("/people").reply.text
        names = [f"zoe{number}" for number in range(100, 302)]
        process.must("account", "import", "-", stdin="\n".join(["name", *names]))
        assert 'role="search"' in chief.get("/people").reply.text
        page = chief.get("/people?q=ZOE2")
        found = re.findall(r'href="/people/of/([^"]+)"', page.reply.text)
        assert (found, "/people?after" in page.reply.text) == (names[100:200], False)
        page = chief.get("/people?q=zoe")
        page = chief.get(unescape(re.search(r'href="(/people\?after=[^"]*)"', page.reply.text)[1]))
        assert re.findall(r'href="/people/of/([^"]+)"', page.reply.text) == names[100:200]
        assert page.values("q") == ["zoe"]
        assert "No name starts with that." in chief.get("/people?q=stranger").text


def test_an_invitation_makes_one_account_while_that_is_allowed(tmp_path):
    with FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1", registration="invited") as process:
        chief, name = administrator(process)
        process.passwords.append(PASSWORD)
        (link,) = chief.post("/people/invite", {"label": "Ben"}).secrets
        assert "Ben" in chief.get("/people").text
        ben = PageClient(process)
        assert "Create your account" in ben.get(link).text
        for typed, field, told in [
            ({"name": "b n", "password": PASSWORD}, "name", "letters, digits"),
            ({"name": name.lower(), "password": PASSWORD}, "name", ""),
            ({"name": "ben", "password": "short"}, "password", "at least 8"),
        ]:
            page = ben.post("/sign-up", typed)
            assert page.status == 400, typed
            assert page.problem(field), typed
            assert told in page.problem(field)
            assert page.values("name")[0] in typed["name"]
        page = ben.post("/sign-up", {"name": "ben", "password": PASSWORD})
        assert page.path == "/"
        assert "Welcome" in page.note
        assert "/people" not in page.reply.text
        assert PageClient(process).get(link).status == 403
        assert ben.post("/sign-up", {"name": "eve", "password": PASSWORD}).status == 403
        (other,) = chief.post("/people/invite", {}).secrets
        number = chief.get("/people").values("id")[-1]
        assert "no longer" in chief.post("/people/withdraw", {"by": name, "id": number}).note
        assert chief.post("/people/withdraw", {"by": name, "id": number}).status == 200
        assert chief.post("/people/withdraw", {"by": "stranger", "id": number}).status == 404
        assert chief.post("/people/withdraw", {"by": name, "id": "x"}).status == 404
        assert PageClient(process).get(other).status == 403
        for headers in ({"Host": "feeds.example"}, None):
            page = chief.post("/people/invite", {}, headers=headers)
            assert ("public_url" in page.reply.text) is (headers is None)  # of a loopback address
        place = f"/sign-up/{page.secrets[0].rsplit('/', 1)[1]}"
        for registration, told in (
            ("closed", "Keep the link, and ask the person"),
            ("invited", "Create your account"),
        ):
            process.stop()
            process.environment["FEEDKEEP_REGISTRATION"] = registration
            process.start()
            assert told in PageClient(process).get(place).text


def test_signing_up_tells_a_name_that_apps_refuse_and_is_slowed_down(tmp_path):
    with FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1", registration="open") as process:
        taken, zoe, eve = process.new_account(PASSWORD), PageClient(process), PageClient(process)
        assert "Create an account" in zoe.get("/sign-in").text
        typed = {"name": "zoë@home", "password": PASSWORD, "time_zone": "Europe/Berlin"}
        page = zoe.post("/sign-up", typed)
        assert "<option selected>Europe/Berlin" in zoe.get("/account").reply.text
        assert "cannot sign in with your name" in page.note
        assert "takes no @" in zoe.get("/apps/connect/antennapod").text
        page = eve.post("/sign-up", {"name": taken, "password": PASSWORD})
        while page.status == 400 and len(process.log.read_bytes()) < 1_000_000:
            page = eve.post("/sign-up", {"name": taken, "password": PASSWORD})
        assert page.status == 429
        assert int(page.reply.headers["Retry-After"]) > 0


def test_people_are_told_the_health_and_that_invitations_are_switched_off(chief):
    text = chief.get("/people").text
    assert re.search(r"Stored in (SQLite|PostgreSQL), [\d.,]+ (kB|MB)", text)
    assert re.search(r"Wrong passwords in the last five minutes \d+", text)
    assert "Invitations are switched off" in text
    page = chief.post("/people/invite", {"label": "Ben"})
    assert page.status == 400
    assert "registration" in page.text
