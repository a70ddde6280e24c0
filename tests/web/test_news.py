"""News of a list: above it, on a page of its own, and as a private feed; on both stores."""

import re
from xml.etree import ElementTree as ET

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from known_feeds import DAY_US, know
from page_client import PASSWORD, PageClient, signed_in

from feedkeep.model import Failure, Stamp
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.runtime import wall_clock

ATOM = {"atom": "http://www.w3.org/2005/Atom"}


@pytest.fixture
def reader(feedkeep):
    """An app that knows nothing but the address of a feed."""
    with httpx.Client(base_url=feedkeep.base_url) as client:
        yield client


def address(anna: PageClient) -> str:
    [link] = anna.post("/news/address").secrets
    assert link.startswith(f"{anna.process.base_url}/news/fn_")
    return link


def titles(reply: httpx.Response) -> list[str]:
    assert reply.status_code == 200
    assert reply.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    feed = ET.fromstring(reply.content)  # noqa: S314 - it is our own
    ids = [one.text for one in feed.iterfind("atom:entry/atom:id", ATOM)]
    assert len(ids) == len(set(ids))
    assert all(one.text for one in feed.iterfind("atom:entry/atom:updated", ATOM))
    return [one.text or "" for one in feed.iterfind("atom:entry/atom:title", ATOM)]


def above(anna: PageClient) -> str:
    """Return the news above the list, in HTML."""
    return anna.get("/").reply.text.partition('id="news"')[2].partition("</section>")[0]


def sign_in(anna: PageClient, secret: str, place: str, told: str) -> None:
    """Sign an app in, and wait until a page shows it, since it is stored after the reply."""
    anna.process.tokens.append(secret)
    with PageClient(anna.process).http as app:
        assert app.get("/subscriptions", auth=(anna.name, secret)).status_code == 200
    anna.until(place, told)


def connect(anna: PageClient, label: str) -> None:
    """Connect an app without the pages."""
    made = anna.process.use(lambda service: service.tokens.create(anna.name, label, None))
    sign_in(anna, made.text, "/news", f"{label} was connected")


def test_a_new_app_is_told_above_the_list_until_it_was_seen(anna):
    assert above(anna) == ""
    connect(anna, "Kasts")
    assert "Kasts was connected. If that was not you, disconnect it." in above(anna)
    assert "was connected" not in anna.get("/?q=x").text + anna.get("/?show=failing").text
    until = anna.get("/").values("until")
    assert anna.post("/news/dismiss", {"until": until}).path == "/"
    assert above(anna) == ""
    assert "Kasts was connected." in anna.get("/news").text
    for number in range(4):
        connect(anna, f"App {number}")
    assert "And 1 more" in above(anna)
    for odd in ("", "x", str(2**62)):
        assert anna.post("/news/dismiss", {"until": odd}).path == "/"


def test_app_connected_by_a_page_is_listed_but_not_warned_of(anna):
    secret = anna.post("/apps/connect/kasts", {"label": "Kasts"}).secrets[-1]
    sign_in(anna, secret, "/apps/connected", "Connected: Kasts")
    assert above(anna) == ""
    assert "Kasts was connected." in anna.get("/news").text
    connect(anna, "Another")
    assert "Another was connected" in above(anna)
    assert "Kasts" not in above(anna)


def test_app_granted_on_the_page_of_nextclouds_login_is_warned_of_in_other_browsers_alone(anna):
    begun = anna.bare_post("/index.php/login/v2").json()
    anna.post(begun["login"], {"secret": anna.get(begun["login"]).values("secret")})
    polled = anna.bare_post(begun["poll"]["endpoint"], {"token": begun["poll"]["token"]})
    sign_in(anna, polled.json()["appPassword"], "/news", "was connected")
    assert above(anna) == ""
    elsewhere = PageClient(anna.process)
    elsewhere.sign_in(anna.name)
    assert "was connected. If that was not you" in above(elsewhere)


def test_an_app_that_fell_silent_is_pointed_out(anna):
    for label in ("Old phone", "New phone"):
        connect(anna, label)

    async def fall_silent(service):
        account = await service.accounts.named(anna.name)
        [old] = [one for one in await service.apps.of(account.id) if one.name == "Old phone"]
        long_ago = Stamp(wall_clock.now() - 20 * DAY_US)
        await service.store.tokens.mark_used([(account.id, old.ids[0])], long_ago)

    anna.process.use(fall_silent)
    cards = anna.get("/apps").text
    told = "Old phone It has not synced for weeks, although others have."
    assert told in cards
    assert cards.count("It has not synced for weeks") == 1
    ids = anna.get("/apps").values("id")
    asked = "".join(anna.get(f"/apps/disconnect?id={one}").text for one in ids)
    assert (asked.count("Disconnect Old phone?"), asked.count("Disconnect New phone?")) == (1, 1)
    assert "Old phone has not synced for weeks, although other apps have." in above(anna)


def test_the_feed_tells_what_happened_and_no_address_of_a_private_feed(feedkeep, anna, reader):
    link = address(anna)
    assert titles(reader.get(link)) == ["News of your list will appear here."]
    long_ago = Stamp(wall_clock.now() - 9 * DAY_US)
    failing = {"failing": long_ago, "failures": 9, "failure": Failure.GONE}
    own = "https://members.example/news/0a1B2c3D4e5F6a7B8c9D0e1F"
    dead = "https://dead-of-the-news.example/feed"
    urls = [f"https://of-the-news.example/{number}" for number in range(9)]
    anna.add(dead, own, *urls)
    know(feedkeep, dead, "The Dead Show", fields=failing)
    know(feedkeep, own, "", fields=failing)
    found = titles(reader.get(link))
    assert "The Dead Show hasn't been readable for a week." in found
    assert "members.example hasn't been readable for a week." in found
    assert "0a1B2c3D" not in reader.get(link).text
    with feedkeep.client(anna.name) as app:
        app.put(f"/subscriptions/{anna.name}/phone.json", json=[]).raise_for_status()
    assert "phone removed many feeds at once: 11." in titles(reader.get(link))
    assert "phone removed many feeds at once: 11." in anna.get("/news").text
    old, new = "https://old-of-the-news.example/feed", "https://new-of-the-news.example/feed"
    anna.add(old)

    async def follow(service):
        account = await service.accounts.named(anna.name)
        moves = service.followed_moves
        assert await moves.follow(account.id, parse_feed_url(old), parse_feed_url(new))

    feedkeep.use(follow)
    told = "new-of-the-news.example/feed has a new address, and your list follows it."
    assert told in titles(reader.get(link))
    assert told in above(anna)
    anna.post("/account/preferences", {"language": "de"})
    assert "phone hat viele Feeds auf einmal entfernt: 11." in titles(reader.get(link))


def test_an_address_works_for_its_account_until_it_is_renewed_or_the_account_is_disabled(
    feedkeep, anna, reader
):
    first = address(anna)
    assert "shown only now" not in anna.get("/news").text
    assert "The address that you have stops working then." in anna.get("/news").text
    second = address(anna)
    assert reader.get(first).status_code == 404
    assert len(titles(reader.get(second))) == 1
    assert reader.head(second).status_code == 200
    anna.post("/account/preferences", {"language": "en"})
    assert len(titles(reader.get(second))) == 1  # other preferences keep it
    ben, _ = signed_in(feedkeep)
    third = address(ben)
    swapped = second[: second.index("fn_") + 11] + third[third.index("fn_") + 11 :]
    for wrong in (swapped, second[:-6] + ".atom", f"{feedkeep.base_url}/news/fn_x.atom"):
        assert reader.get(wrong).status_code == 404
    for is_disabled in (True, False):
        command = "disable" if is_disabled else "enable"
        feedkeep.must("account", command, anna.name)
        assert reader.get(second).status_code == (404 if is_disabled else 200)
    anna.sign_in(anna.name)
    anna.post("/account/delete", {"name": anna.name, "password": PASSWORD})
    assert reader.get(second).status_code == 404


def test_news_address_ends_with_other_sessions_or_by_its_page(anna, reader):
    [code, *_] = re.findall(r"<code>([\w-]{19})</code>", anna.post("/account/codes").reply.text)
    new = "a new one, long"
    for path, data, told in (
        ("/news/address/end", {}, "The address of your news is revoked."),
        ("/account/sign-out-others", {}, "other browsers are signed out"),
        ("/recover", {"name": anna.name, "code": code, "password": new}, "is now active"),
        ("/account/password", {"password": new, "new_password": PASSWORD}, "is now active"),
    ):
        link = address(anna)
        assert 'action="/news/address/end"' in anna.get("/news").reply.text
        assert told in anna.post(path, data).note
        assert reader.get(link).status_code == 404
        page = anna.get("/news").reply.text
        assert ("Create an address" in page, "/news/address/end" in page) == (True, False)
    again = address(anna)
    assert (reader.get(link).status_code, reader.get(again).status_code) == (404, 200)


def test_secret_that_lasts_is_made_after_a_fresh_confirmation(tmp_path):
    process = FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1")
    process.run_first("no_session_is_fresh", "hashes_are_cheap")
    with process:
        anna, _ = signed_in(process)
        for form in ("/news/address", "/apps/connect/kasts"):
            assert anna.get(form.removesuffix("/address")).values("password") == [""]
            for typed, told in ((None, "Type your current"), ("wrong one", "not your password")):
                page = anna.post(form, {"password": typed} if typed else {})
                assert page.status == 403
                assert told in page.problem("password")
                assert page.secrets == [process.base_url][: len(page.secrets)]  # of the guide
            page = anna.post(form, {"password": PASSWORD})
            assert page.status == 200
            assert page.secrets[-1] != process.base_url
