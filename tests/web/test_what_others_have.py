"""No account learns from this service what others subscribe to."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, in_the_long_form
from known_feeds import DAY_US, picture, png
from page_client import PageClient, close_all, guid_of, signed_in
from route_table import all_pages, all_routes, bare, choices, path_of

from feedkeep import model
from feedkeep.http.routing import Route, Target
from feedkeep.model import Stamp, replace
from feedkeep.rules.feed_names import WHY
from feedkeep.service import Service

MARK = "nightingale"
TELLING = (MARK, WHY[model.Failure.GONE].text.lower(), WHY[model.Failure.NOT_A_FEED].text.lower())
"""Texts that appear only if something is known of the feed."""

PICTURE = picture(png(1, 2, 3))
TITLE = f"The {MARK}"
EPISODES = model.NewestEpisodes("10 digest", (model.Episode(TITLE),))
TOLD = {
    "/", "/?show=failing", "/?show=twice", "/changes", "/feeds/{guid}", "/pictures/{guid}",
    "/export/{format}", "/subscriptions/{guid}/feed", "/v1/subscriptions/{guid}/feed",
    "/subscriptions/{user}.{format}", "/subscriptions/{user}/{device}.{format}",
    "/api/2/updates/{user}/{device}.json",
    "/api/2/data/podcast.json", "/api/2/favorites/{user}.json",
}  # fmt: skip
"""Routes that show an account the fetched data of its feeds."""

ANY = {
    **dict.fromkeys(("name", "app", "link", "tag", "login", "scope", "count"), "10"),
    "device": "phone",
    "format": "opml",
    "deletion_id": 1,
    "stamp": 1,
}
"""Values of path parameters that no account has."""


@pytest.fixture
def start(tmp_path):
    """Starts a service that no other test uses, perhaps one that is broken on purpose."""
    process = FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1")

    def start(*broken):
        if broken:
            process.run_first("hashes_are_cheap", *broken)
        process.start()
        return process

    yield start
    close_all()
    process.stop()


class Account:
    """A person with a browser and an app."""

    def __init__(self, process: FeedkeepProcess) -> None:
        self.pages, self.name = signed_in(process)
        token = process.new_token(self.name)
        self.api = PageClient(process, Accept="*/*", Authorization=f"Bearer {token}").http

    def add(self, urls: Sequence[str], **fields: object) -> None:
        body = {"subscriptions": [{"feed_url": url, **fields} for url in urls]}
        assert self.api.post("/subscriptions", json=body).status_code == 200

    def patch(self, guid: str, **body: object) -> None:
        assert self.api.patch(f"/subscriptions/{guid}", json=body).status_code == 200

    def newest(self) -> dict[str, Any]:
        """Return the last change of the list."""
        (change,) = self.api.get("/history", params={"per_page": 1}).json()["changes"]
        return change

    def undo(self) -> None:
        """Take the last change back."""
        done = self.api.post(f"/history/{self.newest()['stamp']}/undo")
        assert (done.status_code, done.json()["left"]) == (200, 0)

    def title(self, url: str) -> str | None:
        reply = self.api.get(f"/subscriptions/{guid_of(url)}/feed")
        assert reply.status_code == 200, reply.text
        return reply.json().get("title")

    def love(self, url: str) -> None:
        """Add a favourite episode of a feed, as the gpodder.net API lists them."""
        query = {"podcast": url, "episode": f"{url}/1.mp3"}
        path = f"/api/2/settings/{self.name}/episode.json"
        reply = self.api.post(path, params=query, json={"set": {"is_favorite": True}})
        assert reply.status_code == 200

    def told(self, urls: Sequence[str]) -> set[str]:
        """Return the templates of all addresses that tell something of some feeds."""
        found = set()
        for client, targets in ((self.api, all_routes()), (self.pages.http, all_pages())):
            for template, path in addresses(targets, self.name, urls):
                if tells(template, client.get(path)):
                    found.add(bare(template))
        for show in ("failing", "twice"):
            if self.pages.get(f"/?show={show}").values("feed"):
                found.add(f"/?show={show}")
        return found


def addresses(targets: Iterable[Target], name: str, urls: Sequence[str]):
    """Yield each route that can be read, with paths that fill it; new ones join by themselves."""
    for target in targets:
        if not isinstance(target.route, Route) or "GET" not in target.route.methods:
            continue
        one_of = choices(target.path)
        each = urls if "{guid" in target.path or "podcast.json" in target.path else urls[:1]
        for url, *chosen in product(each, *one_of.values()):
            values = {**ANY, "user": name, "guid": guid_of(url)}
            values |= dict(zip(one_of, chosen, strict=True))
            query = f"?url={url}" if "podcast.json" in target.path else ""
            if "/updates/" in target.path:
                query = "?since=0"
            yield target.path, path_of(target.path, values) + query


def tells(template: str, reply: httpx.Response) -> bool:
    """Whether a reply contains any fetched data of a feed."""
    if template.endswith("/subscriptions/{guid}/feed"):
        return reply.status_code == 200 and reply.json() != {}
    return reply.content == PICTURE.data or says(reply.text)


def says(text: str) -> bool:
    return any(words in text.lower() for words in TELLING)


def look(process: FeedkeepProcess, urls: Sequence[str]) -> None:
    """Store fetches of feeds just now: four kinds, of which one moves and two fail."""

    async def learn(service: Service) -> None:
        feeds, now = service.store.feeds, service.now()
        await feeds.want({guid_of(url): url for url in urls}, now)
        far = Stamp(now + 400 * DAY_US)
        leased = await feeds.lease(far, Stamp(far + 1), 1_000)
        assert len(leased) == len(urls)
        for feed in leased:
            after = found(feed, urls.index(feed.url) % 4, now)
            assert await feeds.save(after, Stamp(far + 1), PICTURE, None, EPISODES)

    process.use(learn)


def found(feed: model.Feed, kind: int, now: Stamp) -> model.Feed:
    host = f"https://{MARK}.example"
    content = model.FeedContent(
        TITLE, TITLE, host, f"{host}/picture", "de-AT", TITLE,
        podcast_guid="11111111-1111-4111-8111-111111111111", items=("1", "2", "3"),
        newest_title=TITLE,
    )  # fmt: skip
    feed = replace(feed, looked=now, next_fetch=Stamp(now + DAY_US))
    long_ago = Stamp(now - 9 * DAY_US)
    fails = replace(feed, failing=long_ago, failures=9, dead=long_ago, page_feeds=(f"{host}/feed",))
    if kind > 1:
        why = model.Failure.GONE if kind == 2 else model.Failure.NOT_A_FEED
        return replace(fails, failure=why, reason=TITLE)
    moved = model.Sighting(f"{host}/moved", long_ago, now, 3)
    fields = {"sighting": moved} if kind == 1 else {}
    return replace(
        feed, content=content, is_own=True, answered=now, changed=long_ago,
        picture=PICTURE.digest, episodes=EPISODES.validator, picture_url=content.picture_url,
        picture_looked=long_ago, **fields,
    )  # fmt: skip


def learned(process: FeedkeepProcess, count: int) -> tuple[Account, Account, list[str], set[str]]:
    """Add one account's feeds to another one, in all ways; return where that shows fetched data."""
    urls = [f"https://feeds.example/{number}" for number in range(count)]
    owner, other = Account(process), Account(process)
    owner.add(urls)
    look(process, urls)
    assert owner.title(urls[0]) == TITLE
    ways = {
        "preview": other.pages.post("/import", {"text": "\n".join(urls)}),
        "added": other.pages.add(*urls[:2]),
        "again": other.pages.post("/import", {"text": "\n".join(urls)}),
    }
    where = {way for way, page in ways.items() if says(page.reply.text)}
    device = f"/api/2/subscriptions/{other.name}/phone.json"
    assert other.api.post(device, json={"add": urls[2:3]}).status_code == 200
    other.add(urls)
    for one in (owner, other):
        one.love(urls[0])
    where |= other.told(urls)
    return owner, other, urls, where


# C10.13
def test_who_adds_what_others_have_is_told_nothing_until_a_later_look(start):
    process = start()
    owner, other, urls, where = learned(process, 400 if IS_FULL else 4)
    assert where == set()
    assert owner.told(urls) == TOLD
    look(process, urls)
    assert other.told(urls) == TOLD
    for change in (unsubscribe, delete, merge, move, restore):
        change(other, urls[0], urls[1])
        assert [other.title(url) for url in urls[:2]] == [TITLE, TITLE], change.__name__


def test_neither_a_guid_nor_an_address_that_a_feed_moves_to_tells_what_others_have(start):
    process = start()
    urls = [f"https://feeds.example/{number}" for number in (0, 1, 4, 5)]
    owner, other = Account(process), Account(process)
    owner.add(urls)
    claimed, own = guid_of(urls[0]), "https://feeds.example/own"
    other.add([own], guid=claimed)  # an entry from before the look does not count for its new URLs
    look(process, urls)
    assert other.told(urls[:1]) == set()
    for url in [*urls, own, *urls]:
        other.patch(claimed, new_feed_url=url)
        assert other.title(urls[0]) is None
        for _ in range(2):  # back, and there once more
            other.undo()
            assert other.title(urls[0]) is None
    assert other.told(urls[:1]) == set()


def test_an_address_that_was_only_sent_beside_a_guid_never_tells_what_others_have(start):
    process = start()
    known, own = "https://feeds.example/0", "https://feeds.example/own"
    owner, other = Account(process), Account(process)
    owner.add([known])
    other.add([own])
    other.add([known], guid=str(guid_of(own)))
    other.love(known)
    look(process, [known])  # for the owner alone
    for moves in (False, True):
        if moves:
            other.patch(guid_of(own), new_feed_url=known)
        assert other.told([own, known]) == set()
    look(process, [known])
    assert other.title(own) == TITLE


def unsubscribe(account: Account, url: str, _: str) -> None:
    """Bring a feed back in both ways."""
    account.patch(guid_of(url), is_subscribed=False)
    account.undo()
    account.patch(guid_of(url), is_subscribed=False)
    account.add([url])


def delete(account: Account, url: str, _: str) -> None:
    for bring_back in (account.undo, lambda: account.add([url])):
        assert account.api.delete(f"/subscriptions/{guid_of(url)}").status_code == 202
        bring_back()


def merge(account: Account, url: str, other: str) -> None:
    account.patch(guid_of(url), new_guid=str(guid_of(other)))
    account.undo()


def move(account: Account, url: str, _: str) -> None:
    account.patch(guid_of(url), new_feed_url="https://feeds.example/elsewhere")
    account.patch(guid_of(url), new_feed_url=url)


def restore(account: Account, url: str, other: str) -> None:
    at = account.newest()["at"]
    merge(account, other, url)
    account.patch(guid_of(url), is_subscribed=False)
    assert account.api.delete(f"/subscriptions/{guid_of(other)}").status_code == 202
    assert account.api.post("/restore", json={"at": at}).status_code == 200


@in_the_long_form
def test_the_proof_notices_a_service_that_shows_what_was_known_before(start):
    process = start("feeds_are_shown_at_once")
    *_, where = learned(process, 4)
    assert where >= TOLD
