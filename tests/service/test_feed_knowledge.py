"""Feed data shown to an account: titles, pictures, episodes, of fetches since it had the feed."""

import asyncio
from functools import partial
from itertools import count

from authors import TESTER
from running import DAY, MINUTE
from structlog.testing import capture_logs

from feedkeep import model
from feedkeep.model import AccountId, Episode, Stamp, Subscription, replace
from feedkeep.model.errors import StoreUnavailable
from feedkeep.rules.episode_actions import SentAction, judge
from feedkeep.rules.episodes import Playing, digest_of_file, digest_of_guid
from feedkeep.rules.feed_names import title_of
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import want
from feedkeep.service import known_feeds
from feedkeep.service.known_feeds import NewFeeds

URLS = [f"https://{number}.example/feed" for number in range(7)]
URL, MOVED = URLS[0], "https://moved.example/feed"
LONG = "https://long.example/" + "x" * 400
PICTURE = model.Picture("image/webp", b"picture", digest="0123")


def guid(url):
    return parse_feed_url(url).guid


def feeds(*urls):
    """Return feeds of a list that has had them always."""
    return [Subscription(guid(url), url, True, Stamp(1)) for url in urls]


def file(number):
    return f"https://show.example/{number}.mp3"


def episodes(*numbers):
    return tuple(
        Episode(f"Episode {n}", Stamp(n), 60, "", digest_of_guid(f"g{n}"), digest_of_file(file(n)))
        for n in numbers
    )


async def look(store, clock, *urls, title="Radio", found=None):
    """Fetch feeds, to be fetched again the next day; without episodes, these are unchanged."""
    clock.go_on(MINUTE)
    await store.feeds.want({guid(url): url for url in urls}, clock())
    until = Stamp(clock() + 9 * DAY)
    newest = None if found is None else model.NewestEpisodes("10 digest", found)
    for feed in await store.feeds.lease(Stamp(until - 1), until, 100):
        result = replace(
            feed,
            content=model.FeedContent(title, description="About it"),
            looked=clock(),
            answered=clock(),
            next_fetch=Stamp(clock() + DAY),
            picture="0123",
            episodes="10 digest",
        )
        assert await store.feeds.save(result, until, PICTURE, None, newest)
    clock.go_on(MINUTE)


async def subscribed(service, name, url=URL):
    account = await service.accounts.create(name, None)
    await service.subscriptions.add(account.id, [want(url, None)], TESTER)
    return account.id


async def subscription(service, account_id, url=URL):
    return (await service.subscriptions.view(account_id, guid(url))).subscription


def play(podcast, episode, episode_guid=None):
    return judge(SentAction(podcast, episode, "", "play", None, None, 9, 60, episode_guid))


async def test_titles_are_cached_until_the_next_fetch_or_for_ten_minutes(service, store, clock):
    known = service.known_feeds

    async def titles():
        found = await known.headlines(feeds(*URLS, LONG))
        return {url: one.title for url, one in found.items()}

    assert await titles() == {}
    await look(store, clock, URL, LONG, title="First")
    assert await titles() == {URL: "First", LONG: "First"}
    asked = []
    stored = store.feeds.known

    async def note(guids):
        asked.append(set(guids))
        return await stored(guids)

    store.feeds.known = note
    assert await titles() == {URL: "First", LONG: "First"}
    # Nothing is remembered of unknown feeds, nor of addresses that fill the memory.
    assert asked == [{guid(url) for url in [*URLS[1:], LONG]}]
    known.forget()
    assert await titles() == {URL: "First", LONG: "First"}
    assert guid(URL) in asked[-1]
    for minutes in (9, 1):  # others who come to have a feed have it looked at earlier
        clock.go_on(minutes * MINUTE)
        assert await titles() == {URL: "First", LONG: "First"}
        assert (guid(URL) in asked[-1]) is (minutes == 1)
    clock.go_on(DAY)
    await look(store, clock, URL, title="Second")
    assert (await titles())[URL] == "Second"


async def test_waits_for_a_first_fetch_are_limited(monkeypatch, service, store, clock):
    """An account waits for one feed at a time."""
    monkeypatch.setattr(known_feeds, "MAX_WAITING", 2)
    known, (first, second) = service.known_feeds, feeds(*URLS[:2])
    waits = partial(known.wait_for_first_fetch, seconds=60.0)
    stored, reads, answered = store.feeds.known, count(1), asyncio.Event()

    async def slow_at_first(guids):
        if next(reads) <= 2:
            await answered.wait()
        return await stored(guids)

    store.feeds.known = slow_at_first
    waiting = [asyncio.create_task(waits(AccountId(number), first)) for number in (1, 2)]
    await asyncio.sleep(0)
    async with asyncio.timeout(30):  # those two have their places, answered or not
        assert await waits(AccountId(1), second) is None
        assert await waits(AccountId(3), second) is None
    answered.set()
    await look(store, clock, URL, title="Found")
    assert [title_of(await task) for task in waiting] == ["Found", "Found"]
    assert await known.wait_for_first_fetch(AccountId(1), second, 0.0) is None


async def test_the_cache_is_bounded(monkeypatch, service, store, clock):
    monkeypatch.setattr(known_feeds, "MAX_REMEMBERED", 3)
    monkeypatch.setattr(known_feeds, "_AT_ONCE", 2)
    monkeypatch.setattr(known_feeds, "LONG_LIST", 1)
    await look(store, clock, *URLS)
    for _ in range(2):
        found = await service.known_feeds.headlines(feeds(*URLS))
        assert {url: one.guid for url, one in found.items()} == {url: guid(url) for url in URLS}
        assert len(service.known_feeds._headlines) == 3
    cards = await service.known_feeds.cards(feeds(*URLS, *URLS, "https://x.example"))
    assert list(cards) == URLS
    assert {card.description for card in cards.values()} == {"About it"}


async def test_a_feed_without_a_fetch_has_a_headline_alone(monkeypatch, service, store, clock):
    known = service.known_feeds
    await store.feeds.want({guid(URL): URL}, clock())
    assert (await known.headlines(feeds(*URLS)))[URL].title == ""
    assert await known.cards(feeds(*URLS)) == {}
    await look(store, clock, URL)
    assert [await known.picture(feed) for feed in feeds(*URLS[:2])] == [PICTURE, None]
    known.forget()

    async def away(*_):
        raise StoreUnavailable("one machine of the cluster is away")

    monkeypatch.setattr(store.feeds, "known", away)
    [feed] = feeds(URL)
    with capture_logs() as logs:
        assert await known.headlines([feed]) == {}
        assert await known.cards([feed]) == {}
        assert await known.of(feed) is None
    assert {log["log_level"] for log in logs} == {"warning"}


async def test_an_account_is_shown_no_fetch_from_before_it_had_a_feed(service, store, clock):
    known = service.known_feeds

    async def told(account_id):
        """Return the titles of a feed in everything that an account is shown."""
        feed = await subscription(service, account_id)
        of = await known.of(feed)
        shown = [
            (await known.headlines([feed])).get(URL),
            (await known.headlines_at(account_id, [URL])).get(URL),
            (await known.cards([feed])).get(URL),
            (await known.cards_at(account_id, [URL])).get(URL),
        ]
        picture = await known.picture(feed)
        return {
            of and of.content and of.content.title,
            *(one and one.title for one in shown),
            picture and "Radio",
        }

    alice = await subscribed(service, "alice")
    await look(store, clock, URL)
    mallory = await subscribed(service, "mallory")
    for _ in range(2):  # the second time, what alice is shown is remembered
        assert await told(alice) == {"Radio"}
        assert await told(mallory) == {None}
    clock.go_on(DAY)
    await look(store, clock, URL)
    assert await told(mallory) == {"Radio"}
    assert await known.headlines_at(mallory, [URLS[1], "no address"]) == {}


async def test_an_account_sees_the_episodes_of_fetches_since_it_had_the_feed(service, store, clock):
    hers = await subscription(service, await subscribed(service, "anna"))
    assert await service.episodes.episodes_of(hers) == ()
    await look(store, clock, URL, found=episodes(1, 2))
    assert await service.episodes.episodes_of(hers) == episodes(1, 2)
    his = await subscription(service, await subscribed(service, "ben"))
    wanted = play(URL, file(1))
    of_his_plays = partial(service.episodes.of_plays, {wanted.podcast_guid: his}, [wanted])
    assert await service.episodes.episodes_of(his) == ()
    assert await of_his_plays() == {}
    await look(store, clock, URL)  # it was fetched again, and is unchanged
    assert await service.episodes.episodes_of(his) == episodes(1, 2)
    assert await of_his_plays() == {wanted.key: episodes(1)[0]}


async def test_plays_have_the_episode_of_their_guid_or_file_after_a_move(service, store, clock):
    anna = await subscribed(service, "anna")
    await service.url_lists.move(anna, URL, MOVED, TESTER, notify_apps=False)
    await look(store, clock, MOVED, found=episodes(1, 2))
    hers = await subscription(service, anna)
    of_file, of_guid = play(URL, file(1)), play(URL, "https://else.example/2.mp3", "g2")
    others = [play(URL, file(3), "g3"), play("https://other.example", file(1))]
    plays = [of_file, of_guid, *others]
    found = await service.episodes.of_plays({of_file.podcast_guid: hers}, plays)
    one, two = episodes(1, 2)
    assert found == {of_file.key: one, of_guid.key: two}


async def test_playing_states_are_of_the_account_and_under_the_first_url(service):
    anna, ben = [await subscribed(service, name) for name in ("anna", "ben")]
    app = model.Admitted(await service.accounts.named("anna"), "test")
    await service.url_lists.move(anna, URL, MOVED, TESTER, notify_apps=False)
    sent = [
        SentAction(MOVED, file(1), "phone", "play", 1, 0, 30, 60),
        SentAction(URL, file(2), "phone", "play", 1, 0, 60, 60),
        *(SentAction(URL, file(n), "phone", "delete", 2) for n in (1, 3)),
    ]
    await service.episode_actions.record(app, sent)
    hers = await subscription(service, anna, MOVED)
    some = episodes(1, 2, 3, 4)
    playing = await service.episodes.playing(anna, hers, some)
    assert playing == {some[0]: Playing(30, 60), some[1]: Playing(60, 60)}
    assert await service.episodes.playing(anna, hers, ()) == {}
    his = await subscription(service, ben)
    assert await service.episodes.playing(ben, his, some) == {}


ALICE, BEN = AccountId(1), AccountId(2)
MANY = [f"https://show.example/{number}" for number in range(250)]


def of_alice(urls):
    return [(ALICE, url, 0) for url in urls]


async def waiting(new, at_most):
    """Return a task that takes, once it waits for something to take."""
    task = asyncio.create_task(new.take(at_most))
    await asyncio.sleep(0)
    return task


async def test_take_waits_for_new_feeds_and_returns_a_few_in_their_order():
    new = NewFeeds()
    taking = await waiting(new, 100)
    new.note(ALICE, feeds(*MANY))
    assert await taking == of_alice(MANY[:100])
    new.note(ALICE, feeds(MANY[7], MANY[240]))  # the second one waits already
    assert await new.take(100) == of_alice(MANY[100:200])
    assert await new.take(100) == of_alice([*MANY[200:], MANY[7]])
    taking = await waiting(new, 100)
    assert not taking.done()
    new.note(ALICE, feeds(*MANY[:1]))
    assert await taking == of_alice(MANY[:1])
    (feed,) = feeds(*MANY[:1])
    for account_id, first_had in ((ALICE, Stamp(5)), (BEN, Stamp(9))):
        new.note(account_id, [replace(feed, first_had=first_had)])
    assert await new.take(100) == [(ALICE, MANY[0], 5), (BEN, MANY[0], 9)]


async def test_accounts_with_many_new_feeds_take_turns_and_leave_room(monkeypatch):
    monkeypatch.setattr(known_feeds, "MAX_NEW", 20)
    new = NewFeeds()
    taking = await waiting(new, 1)
    new.note(ALICE, feeds(*MANY[:1]))
    await taking
    new.note(ALICE, feeds(*MANY[:50]))
    new.note(ALICE, feeds(*MANY[:50]))
    new.note(BEN, feeds(*MANY[100:]))
    taken = await new.take(100)
    in_turn = [(ALICE, MANY[0]), (BEN, MANY[100]), (ALICE, MANY[1]), (BEN, MANY[101])]
    assert [(who, url) for who, url, _ in taken[:4]] == in_turn
    for account_id, urls in ((ALICE, MANY[:10]), (BEN, MANY[100:105])):
        assert [url for who, url, _ in taken if who == account_id] == urls


def test_take_now_does_not_wait():
    new = NewFeeds()
    new.note(ALICE, feeds(*MANY[:1]))
    assert new.take_now(100) == [], "nobody had said that any would be taken"
    new.keep()
    new.note(ALICE, feeds(*MANY[:3]))
    assert new.take_now(2) == of_alice(MANY[:2])
    assert new.take_now(2) == of_alice(MANY[2:3])
    assert new.take_now(2) == []
