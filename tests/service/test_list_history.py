"""The history of lists: how it is forgotten, how a poll sees an undo, and what an app has seen."""

import asyncio
from contextlib import closing
from functools import partial

import pytest
from authors import TESTER
from running import DAY, MINUTE, assert_refused
from stores import service_on
from structlog.testing import capture_logs
from whole_store import damages_of

from feedkeep import model
from feedkeep.model import Admitted, CredentialKind, Second, Stamp, replace
from feedkeep.model.errors import InvalidInput, StoreUnavailable
from feedkeep.rules import devices
from feedkeep.rules.clock import DAY_US, SECOND_US
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Update, want
from feedkeep.rules.undo import ConflictPolicy, Undo
from feedkeep.service import forgetting, list_changes
from feedkeep.service.forgetting import AFTER_JUMP_SECONDS, AFTER_START_SECONDS, SteadyClock
from feedkeep.service.history import NEWEST
from feedkeep.service.progress import Progress
from feedkeep.store.sqlite.connection import open_file

URLS = [f"https://{number}.example/feed" for number in range(12)]
MOVED = "https://moved.example/feed"
TOKEN = CredentialKind.TOKEN
PHONE, TABLET = (
    replace(TESTER, kind=CredentialKind.SESSION, device=device) for device in ("phone", "tablet")
)
BROWSER = replace(TESTER, kind=CredentialKind.BROWSER)


async def filled(service, name="alice"):
    account = await service.accounts.create(name, None)
    await service.subscriptions.add(account.id, [want(url, None) for url in URLS], TESTER)
    return account


async def leave(service, account, *numbers, by=PHONE):
    """Unsubscribe as an app does that knows URLs only."""
    listed = await service.subscriptions.subscribed(account.id)
    guids = {feed.feed_url: feed.guid for feed in listed}
    wanted = [guids[URLS[number]] for number in numbers]
    await service.subscriptions.set_subscribed(account.id, wanted, False, by)


async def forget_all(service):
    """Go round all accounts once; return how many steps that took."""
    after, steps = model.AccountId(0), 0
    while after is not None:
        after = await service.forgetting.step(after)
        steps += 1
    return steps


@pytest.fixture
async def account(service):
    return await filled(service)


# C9.1, C9.2, C9.10
async def test_older_states_are_forgotten(monkeypatch, service, store, clock, account):
    monkeypatch.setattr(forgetting, "STATES_IN_A_STEP", 5)
    await leave(service, account, *range(8))
    clock.go_on(60 * DAY)
    await leave(service, account, 8)
    first, second = [c.stamp for c in (await service.history.page(account.id)).changes[:2]]
    clock.go_on(31 * DAY)
    assert await forget_all(service) > 2
    kept = await store.history.page(account.id, NEWEST, 10)
    assert {state.ended for state in kept.states if state.ended} == {first}
    listed = await service.history.page(account.id)
    assert [change.stamp for change in listed.changes] == [first]
    undo = partial(service.history.undo, account.id, author=TESTER)
    await assert_refused(undo(Undo([second])), InvalidInput, "does not go back that far")
    assert (await undo(Undo([first]))).feeds == 1


async def test_without_a_history_nothing_is_kept_or_restored(service, store, clock, account):
    await leave(service, account, 0)
    without = service_on(store, clock, history_days=0)
    await leave(without, account, 1)
    clock.go_on(MINUTE)
    await forget_all(without)
    kept = await store.history.page(account.id, NEWEST, 10)
    assert [state for state in kept.states if state.ended or state.author] == []
    assert (await without.history.page(account.id)).changes == []
    # Once it is kept again, the list cannot be restored from a time when it was not.
    for one, reason in ((without, "No history is kept"), (service, "does not go back that far")):
        restored = one.history.restore(account.id, account.created, keep_added=False, author=TESTER)
        await assert_refused(restored, InvalidInput, reason)
    without._passwords.close()


@pytest.mark.parametrize("error", [StoreUnavailable("It is locked."), RuntimeError("unexpected")])
async def test_forgetting_goes_on_after_whatever_happened(monkeypatch, error, service, store):
    monkeypatch.setattr(forgetting, "_SECONDS_AFTER_A_FAILURE", 0.0)
    monkeypatch.setattr(SteadyClock, "is_believed", lambda _: True)
    is_back = asyncio.Event()
    forget = store.history.forget

    async def away(*_, **__):
        monkeypatch.setattr(store.history, "forget", here)
        raise error

    async def here(*arguments, **more):
        is_back.set()
        return await forget(*arguments, **more)

    monkeypatch.setattr(store.history, "forget", away)
    with capture_logs() as logs:
        service.forgetting.start()
        await is_back.wait()
        await service.forgetting.close()
    assert [line["log_level"] for line in logs] == ["warning"]


def test_a_clock_that_jumped_ahead_is_believed_after_a_day_or_once_it_is_back():
    wall, counted = 0, 0.0
    clock = SteadyClock(lambda: model.Stamp(wall), lambda: counted)

    def believed_after(seconds, drift_us=0):
        nonlocal wall, counted
        counted += seconds
        wall += int(seconds * SECOND_US) + drift_us
        return clock.is_believed()

    assert believed_after(AFTER_START_SECONDS, DAY_US)
    assert not believed_after(1, DAY_US + 1)
    assert not believed_after(1, -DAY_US)
    assert believed_after(1, -DAY_US - 1)
    assert not believed_after(1, DAY_US + 1)
    assert not believed_after(AFTER_JUMP_SECONDS - 1)
    assert believed_after(1)


async def test_nothing_is_forgotten_while_the_clock_is_ahead(
    monkeypatch, service, store, clock, account
):
    counted_seconds = 0.0

    def told(looks, answer):
        looks.put_nowait(answer)
        return answer

    for name in ("_SECONDS_WHILE_IT_WAITS", "_SECONDS_BETWEEN_STEPS", "_SECONDS_BETWEEN_ROUNDS"):
        monkeypatch.setattr(forgetting, name, 0.0)
    await leave(service, account, 0)
    looks = asyncio.Queue[bool]()
    steady = SteadyClock(clock, lambda: counted_seconds)
    is_believed = steady.is_believed
    monkeypatch.setattr(steady, "is_believed", lambda: told(looks, is_believed()))
    monkeypatch.setattr(service.forgetting, "_clock", steady)

    async def answers(*, after_seconds, wall_us):
        nonlocal counted_seconds
        counted_seconds += after_seconds
        clock.go_on(wall_us)
        while not looks.empty():
            looks.get_nowait()
        return await looks.get()

    hour = 60 * MINUTE
    service.forgetting.start()
    with capture_logs() as logs:
        assert not await answers(after_seconds=3_599, wall_us=hour - 1_000_000)
        assert await answers(after_seconds=1, wall_us=1_000_000)
        assert not await answers(after_seconds=1, wall_us=400 * DAY)
        assert not await answers(after_seconds=3_600, wall_us=hour)
        for _ in range(4):  # steps, if it took any
            await looks.get()
    assert [(line["log_level"], line["days"]) for line in logs] == [("warning", 400.0)]
    assert len((await store.history.page(account.id, NEWEST, 10)).states) == len(URLS) + 1
    assert await answers(after_seconds=1, wall_us=-400 * DAY)
    assert not await answers(after_seconds=1, wall_us=91 * DAY)
    assert await answers(after_seconds=86_400, wall_us=DAY)  # it has slept for a quarter
    while (await store.history.page(account.id, NEWEST, 10)).stamps:
        await looks.get()
    await service.forgetting.close()


async def test_undo_works_without_resending_plays(monkeypatch, service, store, account):
    await leave(service, account, 0)
    newest = (await service.history.page(account.id)).changes[0]

    async def away(*_):
        raise StoreUnavailable("The database is locked.")

    monkeypatch.setattr(store.accounts, "advance", away)
    with capture_logs() as logs:
        done = await service.history.undo(account.id, Undo([newest.stamp]), TESTER)
    assert done.feeds == 1
    assert len(await service.subscriptions.subscribed(account.id)) == len(URLS)
    assert [line["log_level"] for line in logs] == ["warning"]


def warnings(logs):
    return [(line["feeds"], line["of"]) for line in logs if line["log_level"] == "warning"]


OF_TWO_APPS = [(0, PHONE, [0, 1]), (0, TABLET, [3, 4]), (9, PHONE, [6])]


@pytest.mark.parametrize(
    ("left", "logged"),
    [
        (OF_TWO_APPS, []),
        ([*OF_TWO_APPS, (0, PHONE, [8, 9]), (0, PHONE, [10])], [(5, 12)]),
        ([(0, PHONE, [0, 1, 2]), (11, PHONE, [5, 6])], []),
        ([(0, BROWSER, range(12))], []),
    ],
    ids=["two apps", "one app, once", "too slow", "a person"],
)
async def test_a_mass_unsubscribe_by_an_app_is_logged_once(service, clock, account, left, logged):
    with capture_logs() as logs:
        for minutes, by, numbers in left:
            clock.go_on(minutes * MINUTE)
            await leave(service, account, *numbers, by=by)
    assert warnings(logs) == logged


async def test_feeds_that_an_app_removed_one_by_one_are_all_offered_and_restored(service, account):
    more = [f"https://more.example/{number}" for number in range(120)]
    await service.subscriptions.add(account.id, [want(url, None) for url in more], TESTER)
    for url in more:  # the Open Podcast API has no request for several
        guid = parse_feed_url(url).guid
        await service.subscriptions.set_subscribed(account.id, [guid], False, PHONE)
    whole = await service.subscriptions.whole(account.id)
    offered, _ = await service.history.newest_mass_unsubscribe(account.id, whole, Stamp(0))
    assert len(offered.feeds) == 120
    assert (await service.history.restore_removed(account.id, offered.stamps, BROWSER)).feeds == 120


async def test_apps_that_are_counted_are_bounded(monkeypatch, service, account):
    monkeypatch.setattr(list_changes, "_MAX_TALLIES", 1)
    other = await filled(service, "ben")
    with capture_logs() as logs:
        await leave(service, account, 0, 1, 2)
        await leave(service, other, 0)
        await leave(service, account, 5, 6)
    assert warnings(logs) == []


@pytest.fixture
async def moved(service, account):
    """An account of which a feed moved to `MOVED`, and what takes the move back."""
    await service.url_lists.move(account.id, URLS[0], MOVED, TESTER, notify_apps=False)
    change = (await service.history.page(account.id)).changes[0]
    return await service.accounts.named(account.name), Undo([change.stamp])


def once(ask, then):
    """Return `ask`, after which `then` happens the first time, before the answer is there."""
    waiting = [then]

    async def asked(*arguments, **more):
        answer = await ask(*arguments, **more)
        if waiting:
            await waiting.pop()()
        return answer

    return asked


async def test_a_poll_skips_a_url_that_is_undone_meanwhile(monkeypatch, service, store, moved):
    account, back = moved
    take_back = partial(undo, service, account, back)
    monkeypatch.setattr(store.entries, "changed", once(store.entries.changed, take_back))
    told = await service.url_lists.changes(Admitted(account, TOKEN), Second(0), "phone")
    assert sorted(told.changes.add) == sorted(URLS)


async def undo(service, account, change):
    await service.history.undo(account.id, change, TESTER)


async def patch(service, account, _):
    feed = await service.subscriptions.view(account.id, parse_feed_url(MOVED).guid)
    await service.subscriptions.update(
        account.id, feed.subscription.guid, Update(parse_feed_url(URLS[0])), TESTER
    )


async def move(service, account, _):
    await service.url_lists.move(account.id, MOVED, URLS[0], TESTER, notify_apps=False)


async def follow(service, account, _):
    old, new = parse_feed_url(MOVED), parse_feed_url(URLS[0])
    assert await service.followed_moves.follow(account.id, old, new)


@pytest.mark.parametrize("go_back", [undo, patch, move, follow])
async def test_a_url_sent_during_an_undo_stays_the_feeds(
    go_back, monkeypatch, service, store, moved
):
    account, back = moved
    lists = service.url_lists
    ask = partial(lists.changes, Admitted(account, TOKEN), Second(0), "phone")
    monkeypatch.setattr(store.entries, "change", once(store.entries.change, ask))
    await go_back(service, account, back)
    now = await service.accounts.named(account.name)
    await lists.upload(Admitted(now, TOKEN), [], [MOVED], PHONE)
    listed = await service.subscriptions.subscribed(account.id)
    assert sorted(feed.feed_url for feed in listed) == sorted(URLS[1:])


async def test_an_undone_move_is_sent_with_all_urls_after_a_lost_reply(service, moved):
    account, back = moved
    lists = service.url_lists

    async def poll(since):
        now = await service.accounts.named(account.name)
        return await lists.changes(Admitted(now, TOKEN), since, "phone")

    told = await poll(Second(0))
    await lists.changes(Admitted(account, TOKEN), Second(0), "tablet")
    await lists.upload(Admitted(account, TOKEN), [], [MOVED], TABLET)
    assert MOVED in (await poll(told.timestamp)).changes.remove  # a reply that is lost
    overwrite = replace(back, when_changed=ConflictPolicy.OVERWRITE)
    await service.history.undo(account.id, overwrite, TESTER)
    again = (await poll(told.timestamp)).changes
    assert (again.add, again.remove) == ([URLS[0]], [MOVED])


# tests/rules/test_history_invariants.py has each fault.
@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE former_entry SET began = ended WHERE began IS NOT NULL", "have one that began at"),
        ("UPDATE entry SET began = NULL", "overlap at"),
        ("UPDATE former_entry SET ended = ended + 1000000000000", "which is after the clock"),
        ("UPDATE former_entry SET feed_url = 'https://c.example'", "does not lead to it"),
    ],
)
@pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)
async def test_a_check_finds_faults_of_a_history(path, service, clock, account, statement, fault):
    first, second = [parse_feed_url(url).guid for url in URLS[:2]]
    change = partial(service.subscriptions.update, account.id, first, author=TESTER)
    off, on = Update(is_subscribed=False), Update(is_subscribed=True)
    for update in (off, on, Update(new_guid=second)):
        clock.go_on(1_000_000)
        await change(update)
    assert await damages_of(service) == []
    with closing(open_file(path)) as database:
        database.execute(statement)
        found = await damages_of(service)
        assert any(line.startswith("account alice: ") and fault in line for line in found), found
        if "began = ended" in statement:  # of what is no longer known, nothing is looked at
            database.execute("UPDATE account SET known_from = last_stamp")
            assert await damages_of(service) == []


async def test_progress_from_the_credential_counts_unless_the_clock_moved(service, store, bob):
    """A clock is set by a commit, and meanwhile another request of the app is answered."""

    async def poll():
        """Poll; return what is known of the app, and what is if nothing was read of it."""
        account = await store.accounts.find("bob")
        kind = CredentialKind.PASSWORD
        asked = [Admitted(account, kind, user_agent="Kasts")] * 2
        asked[1] = Admitted(account, kind, user_agent="Kasts", document=None)
        found = [
            (await Progress(store).of_poll(one, model.Clock.SUBSCRIPTIONS, ["a"], Second(5)))[0]
            for one in reversed(asked)
        ]
        await service.url_lists.changes(asked[0], Second(5), "a")
        return found[1].known, found[0].known

    nothing = model.SyncProgress(is_alone=True)
    assert await poll() == (nothing, nothing)
    sent, read_before = await poll()
    assert sent.last_sent is not None
    assert read_before == nothing  # the clock stands where it was: nothing was waited for
    in_a_browser = Admitted(bob, CredentialKind.BROWSER)
    await service.url_lists.upload(in_a_browser, URLS[:1], [], BROWSER)
    assert await poll() == (sent, sent)


async def test_progress_of_apps_without_cookies_is_bounded(monkeypatch, service, store, bob):
    monkeypatch.setattr(devices, "MAX_DOCUMENTS", 2)
    for app in ("Kasts", "GlassCast", "cliamp", "Kasts"):
        admitted = Admitted(bob, CredentialKind.PASSWORD, user_agent=app)
        await service.url_lists.changes(admitted, Second(5), "a")
    assert len(await store.documents.of(bob.id, model.DocumentKind.COOKIELESS)) == 2
