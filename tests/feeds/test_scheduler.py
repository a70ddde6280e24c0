"""The scheduler: what is looked at, how much at once, and what survives its end."""

import asyncio

import pytest
from authors import TESTER
from recorded import recorded
from scripted_looks import guid

from feedkeep.feeds import scheduler as scheduling
from feedkeep.feeds import sweep as sweeping
from feedkeep.feeds.reading import newest_episodes
from feedkeep.feeds.scheduler import LEASE_US
from feedkeep.feeds.sweep import NOTED_AT_ONCE
from feedkeep.model import Episode, Failure, FeedContent, Fetch, FetchResult, replace
from feedkeep.model.errors import StoreUnavailable
from feedkeep.outbound.failures import MachineFailed
from feedkeep.rules import feed_schedule
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.feed_schedule import MINUTE_US, WEEK_US
from feedkeep.rules.fetch_order import DAILY_BYTES, FIRST_DUE, PAYERS, USUAL_FETCH_US
from feedkeep.runtime.recorder import Recorder

PERSONAL = "https://members.example/rss?key=kPq3vXyZ0aB9cD8eF7gH6iJ5kL4mN3oP"


def urls(count, host="{}.example"):
    return [f"https://{host.format(number)}/feed/{number}" for number in range(count)]


async def test_each_feed_is_looked_at_once_however_many_have_it_and_again_when_due(world):
    await world.subscribe(*urls(2))
    await world.subscribe(*urls(4), name="ben")
    async with world.scheduler():
        await world.looked_at(*urls(4))  # which a round found
        assert sorted(world.looks.looked) == urls(4)
        await world.subscribe(*urls(7), name="carol")
        feeds = await world.looked_at(*urls(7))
    assert sorted(world.looks.looked) == urls(7)
    assert [feed.content.title for feed in feeds] == urls(7)
    assert all(feed.next_fetch > feed.looked + DAY_US // 2 for feed in feeds[4:])  # new ones
    assert world.looks.is_closed
    async with world.scheduler():
        await world.subscribe(*urls(8), name="dora")
        await world.looked_at(*urls(8))
    assert sorted(world.looks.looked) == urls(8)
    world.clock.go_on(2 * DAY_US)
    async with world.scheduler():
        await world.looks.until_looked_at(16)


# C10.14
async def test_known_feed_is_fetched_for_a_newcomer_once_a_minute(world):
    (url,) = urls(1)
    world.looks.found = {url: FetchResult(FeedContent(title="Radio"), etag="1")}
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(url)
        (first,) = await world.looked_at(url)
        world.clock.go_on(2 * MINUTE_US)
        world.looks.found = {url: FetchResult()}  # it has not changed
        world.looks.gate.clear()
        ben = await world.subscribe(url, name="ben")
        assert await world.title(ben, url) == ""
        world.looks.gate.set()
        (feed,) = await world.until(lambda feeds: feeds[0].looked != first.looked, url)
        assert await world.title(ben, url) == "Radio"
        assert world.looks.etags == ["", "1"]
        mallory = await world.subscribe(url, name="mallory")
        due = shift(feed.looked, MINUTE_US)
        await world.until(lambda feeds: feeds[0].next_fetch == due, url)
        assert await world.title(mallory, url) == ""
        assert len(world.looks.looked) == 2


async def test_fetch_that_began_before_a_newcomer_is_followed_by_another(world):
    (url,) = urls(1)
    world.looks.gate.clear()
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(url)
        await world.looks.until_looked_at(1)
        ben = await world.subscribe(url, name="ben")
        await world.until(lambda feeds: feeds[0].next_fetch > FIRST_DUE, url)
        world.looks.gate.set()
        (feed,) = await world.looked_at(url)
    assert await world.title(ben, url) == ""
    assert feed.next_fetch < shift(world.clock.at, 2 * MINUTE_US)


async def test_episodes_are_stored_once_and_not_those_of_another_feed(world):
    url = "https://a.example/feed"
    told = [newest_episodes([Episode(title)], 10) for title in ("First", "Second")]
    show = FeedContent(title="Show", items=("1", "2", "3"))
    other = replace(show, title="Other", items=("x", "y", "z"))
    written = []
    feeds, save, is_news = world.store.feeds, world.store.feeds.save, asyncio.Event()

    async def noted(*arguments):
        is_saved = await save(*arguments)
        written.append(arguments[4])
        is_news.set()
        return is_saved

    feeds.save = noted
    await feeds.want({guid(url): url}, world.clock())
    for looked, stored in (
        (FetchResult(show, episodes=told[0]), told[0]),
        (FetchResult(), told[0]),
        (FetchResult(show), told[0]),
        (FetchResult(other, is_redirected=True, episodes=told[1]), told[0]),
        (FetchResult(show, episodes=told[1]), told[1]),
    ):
        world.looks.found = {url: looked}
        is_news.clear()
        async with world.scheduler():
            await is_news.wait()
        (feed,) = await world.stored(url)
        assert feed.episodes == stored.validator
        assert await feeds.episodes([guid(url)]) == {guid(url): stored.episodes}
        await feeds.renew([replace(feed, next_fetch=0)])
    assert written == [told[0], None, None, None, told[1]]


async def test_fetches_are_counted_by_result(world):
    some, recorder = urls(4), Recorder()
    failures = (Failure.GONE, Failure.TOO_SLOW)
    results = [FetchResult(), *(FetchResult(failure=failure) for failure in failures)]
    world.looks.found = dict(zip(some, results, strict=False))
    async with world.scheduler(recorder=recorder):
        await asyncio.sleep(0)
        await world.subscribe(*some)
        await world.looked_at(*some)
    counts = {"unchanged": 1, "gone": 1, "too-slow": 1, "read": 1, "crashed": 0}
    for result, count in counts.items():
        assert recorded(recorder, "feedkeep_fetches_total", result=result) == count, result
    assert recorded(recorder, "feedkeep_fetch_duration_seconds_count") == 4


async def test_machine_failure_is_no_failure_of_a_feed_which_keeps_its_turn(monkeypatch, world):
    monkeypatch.setattr(scheduling, "_SECONDS_AFTER_A_FAILURE", 0.0)
    url, other = urls(2)
    world.looks.found = {url: MachineFailed("This machine cannot look at feeds.")}
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(url, other)
        await world.looked_at(other)
        while world.looks.looked.count(url) < 2:  # a minute later
            await world.looks.until_looked_at(len(world.looks.looked) + 1)
        (feed,) = await world.stored(url)
        assert (feed.failure, feed.failures, feed.failing, feed.looked) == (None, 0, None, None)
        assert feed.next_fetch < FIRST_DUE  # its turn
        world.looks.found.clear()
        (feed,) = await world.looked_at(url)
    assert feed.content is not None


@pytest.fixture
def noted(world, monkeypatch):
    """Sizes and times of the batches of feeds that were recorded."""
    noted, want = [], world.store.feeds.want

    async def want_and_tell(urls, *more):
        noted.append((len(urls), asyncio.get_running_loop().time()))
        await want(urls, *more)

    monkeypatch.setattr(world.store.feeds, "want", want_and_tell)
    return noted


async def test_feeds_added_one_by_one_are_noted_together(monkeypatch, world, noted):
    monkeypatch.setattr(sweeping, "_SECONDS_BETWEEN_STEPS", 1.0)
    account_id = await world.subscribe()
    async with world.scheduler():
        for url in urls(30):
            await world.add(account_id, url)
        await world.looked_at(*urls(30))
    assert len(noted) < 6


IN_A_ROUND = pytest.mark.parametrize("is_round", [False, True], ids=["when added", "in a round"])


@IN_A_ROUND
async def test_many_new_feeds_are_noted_in_batches_with_pauses(monkeypatch, is_round, world, noted):
    monkeypatch.setattr(sweeping, "NOTED_A_SECOND", 1_000)
    many = urls(3 * NOTED_AT_ONCE)
    if is_round:
        await world.subscribe(*many)
    async with world.scheduler():
        await asyncio.sleep(0)
        if not is_round:
            await world.subscribe(*many)
        await world.looked_at(*many)
    sizes, moments = zip(*noted[:3], strict=True)
    assert set(sizes) == {NOTED_AT_ONCE}
    assert moments[2] - moments[0] >= 2 * NOTED_AT_ONCE / 1_000


async def test_of_each_host_one_feed_at_a_time_and_a_few_altogether(world):
    many, others = urls(50, host="one.example"), urls(30)
    await world.subscribe(*many)
    await world.subscribe(*others, name="ben")
    world.looks.slow = set(many)
    world.looks.gate.clear()
    async with world.scheduler(at_once=5):  # one of them is for feeds that answered last time
        await world.looks.until_looked_at(4)
        world.looks.gate.set()
        await world.looked_at(*others)
    assert world.looks.most_at_once == 4
    assert set(world.looks.hosts_at_once) == {1}
    assert len(world.looks.looked) == 31


async def test_new_feeds_of_one_host_are_postponed_together_and_due_as_fast_as_it_answers(
    monkeypatch, world
):
    monkeypatch.setattr(scheduling, "_LONGEST_WAIT_SECONDS", 0.01)
    many = urls(60, host="one.example")
    world.looks.gate.clear()
    save, waiting, at_once = world.store.feeds.save, 0, 0

    async def save_and_count(*arguments):
        nonlocal waiting, at_once
        waiting += 1
        at_once = max(at_once, waiting)
        try:
            return await save(*arguments)
        finally:
            waiting -= 1

    monkeypatch.setattr(world.store.feeds, "save", save_and_count)
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(*many)
        dues = {feed.next_fetch for feed in await world.until_put_off(56, *many)}
        assert len(dues) == 56
        assert max(dues) < world.clock.at + len(many) * USUAL_FETCH_US
        assert at_once > 4  # they share a commit
        world.looks.gate.set()
        while len(world.looks.looked) < len(many):
            world.clock.go_on(4 * USUAL_FETCH_US)
            await world.until_put_off(len(many), *many)
    assert sorted(world.looks.looked) == sorted(many)


async def test_of_a_host_with_many_feeds_of_an_account_another_has_its_turns(world):
    many = urls(300, host="one.example")
    few = [f"https://one.example/other/{number}" for number in range(10)]
    world.looks.gate.clear()
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(*many)
        await world.until_put_off(len(many) - 4, *many)
        await world.subscribe(*few, name="ben")
        await world.until_put_off(len(many) + len(few) - 4, *many, *few)
        for feed in await world.until_put_off(1, *few):
            assert feed.next_fetch < world.clock.at + (len(few) + 1) * USUAL_FETCH_US
        world.looks.gate.set()
        await world.looks.until_looked_at(4)
    assert set(few) & set(world.looks.looked[:4])


@IN_A_ROUND
async def test_800_feeds_of_an_account_at_slow_hosts_delay_12_of_another_for_6_rounds(
    is_round, world
):
    many, few = urls(800), urls(12, host="{}.other.example")
    world.looks.slow = set(many)
    if is_round:
        await world.subscribe(*many)
    async with world.scheduler():
        await asyncio.sleep(0)
        if not is_round:
            await world.subscribe(*many)
        await world.noted(*many)
        await world.looks.end_slow(7)
        await world.subscribe(*few, name="ben")
        await world.noted(*few)
        rounds = 0
        while not set(few) <= set(world.looks.looked):
            await world.looks.end_slow(7)
            rounds += 1
            assert rounds <= 6


async def test_account_that_added_many_has_its_turn_again_once_no_feed_waits(world):
    alice, turns = 1, world.service.new_feeds.turns
    for _ in range(500):  # another process has looked at these
        turns.next_of(alice)
    async with world.scheduler():
        while turns.next_of(alice) >= 500 * PAYERS:  # noqa: ASYNC110
            await asyncio.sleep(0)


@pytest.mark.parametrize("kind", ["new", "failing", "slow"])
async def test_hosts_that_never_end_their_answers_delay_no_feed_that_answered_last_time(
    kind, monkeypatch, world
):
    (good,), endless = urls(1, host="good.example"), urls(60)
    if kind != "new":
        await world.subscribe(*endless)
        if kind == "failing":
            world.looks.found = dict.fromkeys(endless, FetchResult(failure=Failure.TOO_SLOW))
        with monkeypatch.context() as patch:
            patch.setattr(feed_schedule, "SLOW_SECONDS", 0.0 if kind == "slow" else 60.0)
            async with world.scheduler():
                await world.looked_at(*endless)
        world.clock.go_on(MINUTE_US)
    await world.subscribe(good, name="ben")
    async with world.scheduler():
        await world.looked_at(good)
    world.looks.slow = set(endless)
    looks = len(world.looks.looked)
    async with world.scheduler(at_once=2):
        await asyncio.sleep(0)
        if kind == "new":
            await world.subscribe(*endless)
            await world.looks.until_looked_at(looks + 1)
            await world.noted(*endless)
        world.clock.go_on(DAY_US * 6 // 5)
        await world.looks.until_looked_at(looks + 2)
        if kind != "new":  # what has no room here is put off, and not held
            await world.until_put_off(len(endless) - 10, *endless)
    assert good in world.looks.looked[looks:]


async def test_personal_url_is_never_fetched_unless_all_are_and_nothing_if_that_is_off(world):
    async with world.scheduler(Fetch.OFF):
        await world.subscribe(PERSONAL, *urls(1))
        await asyncio.sleep(0)
    assert not world.looks.looked
    assert await world.store.feeds.next_fetch() is None
    async with world.scheduler():
        await world.looked_at(*urls(1))
    assert world.looks.looked == urls(1)
    async with world.scheduler(Fetch.ALL):
        await world.looked_at(PERSONAL)
    assert world.looks.looked == [*urls(1), PERSONAL]
    world.clock.go_on(2 * DAY_US)
    async with world.scheduler():
        await world.looks.until_looked_at(3)
        in_half_a_week = world.clock.at + WEEK_US // 2
        await world.until(lambda feeds: feeds[0].next_fetch >= in_half_a_week, PERSONAL)
    assert world.looks.looked == [*urls(1), PERSONAL, *urls(1)]


async def test_personal_url_is_fetched_regularly_once_a_subscriber_permits_it(world):
    alice = await world.subscribe(PERSONAL)
    (feed,) = await world.service.subscriptions.subscribed(alice)
    for looks in (1, 2):
        for _ in range(2):  # the second time changes nothing
            await world.service.known_feeds.permit(alice, feed)
        async with world.scheduler():
            await world.looks.until_looked_at(looks)
            await world.looked_at(PERSONAL)
        world.clock.go_on(3 * DAY_US)  # by then, the round has to want it anew
    assert world.looks.looked == [PERSONAL] * 2


async def test_secret_url_is_fetched_by_https_once_anybody_has_it_so(world):
    by_http = PERSONAL.replace("https", "http")
    async with world.scheduler(Fetch.ALL):
        await world.subscribe(by_http)
        await world.looks.until_looked_at(1)
        await world.subscribe(PERSONAL, name="ben")
        await world.looks.until_looked_at(2)
        await world.looked_at(PERSONAL)
    async with world.scheduler(Fetch.ALL):
        await world.subscribe(by_http, *urls(1), name="carol")
        await world.looked_at(*urls(1))
    assert world.looks.looked == [by_http, PERSONAL, *urls(1)]
    (feed,) = await world.looked_at(PERSONAL)
    assert feed.url == PERSONAL


async def test_feed_without_subscribers_is_not_fetched_and_after_a_month_forgotten(
    monkeypatch, world
):
    # A round leaves out a feed whose row is held by a look just then; the next one has it.
    monkeypatch.setattr(sweeping, "_SECONDS_BETWEEN_ROUNDS", 0.0)
    gone, kept = urls(2)
    alice = await world.subscribe(gone, kept)
    set_subscribed = world.service.subscriptions.set_subscribed
    async with world.scheduler():
        await world.looked_at(gone, kept)
    await set_subscribed(alice, [guid(gone)], False, TESTER)
    world.clock.go_on(3 * DAY_US)
    async with world.scheduler():
        await world.looks.until_looked_at(3)
        await world.until(lambda feeds: feeds[0].next_fetch >= world.clock.at, gone)
        assert sorted(world.looks.looked) == sorted([gone, kept, kept])
        await set_subscribed(alice, [guid(gone)], True, TESTER)
        await world.looks.until_looked_at(4)
        assert world.looks.looked[-1] == gone
    await set_subscribed(alice, [guid(gone)], False, TESTER)
    for days, count in ((20, 2), (11, 1)):
        world.clock.go_on(days * DAY_US)
        wanted = world.clock.at - DAY_US
        async with world.scheduler():
            await world.until(lambda feeds, wanted=wanted: feeds[-1].wanted > wanted, gone, kept)
            await world.until(lambda feeds, count=count: len(feeds) == count, gone, kept)
    assert await world.stored(gone) == []


async def test_leased_feeds_are_released_at_the_end_whenever_that_is(world):
    feeds = world.store.feeds
    known = {guid(url): url for url in urls(4, host="one.example")}
    await feeds.want(known, world.clock())
    world.looks.gate.clear()
    for turns in range(60):
        before = len(world.looks.looked)
        async with world.scheduler():
            for _ in range(turns):
                await asyncio.sleep(0)
            if turns % 10 == 9:
                await world.looks.until_looked_at(before + 1)
        until = world.clock.at + LEASE_US
        others = await feeds.lease(world.clock(), until, 9)
        assert {feed.guid for feed in others} == known.keys(), turns
        await feeds.release(list(known), until)


async def test_lease_that_is_nearly_over_is_released_without_a_fetch(world):
    first, second = urls(2, host="one.example")
    await world.subscribe(first, second)
    world.looks.gate.clear()
    async with world.scheduler():
        await world.looks.until_looked_at(1)
        world.clock.go_on(LEASE_US - MINUTE_US)
        world.looks.gate.set()
        await world.looked_at(first, second)
    assert len(world.looks.looked) == 2  # the second one after it was leased anew


async def test_scheduler_continues_when_the_store_is_back(monkeypatch, world):
    monkeypatch.setattr(scheduling, "_SECONDS_AFTER_A_FAILURE", 0.0)
    feeds, has_failed = world.store.feeds, asyncio.Event()

    def once_away(name):
        ask, failures = getattr(feeds, name), [StoreUnavailable("away")]

        async def asked(*arguments):
            if failures:
                if name == "save":
                    has_failed.set()
                raise failures.pop()
            return await ask(*arguments)

        monkeypatch.setattr(feeds, name, asked)

    once_away("lease")
    once_away("save")
    await world.subscribe(*urls(1))
    async with world.scheduler():
        await has_failed.wait()
        world.clock.go_on(LEASE_US)
        await world.looked_at(*urls(1))
    assert world.looks.looked == urls(1) * 2


async def test_host_that_asks_for_a_pause_gets_no_request_meanwhile(world):
    feeds, other = urls(9, "shop.example"), "https://other.example/feed"
    busy = FetchResult(failure=Failure.ERROR_STATUS, retry_after_seconds=3_600)
    world.looks.found = dict.fromkeys(feeds, busy)
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(*feeds, other)
        put_off = await world.until_put_off(9, *feeds)
        while min(feed.next_fetch for feed in put_off) < world.clock.at + 50 * MINUTE_US:
            world.clock.go_on(MINUTE_US // 60)  # those for which there was no room are due
            put_off = await world.until_put_off(9, *feeds)
        await world.looked_at(other)
        assert sum("shop" in url for url in world.looks.looked) == 1
        world.clock.go_on(2 * 60 * MINUTE_US)
        await world.looks.until_looked_at(3)


async def test_feeds_of_an_account_wait_a_day_once_it_spent_its_bytes_and_others_do_not(world):
    of_alice, (shared, *of_ben) = urls(20, "{}.alice.example"), urls(3, "{}.ben.example")
    for url in of_alice:
        found = FetchResult(FeedContent(title=url), received_bytes=DAILY_BYTES // 4)
        world.looks.found[url] = found
    async with world.scheduler(at_once=1):
        await asyncio.sleep(0)
        alice = await world.subscribe(*of_alice)
        put_off = await world.until_put_off(20, *of_alice)
        assert sum(feed.looked is None for feed in put_off) == 16
        await world.add(alice, shared)
        (waiting,) = await world.until_put_off(1, shared)
        assert waiting.looked is None
        assert waiting.next_fetch >= world.clock.at + DAY_US - MINUTE_US
        await world.subscribe(shared, *of_ben, name="ben")
        await world.looked_at(shared, *of_ben)
    assert sum(url in of_alice for url in world.looks.looked) == 4
