"""The scheduler: what is looked at, how much at once, and what survives its end."""

import asyncio
from collections.abc import Callable

import pytest
from authors import TESTER
from recorded import recorded
from scripted_looks import Clock, ScriptedLooks
from stores import service_on

from feedkeep.feeds import scheduler as keeping
from feedkeep.feeds import sweep as going_round
from feedkeep.feeds.scheduler import LEASE_US, FetchScheduler
from feedkeep.feeds.sweep import SubscriptionSweep
from feedkeep.model import (
    AccountId,
    Episode,
    Failure,
    Feed,
    FeedContent,
    Fetch,
    FetchResult,
    Guid,
    NewestEpisodes,
    Stamp,
    replace,
)
from feedkeep.model.errors import StoreUnavailable
from feedkeep.outbound.failures import MachineFailed
from feedkeep.rules import feed_schedule
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.feed_schedule import MINUTE_US, WEEK_US
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.fetch_order import DAILY_BYTES, FIRST_DUE, PAYERS, USUAL_FETCH_US
from feedkeep.rules.subscriptions import want
from feedkeep.runtime.recorder import Recorder
from feedkeep.store.base import Store

PATIENCE_SECONDS = 30.0
"""Far more than any test here takes; what never comes to pass ends it with an error."""

PERSONAL = "https://members.example/rss?key=kPq3vXyZ0aB9cD8eF7gH6iJ5kL4mN3oP"


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(keeping, "FETCHES_PER_SECOND", 10_000.0)
    monkeypatch.setattr(keeping, "_SHORTEST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(keeping, "_LONGEST_WAIT_SECONDS", 0.5)
    monkeypatch.setattr(going_round, "_SECONDS_BETWEEN_STEPS", 0.0)
    monkeypatch.setattr(going_round, "NOTED_A_SECOND", 10_000)


class World:
    """A service on a store, and what looks at its feeds."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self.service = service_on(store, self.clock)
        self.looks = ScriptedLooks()

    def scheduler(
        self,
        fetch: Fetch = Fetch.PUBLIC,
        at_once: int = 8,
        recorder: Recorder | None = None,
    ) -> FetchScheduler:
        service, now = self.service, self.clock
        moves = service.followed_moves
        rounds = SubscriptionSweep(self.store, service.new_feeds, moves, now, fetch)
        return FetchScheduler(self.store, rounds, self.looks, now, fetch, at_once, recorder)

    async def subscribe(self, *urls: str, name: str = "alice") -> AccountId:
        account = await self.service.accounts.create(name, None)
        await self.service.subscriptions.add(account.id, [want(u, None) for u in urls], TESTER)
        return account.id

    async def title(self, account_id: AccountId, url: str) -> str:
        """Return the title of a feed that an account is shown."""
        found = await self.service.known_feeds.headlines_at(account_id, [url])
        return found[url].title if url in found else ""

    async def noted(self, *urls: str) -> None:
        """Return once feeds are waiting for a look."""
        guids = [parse_feed_url(url).guid for url in urls]
        while True:
            if len(await self.store.feeds.known(guids)) == len(guids):
                return
            await asyncio.sleep(0)

    async def until_put_off(self, count: int, *urls: str) -> list[Feed]:
        """Return those of these feeds that are not due yet, once they are so many."""
        guids = [parse_feed_url(url).guid for url in urls]
        while True:
            known = await self.store.feeds.known(guids)
            put_off = [
                known[guid]
                for guid in guids
                if guid in known and known[guid].next_fetch > self.clock.at
            ]
            if len(put_off) >= count:
                return put_off
            await asyncio.sleep(0)

    async def known(self, *urls: str) -> list[Feed]:
        """Return what is known of feeds, once all of it is stored."""
        guids = [parse_feed_url(url).guid for url in urls]
        while True:
            await asyncio.sleep(0)
            known = await self.store.feeds.known(guids)
            if len(known) == len(guids) and all(feed.looked for feed in known.values()):
                return [known[guid] for guid in guids]


@pytest.fixture
async def world(open_store):
    clock = Clock()
    async with asyncio.timeout(PATIENCE_SECONDS), open_store(clock) as store:
        world = World(store, clock)
        yield world
        world.service._passwords.close()


def urls(count: int, host: str = "{}.example") -> list[str]:
    return [f"https://{host.format(number)}/feed/{number}" for number in range(count)]


async def test_a_new_feed_is_looked_at_at_once(world):
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(*urls(3))
        feeds = await world.known(*urls(3))
    assert [feed.content and feed.content.title for feed in feeds] == urls(3)
    assert all(feed.next_fetch > feed.looked + DAY_US // 2 for feed in feeds)
    assert world.looks.is_closed


# C10.14
async def test_for_a_newcomer_a_known_feed_is_looked_at_at_once_and_once_a_minute(world):
    (url,) = urls(1)
    world.looks.found = {url: FetchResult(FeedContent(title="Radio"), etag="1")}
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(url)
        (first,) = await world.known(url)
        world.clock.go_on(2 * MINUTE_US)
        world.looks.found = {url: FetchResult()}  # it has not changed
        world.looks.gate.clear()
        ben = await world.subscribe(url, name="ben")
        assert await world.title(ben, url) == ""
        world.looks.gate.set()
        while (feed := (await world.known(url))[0]).looked == first.looked:
            pass
        assert await world.title(ben, url) == "Radio"
        assert world.looks.etags == ["", "1"]
        mallory = await world.subscribe(url, name="mallory")
        while (await world.known(url))[0].next_fetch != shift(feed.looked, MINUTE_US):
            pass
        assert await world.title(mallory, url) == ""
        assert len(world.looks.looked) == 2


async def test_episodes_are_stored_once_and_not_those_of_another_feed(world):
    url = "https://a.example/feed"
    told = [NewestEpisodes(f"10 {title}", (Episode(title),)) for title in ("First", "Second")]
    guid = parse_feed_url(url).guid
    show = FeedContent(title="Show", items=("1", "2", "3"))
    other = replace(show, title="Other", items=("x", "y", "z"))
    written: list[NewestEpisodes | None] = []
    feeds, save, is_news = world.store.feeds, world.store.feeds.save, asyncio.Event()

    async def noted(*arguments):
        is_saved = await save(*arguments)
        written.append(arguments[4])
        is_news.set()
        return is_saved

    feeds.save = noted  # type: ignore[method-assign]
    await feeds.want({guid: url}, world.clock())
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
        feed = (await feeds.known([guid]))[guid]
        assert feed.episodes == stored.validator
        assert await feeds.episodes([guid]) == {guid: stored.episodes}
        await feeds.renew([replace(feed, next_fetch=Stamp(0))])
    assert written == [told[0], None, None, None, told[1]]


async def test_a_look_that_began_before_a_newcomer_came_is_followed_by_another(world):
    (url,) = urls(1)
    world.looks.gate.clear()
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(url)
        await world.looks.until_looked_at(1)
        ben = await world.subscribe(url, name="ben")
        guid = parse_feed_url(url).guid
        while True:
            await asyncio.sleep(0)
            if (await world.store.feeds.known([guid]))[guid].next_fetch > FIRST_DUE:
                break
        world.looks.gate.set()
        (feed,) = await world.known(url)
    assert await world.title(ben, url) == ""
    assert feed.next_fetch < shift(world.clock.at, 2 * MINUTE_US)


async def test_looks_are_counted_by_what_they_came_to(world):
    some, recorder = urls(4), Recorder()
    world.looks.found = {
        some[0]: FetchResult(),
        some[1]: FetchResult(failure=Failure.GONE),
        some[2]: FetchResult(failure=Failure.TOO_SLOW),
    }
    async with world.scheduler(recorder=recorder):
        await asyncio.sleep(0)
        await world.subscribe(*some)
        await world.known(*some)
    for result, count in {
        "unchanged": 1,
        "gone": 1,
        "too-slow": 1,
        "read": 1,
        "crashed": 0,
    }.items():
        assert recorded(recorder, "feedkeep_fetches_total", result=result) == count, result
    assert recorded(recorder, "feedkeep_fetch_duration_seconds_count") == 4


async def test_what_this_machine_cannot_look_at_did_not_fail_and_keeps_its_turn(monkeypatch, world):
    monkeypatch.setattr(keeping, "_SECONDS_AFTER_A_FAILURE", 0.0)
    url, other = urls(2)
    world.looks.found = {url: MachineFailed("This machine cannot look at feeds.")}
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(url, other)
        await world.known(other)
        while world.looks.looked.count(url) < 2:  # a minute later
            await world.looks.until_looked_at(len(world.looks.looked) + 1)
        guid = parse_feed_url(url).guid
        feed = (await world.store.feeds.known([guid]))[guid]
        assert (feed.failure, feed.failures, feed.failing, feed.looked) == (None, 0, None, None)
        assert feed.next_fetch < FIRST_DUE  # its turn
        world.looks.found.clear()
        (feed,) = await world.known(url)
    assert feed.content is not None


async def test_what_is_added_one_by_one_is_noted_together(monkeypatch, world):
    monkeypatch.setattr(going_round, "_SECONDS_BETWEEN_STEPS", 1.0)
    noted: list[int] = []
    real = world.store.feeds.want

    async def want_and_count(urls, *more):
        noted.append(len(urls))
        await real(urls, *more)

    monkeypatch.setattr(world.store.feeds, "want", want_and_count)
    account = await world.service.accounts.create("alice", None)
    async with world.scheduler():
        for url in urls(30):
            await world.service.subscriptions.add(account.id, [want(url, None)], TESTER)
        await world.known(*urls(30))
    assert len(noted) < 6


@pytest.mark.parametrize("is_round", [False, True], ids=["as they are added", "by going round"])
async def test_a_crowd_of_new_feeds_is_noted_a_few_at_a_time_with_time_for_requests_between(
    monkeypatch, is_round, world
):
    monkeypatch.setattr(going_round, "NOTED_A_SECOND", 1_000)
    count = 3 * going_round.NOTED_AT_ONCE
    noted: list[tuple[int, float]] = []
    loop = asyncio.get_running_loop
    real = world.store.feeds.want

    async def want_and_tell(urls, *more):
        noted.append((len(urls), loop().time()))
        await real(urls, *more)

    monkeypatch.setattr(world.store.feeds, "want", want_and_tell)
    if is_round:
        await world.subscribe(*urls(count))
    async with world.scheduler():
        await asyncio.sleep(0)
        if not is_round:
            await world.subscribe(*urls(count))
        await world.known(*urls(count))
    sizes, moments = zip(*noted[:3], strict=True)
    assert set(sizes) == {going_round.NOTED_AT_ONCE}
    assert moments[2] - moments[0] >= 2 * going_round.NOTED_AT_ONCE / 1_000


async def test_what_was_there_before_is_found_by_going_through_all_lists(world):
    await world.subscribe(*urls(2))
    await world.subscribe(*urls(4), name="ben")
    async with world.scheduler():
        await world.known(*urls(4))
    assert sorted(world.looks.looked) == sorted(urls(4))  # each once, however many have it


async def test_a_feed_is_looked_at_again_when_it_is_due_and_not_before(world):
    await world.subscribe(*urls(1))
    async with world.scheduler():
        await world.known(*urls(1))
    async with world.scheduler():
        await world.subscribe(*urls(2), name="ben")
        await world.known(*urls(2))
    assert sorted(world.looks.looked) == sorted(urls(2))
    world.clock.go_on(2 * DAY_US)
    async with world.scheduler():
        await world.looks.until_looked_at(4)


async def test_of_each_host_one_feed_at_a_time_and_a_few_altogether(world):
    await world.subscribe(*urls(4, host="one.example"), *urls(30))
    world.looks.gate.clear()
    async with world.scheduler(at_once=5):  # one of them is for feeds that answered last time
        await world.looks.until_looked_at(4)
        world.looks.gate.set()
        await world.known(*urls(4, host="one.example"), *urls(30))
    assert world.looks.most_at_once == 4
    assert set(world.looks.hosts_at_once) == {1}


async def test_many_feeds_of_one_host_do_not_delay_the_others(world):
    many = urls(50, host="one.example")
    await world.subscribe(*many)
    world.looks.slow = set(many)
    async with world.scheduler(at_once=3):
        await world.looks.until_looked_at(1)
        await world.subscribe(*urls(5), name="ben")
        await world.known(*urls(5))
    assert len(world.looks.looked) == 6


async def test_many_new_feeds_of_one_host_are_due_one_after_the_other_as_fast_as_it_answers(
    monkeypatch, world
):
    monkeypatch.setattr(keeping, "_LONGEST_WAIT_SECONDS", 0.01)
    many = urls(60, host="one.example")
    world.looks.gate.clear()
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(*many)
        dues = {feed.next_fetch for feed in await world.until_put_off(56, *many)}
        assert len(dues) == 56
        assert max(dues) < world.clock.at + len(many) * USUAL_FETCH_US
        world.looks.gate.set()
        while len(world.looks.looked) < len(many):
            world.clock.go_on(4 * USUAL_FETCH_US)
            await world.until_put_off(len(many), *many)
    assert sorted(world.looks.looked) == sorted(many)


async def test_leased_feeds_without_room_are_postponed_together_so_that_they_share_a_commit(
    monkeypatch, world
):
    many = urls(40, host="one.example")
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
        await world.until_put_off(len(many) - 4, *many)
    assert at_once > 4


async def test_of_a_host_with_many_feeds_of_an_account_those_of_another_come_in_their_turns(world):
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


async def test_a_feed_that_waits_among_the_slow_keeps_no_quick_one_of_its_host_waiting(world):
    silent, gone, good = "https://silent.example/", *urls(2, host="popular.example")
    failing = FetchResult(failure=Failure.TOO_SLOW)
    world.looks.found = {silent: failing, gone: failing}
    await world.subscribe(silent, gone, good)
    async with world.scheduler():
        feeds = await world.known(silent, gone, good)
    world.clock.go_on(DAY_US)
    dues = [replace(feed, next_fetch=world.clock()) for feed in feeds]
    await world.store.feeds.renew(dues)
    world.looks.slow = {silent}
    async with world.scheduler(at_once=2):
        await world.looks.until_looked_at(5)
    assert world.looks.looked[3:] == [silent, good]


@pytest.mark.parametrize("is_round", [False, True], ids=["as they are added", "by going round"])
async def test_800_feeds_of_an_account_at_slow_hosts_keep_12_of_another_waiting_for_6_rounds(
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


async def test_once_no_feed_waits_an_account_that_added_many_has_its_turn_like_any_other(world):
    alice, turns = AccountId(1), world.service.new_feeds.turns
    for _ in range(500):  # another process has looked at these
        turns.next_of(alice)
    async with world.scheduler():
        while True:
            await asyncio.sleep(0)
            if turns.next_of(alice) < 500 * PAYERS:
                return


@pytest.mark.parametrize("kind", ["new", "failing", "slow"])
async def test_hosts_that_never_end_their_answers_keep_no_feed_waiting_that_answered_last_time(
    kind, monkeypatch, world
):
    (good,), endless = urls(1, host="good.example"), urls(60)
    if kind != "new":
        await world.subscribe(*endless)
        if kind == "failing":
            world.looks.found = {url: FetchResult(failure=Failure.TOO_SLOW) for url in endless}
        with monkeypatch.context() as patch:
            patch.setattr(feed_schedule, "SLOW_SECONDS", 0.0 if kind == "slow" else 60.0)
            async with world.scheduler():
                await world.known(*endless)
        world.clock.go_on(MINUTE_US)
    await world.subscribe(good, name="ben")
    async with world.scheduler():
        await world.known(good)
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


async def test_a_personal_address_is_never_looked_at_unless_all_are(world):
    await world.subscribe(PERSONAL, *urls(1))
    async with world.scheduler():
        await world.known(*urls(1))
    assert world.looks.looked == urls(1)
    async with world.scheduler(Fetch.ALL):
        await world.known(PERSONAL)
    assert world.looks.looked == [*urls(1), PERSONAL]
    world.clock.go_on(2 * DAY_US)
    async with world.scheduler():
        await world.looks.until_looked_at(3)
        (feed,) = await world.known(PERSONAL)
        while feed.next_fetch < world.clock.at + WEEK_US // 2:
            (feed,) = await world.known(PERSONAL)
    assert world.looks.looked == [*urls(1), PERSONAL, *urls(1)]


async def test_a_personal_address_is_looked_at_again_and_again_once_a_subscriber_permits_it(world):
    alice = await world.subscribe(PERSONAL)
    (feed,) = await world.service.subscriptions.subscribed(alice)
    for looks in (1, 2):
        for _ in range(2):  # the second time changes nothing
            await world.service.known_feeds.permit(alice, feed)
        async with world.scheduler():
            await world.looks.until_looked_at(looks)
            await world.known(PERSONAL)
        world.clock.go_on(3 * DAY_US)  # by then, the round has to want it anew
    assert world.looks.looked == [PERSONAL] * 2


async def test_a_secret_is_asked_by_https_once_anybody_has_it_so(world):
    by_http = PERSONAL.replace("https", "http")
    async with world.scheduler(Fetch.ALL):
        await world.subscribe(by_http)
        await world.looks.until_looked_at(1)
        await world.subscribe(PERSONAL, name="ben")
        await world.looks.until_looked_at(2)
        await world.known(PERSONAL)
    async with world.scheduler(Fetch.ALL):
        await world.subscribe(by_http, *urls(1), name="carol")
        await world.known(*urls(1))
    assert world.looks.looked == [by_http, PERSONAL, *urls(1)]
    (feed,) = await world.known(PERSONAL)
    assert feed.url == PERSONAL


async def test_what_has_no_subscriber_any_more_is_not_asked_two_days_later(monkeypatch, world):
    monkeypatch.setattr(going_round, "_SECONDS_BETWEEN_ROUNDS", 0.0)
    gone, kept = urls(2)
    account = await world.subscribe(gone, kept)
    guid = parse_feed_url(gone).guid
    async with world.scheduler():
        await world.known(gone, kept)
    await world.service.subscriptions.set_subscribed(account, [guid], False, TESTER)
    world.clock.go_on(3 * DAY_US)
    async with world.scheduler():
        await world.looks.until_looked_at(3)
        (feed,) = await world.known(gone)
        while feed.next_fetch < world.clock.at:
            (feed,) = await world.known(gone)
        assert sorted(world.looks.looked) == sorted([gone, kept, kept])
        await world.service.subscriptions.set_subscribed(account, [guid], True, TESTER)
        await world.looks.until_looked_at(4)
        assert world.looks.looked[-1] == gone


async def test_nothing_is_looked_at_if_that_is_off(world):
    async with world.scheduler(Fetch.OFF):
        await world.subscribe(*urls(1))
        await asyncio.sleep(0)
    assert not world.looks.looked
    assert await world.store.feeds.next_fetch() is None


async def test_whenever_it_ends_what_is_leased_can_be_leased_by_others_at_once(world):
    feeds = world.store.feeds
    known = {parse_feed_url(url).guid: url for url in urls(4, host="one.example")}
    await feeds.want(known, world.clock())
    world.looks.gate.clear()
    for turns in range(60):
        before = len(world.looks.looked)
        async with world.scheduler():
            for _ in range(turns):
                await asyncio.sleep(0)
            if turns % 10 == 9:
                await world.looks.until_looked_at(before + 1)
        until = Stamp(world.clock.at + LEASE_US)
        others = await feeds.lease(world.clock(), until, 9)
        assert {feed.guid for feed in others} == known.keys(), turns
        await feeds.release(list(known), until)


async def test_a_lease_that_is_nearly_over_is_given_back_without_a_look(world):
    first, second = urls(2, host="one.example")
    await world.subscribe(first, second)
    world.looks.gate.clear()
    async with world.scheduler():
        await world.looks.until_looked_at(1)
        world.clock.go_on(LEASE_US - MINUTE_US)
        world.looks.gate.set()
        await world.known(first, second)
    assert len(world.looks.looked) == 2  # the second one after it was leased anew


def once_away(ask: Callable, away: Exception, has_failed: asyncio.Event | None = None) -> Callable:
    """Return `ask`, except that the first call of it fails."""
    failures = [away]

    async def asked(*arguments: object) -> object:
        if failures:
            if has_failed:
                has_failed.set()
            raise failures.pop()
        return await ask(*arguments)

    return asked


async def test_the_scheduler_goes_on_when_the_store_is_there_again(monkeypatch, world):
    monkeypatch.setattr(keeping, "_SECONDS_AFTER_A_FAILURE", 0.0)
    feeds, has_failed = world.store.feeds, asyncio.Event()
    away = StoreUnavailable("away")
    monkeypatch.setattr(feeds, "lease", once_away(feeds.lease, away))
    monkeypatch.setattr(feeds, "save", once_away(feeds.save, away, has_failed))
    await world.subscribe(*urls(1))
    async with world.scheduler():
        await has_failed.wait()
        world.clock.go_on(LEASE_US)
        await world.known(*urls(1))
    assert world.looks.looked == urls(1) * 2


async def test_a_feed_that_no_account_has_any_more_is_forgotten_after_a_month(monkeypatch, world):
    # A round leaves out a feed whose row is held by a look just then; the next one has it.
    monkeypatch.setattr(going_round, "_SECONDS_BETWEEN_ROUNDS", 0.0)
    account_id = await world.subscribe(*urls(2))
    async with world.scheduler():
        await world.known(*urls(2))
    gone = parse_feed_url(urls(2)[0]).guid
    await world.service.subscriptions.set_subscribed(account_id, [gone], False, TESTER)
    world.clock.go_on(20 * DAY_US)
    known = await after_a_round(world, gone, is_known=True)
    assert len(known) == 2
    world.clock.go_on(11 * DAY_US)
    known = await after_a_round(world, gone, is_known=False)
    assert gone not in known


async def after_a_round(world: World, gone: Guid, *, is_known: bool) -> dict[Guid, Feed]:
    """Return what is known of the feeds when the scheduler has gone through all lists."""
    guids = [parse_feed_url(url).guid for url in urls(2)]
    before = len(world.looks.looked)
    async with world.scheduler():
        await world.looks.until_looked_at(before + 1)
        while True:
            known = dict(await world.store.feeds.known(guids))
            is_fresh = known[guids[1]].wanted > world.clock.at - DAY_US
            if is_fresh and (gone in known) == is_known:
                return known
            await asyncio.sleep(0)


async def test_a_host_that_wants_to_be_left_alone_is_asked_for_none_of_its_feeds(world):
    feeds, hour_seconds = urls(9, "shop.example"), 3_600
    busy = FetchResult(
        failure=Failure.ERROR_STATUS,
        reason="The host answers 429.",
        retry_after_seconds=hour_seconds,
    )
    world.looks.found = dict.fromkeys(feeds, busy)
    async with world.scheduler():
        await asyncio.sleep(0)
        await world.subscribe(*feeds, "https://other.example/feed")
        put_off = await world.until_put_off(9, *feeds)
        while min(feed.next_fetch for feed in put_off) < world.clock.at + 50 * MINUTE_US:
            world.clock.go_on(MINUTE_US // 60)  # those for which there was no room are due
            put_off = await world.until_put_off(9, *feeds)
        await world.known("https://other.example/feed")
        assert sum("shop" in url for url in world.looks.looked) == 1
        world.clock.go_on(2 * 60 * MINUTE_US)
        await world.looks.until_looked_at(3)


async def test_feeds_of_an_account_that_spent_its_bytes_wait_a_day_and_those_of_others_do_not(
    world,
):
    of_alice, (shared, *of_ben) = urls(20, "{}.alice.example"), urls(3, "{}.ben.example")
    for url in of_alice:
        found = FetchResult(FeedContent(title=url), received_bytes=DAILY_BYTES // 4)
        world.looks.found[url] = found
    async with world.scheduler(at_once=1):
        await asyncio.sleep(0)
        alice = await world.subscribe(*of_alice)
        put_off = await world.until_put_off(20, *of_alice)
        assert sum(feed.looked is None for feed in put_off) == 16
        await world.service.subscriptions.add(alice, [want(shared, None)], TESTER)
        (waiting,) = await world.until_put_off(1, shared)
        assert waiting.looked is None
        assert waiting.next_fetch >= world.clock.at + DAY_US - MINUTE_US
        await world.subscribe(shared, *of_ben, name="ben")
        await world.known(shared, *of_ben)
    assert sum(url in of_alice for url in world.looks.looked) == 4
