"""News of a list: above it, on a page of its own, and as a private feed; on both stores."""

import re
import time
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
def person(feedkeep):
    return signed_in(feedkeep)


@pytest.fixture
def anna(person):
    return person[0]


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


def sign_in(anna: PageClient, name: str, secret: str, place: str, told: str) -> None:
    """Let an app sign in, and wait until a page tells of it: it is stored after the reply."""
    anna.process.tokens.append(secret)
    with PageClient(anna.process).http as app:
        assert app.get("/subscriptions", auth=(name, secret)).status_code == 200
    deadline = time.monotonic() + 20
    while told not in anna.get(place).text:
        assert time.monotonic() < deadline


def connect(anna: PageClient, name: str, label: str) -> None:
    """Connect an app without the pages."""
    made = anna.process.use(lambda service: service.tokens.create(name, label, None))
    sign_in(anna, name, made.text, "/news", f"{label} was connected")


def test_a_new_app_is_told_above_the_list_until_it_was_seen(person):
    anna, name = person
    assert above(anna) == ""
    connect(anna, name, "Kasts")
    assert "Kasts was connected. If that was not you, disconnect it." in above(anna)
    assert "was connected" not in anna.get("/?q=x").text + anna.get("/?show=failing").text
    until = anna.get("/").values("until")
    assert anna.post("/news/dismiss", {"until": until}).path == "/"
    assert above(anna) == ""
    assert "Kasts was connected." in anna.get("/news").text
    for number in range(4):
        connect(anna, name, f"App {number}")
    assert "And 1 more" in above(anna)
    for odd in ("", "x", str(2**62)):
        assert anna.post("/news/dismiss", {"until": odd}).path == "/"


def test_app_connected_by_a_page_is_listed_but_not_warned_of(person):
    anna, name = person
    secret = anna.post("/apps/connect/kasts", {"label": "Kasts"}).secrets[-1]
    sign_in(anna, name, secret, "/apps/connected", "Connected: Kasts")
    assert above(anna) == ""
    assert "Kasts was connected." in anna.get("/news").text
    connect(anna, name, "Another")
    assert "Another was connected" in above(anna)
    assert "Kasts" not in above(anna)


def test_app_granted_on_the_page_of_nextclouds_login_is_warned_of_in_other_browsers_alone(person):
    anna, name = person
    begun = anna.bare_post("/index.php/login/v2").json()
    anna.post(begun["login"], {"secret": anna.get(begun["login"]).values("secret")})
    polled = anna.bare_post(begun["poll"]["endpoint"], {"token": begun["poll"]["token"]})
    sign_in(anna, name, polled.json()["appPassword"], "/news", "was connected")
    assert above(anna) == ""
    elsewhere = PageClient(anna.process)
    elsewhere.sign_in(name)
    assert "was connected. If that was not you" in above(elsewhere)


def test_an_app_that_fell_silent_is_pointed_out(person):
    anna, name = person
    for label in ("Old phone", "New phone"):
        connect(anna, name, label)

    async def fall_silent(service):
        account = await service.accounts.named(name)
        [old] = [one for one in await service.apps.of(account.id) if one.name == "Old phone"]
        long_ago = Stamp(wall_clock.now() - 20 * DAY_US)
        await service.store.tokens.mark_used([(account.id, old.ids[0])], long_ago)

    anna.process.use(fall_silent)
    cards = anna.get("/apps").text
    told = "Old phone It has not synced for weeks, although others have."
    assert told in cards
    assert cards.count("It has not synced for weeks") == 1
    assert "Old phone has not synced for weeks, although other apps have." in above(anna)


def test_the_feed_tells_what_happened_and_no_address_of_a_private_feed(feedkeep, person, reader):
    anna, name = person
    link = address(anna)
    assert titles(reader.get(link)) == ["News of your list will appear here."]
    long_ago = Stamp(wall_clock.now() - 9 * DAY_US)
    failing = {"failing": long_ago, "failures": 9, "failure": Failure.GONE}
    own = "https://members.example/news/0a1B2c3D4e5F6a7B8c9D0e1F"
    dead = "https://dead-of-the-news.example/feed"
    urls = [f"https://of-the-news.example/{number}" for number in range(9)]
    anna.post("/feeds/add", {"urls": "\r\n".join([dead, own, *urls])})
    know(feedkeep, dead, "The Dead Show", fields=failing)
    know(feedkeep, own, "", fields=failing)
    found = titles(reader.get(link))
    assert "The Dead Show hasn't been readable for a week." in found
    assert "members.example hasn't been readable for a week." in found
    assert "0a1B2c3D" not in reader.get(link).text
    with feedkeep.client(name) as app:
        app.put(f"/subscriptions/{name}/phone.json", json=[]).raise_for_status()
    assert "phone removed many feeds at once: 11." in titles(reader.get(link))
    assert "phone removed many feeds at once: 11." in anna.get("/news").text
    anna.post("/account/preferences", {"language": "de"})
    assert "phone hat viele Feeds auf einmal entfernt: 11." in titles(reader.get(link))


def test_a_feed_that_moved_is_told(feedkeep, person, reader):
    anna, name = person
    old, new = "https://old-of-the-news.example/feed", "https://new-of-the-news.example/feed"
    anna.post("/feeds/add", {"urls": old})

    async def follow(service):
        account = await service.accounts.named(name)
        moves = service.followed_moves
        assert await moves.follow(account.id, parse_feed_url(old), parse_feed_url(new))

    feedkeep.use(follow)
    told = "new-of-the-news.example/feed has a new address, and your list follows it."
    assert told in titles(reader.get(address(anna)))
    assert told in above(anna)


def test_an_address_works_for_its_account_until_it_is_renewed_or_the_account_is_disabled(
    feedkeep, person, reader
):
    anna, name = person
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
        feedkeep.must("account", command, name)
        assert reader.get(second).status_code == (404 if is_disabled else 200)
    signed_again = PageClient(feedkeep)
    signed_again.sign_in(name, PASSWORD)
    signed_again.post("/account/delete", {"name": name, "password": PASSWORD})
    assert reader.get(second).status_code == 404


def new_password(anna: PageClient, name: str) -> None:
    page = anna.post("/account/password", {"password": PASSWORD, "new_password": "a new one, long"})
    assert "new password is now active" in page.note


def recover(anna: PageClient, name: str) -> None:
    [code, *_] = re.findall(r"<code>([\w-]{19})</code>", anna.post("/account/codes").reply.text)
    anna.process.tokens.append(code)
    page = anna.post("/recover", {"name": name, "code": code, "password": "a new one, long"})
    assert "new password is now active" in page.note


def sign_out_others(anna: PageClient, name: str) -> None:
    assert "other browsers are signed out" in anna.post("/account/sign-out-others").note


def end_address(anna: PageClient, name: str) -> None:
    assert "The address of your news is revoked." in anna.post("/news/address/end").note


@pytest.mark.parametrize("act", [new_password, recover, sign_out_others, end_address])
def test_news_address_ends_with_other_sessions_or_by_its_page(person, reader, act):
    anna, name = person
    link = address(anna)
    assert 'action="/news/address/end"' in anna.get("/news").reply.text
    act(anna, name)
    assert reader.get(link).status_code == 404
    page = anna.get("/news").reply.text
    assert ("Create an address" in page, "/news/address/end" in page) == (True, False)
    again = address(anna)
    assert (reader.get(link).status_code, reader.get(again).status_code) == (404, 200)


@pytest.mark.parametrize("form", ["/news/address", "/apps/connect/kasts"])
def test_secret_that_lasts_is_made_after_a_fresh_confirmation(tmp_path, form):
    process = FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1")
    process.run_first("no_session_is_fresh")
    with process:
        anna, _ = signed_in(process)
        place = form.removesuffix("/address")
        assert anna.get(place).values("password") == [""]
        for typed, told in ((None, "Type your current"), ("wrong one", "not your password")):
            page = anna.post(form, {"password": typed} if typed else {})
            assert page.status == 403
            assert told in page.problem("password")
            assert page.secrets == [process.base_url][: len(page.secrets)]  # of the guide
        page = anna.post(form, {"password": PASSWORD})
        process.tokens.append(page.secrets[-1])
        assert page.status == 200
        assert page.secrets[-1] != process.base_url
