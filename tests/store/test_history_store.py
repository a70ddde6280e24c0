"""Former states of lists in every store, and their expiry."""

import asyncio
from functools import partial

import asyncpg
import pytest
from library import library
from list_values import ALICE, BOB, G1, G2, G3, account
from small_lists import look, opened
from whole_store import all_accounts

from feedkeep import model
from feedkeep.model import replace
from feedkeep.model.errors import InvalidInput, NotAuthorized
from feedkeep.model.weights import weight_of_entry

CAROL = 5
END = 2**63 - 1
ACCOUNTS = [account(one, f"name{one}") for one in (ALICE, BOB, CAROL)]
ANNA, BEN = '{"name":"Anna"}', '{"name":"Ben"}'


def feed(guid, stamp, *, subscribed=True):
    return model.Subscription(guid, f"https://{guid[-1]}.example", subscribed, stamp)


def left(guid, stamp):
    return feed(guid, stamp, subscribed=False)


def change(stamp, *saved, forgotten=(), **more):
    """Return the decision of a change with one stamp."""
    return model.Decision(None, saved, forgotten, stamp, model.Counts(1, 1, 1), stamp=stamp, **more)


async def make(store, *decisions, author=ANNA, of=ALICE):
    """Carry out decisions, one after the other, which may share a transaction."""
    commit = partial(store.entries.change, of, [G1, G2, G3], author=author)
    await asyncio.gather(*(commit(lambda _, made=made: made) for made in decisions))


async def add_and_leave(store, of=ALICE):
    """Add a feed at 10, leave it at 20, come back at 30."""
    await make(store, change(10, feed(G1, 10)), of=of)
    await make(store, change(20, left(G1, 20), ended=[G1]), author=BEN, of=of)
    await make(store, change(30, feed(G1, 30), ended=[G1]), of=of)


ADDED = model.EntryState(feed(G1, 10), 10, ANNA, 20)
LEFT = model.EntryState(left(G1, 20), 20, BEN, 30)
BACK = model.EntryState(feed(G1, 30), 30, ANNA)


async def history(store, since=0, of=ALICE):
    whole = await store.entries.whole(of, since)
    assert whole.history is not None
    present = {s.entry.guid: s.entry for s in whole.history.states if s.ended is None}
    assert present == whole.entries
    return replace(whole.history, states=in_order(whole.history.states))


def in_order(states):
    return sorted(states, key=lambda state: (state.ended or END, state.entry.guid))


async def page(store, before=END, limit=100, *guid):
    found = await store.history.page(ALICE, before, limit, *guid)
    return replace(found, states=in_order(found.states))


async def known(store, of=ALICE):
    """Return from when on the list is known, and how many former states are counted."""
    async with store.archive() as archive:
        records = [one async for some in archive.records() for one in some if one[0] == of]
    [found] = [record for _, record in records if isinstance(record, model.AccountRecord)]
    former = [state for state in (await history(store, 0, of)).states if state.ended]
    assert found.former_count == sum(weight_of_entry(state.entry) for state in former)
    return found.known_from, found.former_count


async def test_every_column_of_a_state_is_stored(open_store):
    async with open_store() as store:
        await store.fill(library(1, 5))
        [one] = await all_accounts(store)
        before = (await store.entries.whole(one.id, 0)).history
        present = {state.entry.guid: state for state in before.states if state.ended is None}
        stamp, guids = 10**16, sorted(present)

        def forget_all(snapshot):
            assert sorted(snapshot.entries) == guids
            return model.Decision(None, [], guids, stamp, model.Counts(), stamp=stamp, ended=guids)

        await store.entries.change(one.id, None, forget_all, author=BEN)
        found = await store.history.page(one.id, END, 1)
        assert found.stamps == [stamp]
        expected = {guid: replace(state, ended=stamp) for guid, state in present.items()}
        assert {state.entry.guid: state for state in found.states} == expected


async def test_entry_of_which_only_stamps_change_continues_its_state(store):
    await make(store, change(10, feed(G1, 10)))
    await make(store, change(20, feed(G1, 20), restamped=[G1]), author=BEN)
    assert (await history(store)).states == [model.EntryState(feed(G1, 20), 10, ANNA)]
    await make(store, change(30, left(G1, 30), ended=[G1]), author=BEN)
    # Also of a change in the same commit.
    await make(store, change(40, feed(G2, 40)), change(50, feed(G2, 50), restamped=[G2]))
    assert (await history(store)).states == [
        model.EntryState(feed(G1, 20), 10, ANNA, 30),
        model.EntryState(left(G1, 30), 30, BEN),
        model.EntryState(feed(G2, 50), 40, ANNA),
    ]


async def test_state_of_a_deleted_entry_is_stored_and_the_entry_may_come_back(store):
    pointer = model.Pointer(G2, G1, 10)
    await make(store, change(11, feed(G1, 11), pointer))
    await make(store, change(20, forgotten=[G2], ended=[G2]), author=BEN)
    await make(store, change(30, replace(pointer, guid_changed=30)), author=BEN)
    assert (await history(store)).states == [
        model.EntryState(pointer, 11, ANNA, 20),
        model.EntryState(feed(G1, 11), 11, ANNA),
        model.EntryState(model.Pointer(G2, G1, 30), 30, BEN),
    ]


async def test_changes_that_share_a_commit_store_all_states_between(store):
    await make(store, change(10, feed(G1, 10), feed(G2, 9)))
    await make(
        store,
        change(20, left(G1, 20), ended=[G1]),
        change(30, feed(G1, 30), ended=[G1]),
        change(40, feed(G1, 40), restamped=[G1]),
        change(50, feed(G2, 50), restamped=[G2]),
        change(60, left(G2, 60), ended=[G2]),
        change(70, forgotten=[G1], ended=[G1]),
        change(80, feed(G1, 80), feed(G3, 79)),
        change(90, forgotten=[G3], ended=[G3]),
        author=BEN,
    )
    assert (await history(store)).states == [
        model.EntryState(feed(G1, 10), 10, ANNA, 20),
        model.EntryState(left(G1, 20), 20, BEN, 30),
        model.EntryState(feed(G2, 50), 10, ANNA, 60),
        model.EntryState(feed(G1, 40), 30, BEN, 70),
        model.EntryState(feed(G3, 79), 80, BEN, 90),
        model.EntryState(feed(G1, 80), 80, BEN),
        model.EntryState(left(G2, 60), 60, BEN),
    ]
    assert await known(store) == (0, 5)


async def test_change_without_an_author_stores_no_state_and_the_list_is_known_from_it(store):
    await make(store, change(10, feed(G1, 10)))
    both = change(20, left(G1, 20), ended=[G1]), change(30, feed(G1, 30), ended=[G1])
    await make(store, *both, author=None)
    now = model.EntryState(feed(G1, 30), 30)
    assert await history(store) == model.History([now], 30)
    assert await known(store) == (30, 0)
    await make(store, change(40, forgotten=[G1], ended=[G1]), author=BEN)
    assert await history(store) == model.History([replace(now, ended=40)], 30)
    assert (await page(store)).stamps == [40]


async def test_change_that_is_refused_or_empty_stores_no_state(store):
    def refuse(_):
        raise InvalidInput("no")

    await add_and_leave(store)
    for since in (None, 0):
        with pytest.raises(InvalidInput):
            await store.entries.change(ALICE, [G1], refuse, author=None, history_from=since)
    await make(store, change(30), author=None)  # it changes nothing
    assert await known(store) == (0, 2)
    assert await history(store) == model.History([ADDED, LEFT, BACK], 0)
    assert (await history(store, of=BOB)).states == []


async def test_change_is_given_the_states_since_a_stamp_and_all_present_ones(store):
    await add_and_leave(store)
    for guids, since, entries, states in (
        (None, 30, [G1], [LEFT, BACK]),
        ([], 20, [], [ADDED, LEFT, BACK]),
        ([G1], 31, [G1], [BACK]),
        (None, None, [G1], None),
    ):
        given = await store.entries.change(ALICE, guids, look, history_from=since)
        assert list(given.entries) == entries
        assert (given.history and in_order(given.history.states)) == states
    with pytest.raises(NotAuthorized):
        await store.entries.change(77, None, look, history_from=0)
    with pytest.raises(NotAuthorized):
        await store.entries.whole(77, 0)


async def test_stamp_is_one_of_a_change_if_a_state_began_or_ended_with_it(store):
    await add_and_leave(store)
    await make(store, change(40, forgotten=[G1], ended=[G1]))
    await make(store, change(50, feed(G2, 50)))
    asked = [[10], [20], [40], [50], [7, 30], [], [7], [11, 49]]
    found = [await store.history.is_any_there(ALICE, stamps) for stamps in asked]
    assert found == [True] * 5 + [False] * 3
    assert not await store.history.is_any_there(BOB, [10])


# C9.1
async def test_of_very_many_states_those_that_the_oldest_changes_ended_are_forgotten(
    monkeypatch, store
):
    for module in ("sqlite", "postgres"):
        monkeypatch.setattr(f"feedkeep.store.{module}.entry_writes.MAX_FORMER_STATES", 3)
    both = (feed(G1, 10), feed(G2, 9))
    await make(store, change(10, *both))
    for stamp in (20, 30):  # each ends two states
        await make(store, change(stamp, feed(G1, stamp), feed(G2, stamp - 1), ended=[G1, G2]))
        assert await known(store) == ((0, 2) if stamp == 20 else (20, 2))
    for stamp in (40, 50):
        await make(store, change(stamp, feed(G1, stamp), ended=[G1]))
    assert await known(store) == (30, 2)
    assert (await page(store)).stamps == [50, 40]
    await make(store, change(60, feed(G3, 60)))  # a new feed ends nothing
    assert await known(store) == (30, 2)
    await make(store, *(change(stamp, feed(G1, stamp), ended=[G1]) for stamp in range(70, 80)))
    assert await known(store) == (76, 3)
    assert (await page(store)).stamps == [79, 78, 77]


# C9.1
async def test_former_states_count_once_for_each_kib_they_begin(monkeypatch, store):
    for module in ("sqlite", "postgres"):
        monkeypatch.setattr(f"feedkeep.store.{module}.entry_writes.MAX_FORMER_STATES", 10)
    long = replace(feed(G1, 10), feed_url=f"https://a.example/{'x' * 2_600}")  # 4 KiB
    await make(store, change(10, long, feed(G2, 9)))
    for stamp in range(20, 60, 10):
        again = (replace(long, subscription_changed=stamp), feed(G2, stamp - 1))
        await make(store, change(stamp, *again, ended=[G1, G2]))
    assert await known(store) == (30, 10)
    # Here in one batch, where some states began in it, too.
    changed = (replace(long, subscription_changed=stamp) for stamp in range(60, 65))
    made = (change(it.subscription_changed, it, ended=[G1]) for it in changed)
    await make(store, *made)
    assert await known(store) == (62, 8)
    assert (await page(store)).stamps == [64, 63]


async def test_former_states_weigh_as_much_when_forgotten_as_when_stored(store):
    stamp, expected = 10, 0
    sizes = (0, 511, 512, 513, 1_535, 1_536, 1_537, 8_192)
    texts = [sign * (size // len(sign.encode())) for size in sizes for sign in "aé€"]
    for text in texts:
        alias = model.Alias(text, moved_away=True) if len(text) % 2 else None
        other = text if len(text) % 3 else None
        kept = replace(feed(G1, stamp), feed_url=text, app_url=other, alias=alias)
        await make(store, change(stamp, kept, ended=[G1] if stamp > 10 else ()))
        assert (await known(store))[1] == expected
        expected += weight_of_entry(kept)
        stamp += 10
    await store.history.forget(0, stamp, 1_000, with_authors=False)
    assert (await known(store))[1] == 0


async def test_page_has_the_last_changes_before_a_stamp_and_their_states(store):
    await add_and_leave(store)
    await make(store, change(40, feed(G2, 40)), author=BEN)
    await make(store, change(50, left(G2, 50), ended=[G2]))
    await make(store, change(60, feed(G3, 60)))
    two_on = model.EntryState(feed(G2, 40), 40, BEN, 50)
    two_off = model.EntryState(left(G2, 50), 50, ANNA)
    three = model.EntryState(feed(G3, 60), 60, ANNA)
    everything = [ADDED, LEFT, two_on, BACK, two_off, three]
    for asked, stamps, states in (
        ((), [60, 50, 40, 30, 20, 10], everything),
        ((END, 1), [60], [three]),
        ((60, 2), [50, 40], [two_on, two_off]),
        ((50, 1), [40], [two_on]),
        ((40, 2), [30, 20], [ADDED, LEFT, BACK]),
        ((20, 2), [10], [ADDED]),
        ((10, 2), [], []),
        ((END, 3, G1), [30, 20, 10], [ADDED, LEFT, BACK]),
        ((50, 1, G2), [40], [two_on]),
    ):
        assert await page(store, *asked) == model.HistoryPage(stamps, states, 0)
    assert await store.history.page(BOB, END, 9) == model.HistoryPage([], [], 0)
    with pytest.raises(NotAuthorized):
        await store.history.page(77, END, 9)


async def test_pages_of_any_size_have_no_holes_and_nothing_twice(store):
    entries = set()
    for number in range(1, 40):  # in all kinds of order
        stamp, guid = 10 * number, (G1, G2, G3)[number * number % 7 % 3]
        ended = [guid] if guid in entries else []
        if number % 11 == 0 and ended:
            entries.remove(guid)
            await make(store, change(stamp, forgotten=ended, ended=ended))
        else:
            entries.add(guid)
            kept = feed(guid, stamp, subscribed=number % 2 == 0)
            await make(store, change(stamp, kept, ended=ended))
    everything = await page(store)
    assert everything.stamps == list(range(390, 0, -10))
    for limit in (1, 2, 7):
        seen, states, before = [], set(), END
        while (found := await page(store, before, limit)).stamps:
            touched = set(found.stamps)
            assert all({s.began, s.ended} & touched for s in found.states)
            expected = [s for s in everything.states if {s.began, s.ended} & touched]
            assert found.states == expected
            seen += found.stamps
            states |= {repr(state) for state in found.states}
            before = found.stamps[-1]
        assert seen == everything.stamps
        assert states == {repr(state) for state in everything.states}


async def sweep(store, until, max_states, *, with_authors=False):
    """Forget in steps, through all accounts; return after which accounts the steps went on."""
    steps = [0]
    while True:
        after = await store.history.forget(steps[-1], until, max_states, with_authors=with_authors)
        if after is None:
            return steps[1:]
        steps.append(after)
        assert len(steps) < 100


async def test_states_that_ended_at_a_stamp_or_before_are_forgotten_in_small_steps(store):
    for account_id in (ALICE, CAROL):
        await add_and_leave(store, account_id)
    assert await sweep(store, 30, 1) == [0, 0, 0, 0, ALICE]
    for account_id in (ALICE, CAROL):
        assert await known(store, account_id) == (30, 0)
        assert (await history(store, 0, account_id)).states == [BACK]
    assert await known(store, BOB) == (0, 0)
    assert await sweep(store, 30, 1) == [ALICE]  # no account has any: one step for all


async def test_states_that_ended_later_stay_and_the_list_is_known_from_the_stamp(store):
    await add_and_leave(store)
    for until in (20, 15):
        await sweep(store, until, 100)
        assert await history(store) == model.History([LEFT, BACK], 20)
        assert await known(store) == (20, 1)
    assert (await page(store)).stamps == [30]
    await sweep(store, 25, 100)  # nothing ended since
    assert await known(store) == (25, 1)
    assert (await page(store)).states == [LEFT, BACK]
    # Nothing could be undone before a later stamp than that of the list's last change.
    await sweep(store, 10**15, 3)
    assert await known(store) == (30, 0)


async def test_authors_of_present_states_are_forgotten_only_if_requested(store):
    await add_and_leave(store)
    await make(store, change(40, feed(G2, 40), feed(G3, 39)), of=CAROL)
    await sweep(store, 50, 100)
    assert (await history(store)).states == [BACK]
    assert await sweep(store, 50, 1, with_authors=True) == [0, 0, 0, ALICE]
    assert (await history(store)).states == [replace(BACK, author="")]
    assert {(s.began, s.author) for s in (await history(store, 0, CAROL)).states} == {(40, "")}
    assert await sweep(store, 50, 1, with_authors=True) == [ALICE]


async def test_states_and_authors_of_an_account_share_the_bound_of_a_step(store):
    await add_and_leave(store)
    await make(store, change(40, feed(G2, 40), feed(G3, 39)))
    after = 0
    for kept in (2, 0):
        after = await store.history.forget(after, 30, 3, with_authors=True) or after
        states = (await history(store)).states
        assert len([state for state in states if state.author]) == kept
        assert [state.ended for state in states] == [None] * 3


async def test_step_looks_through_many_accounts_and_none_is_missed(store):
    many = [(account(one, f"name{one}"), f"name{one}") for one in range(10, 1_110)]
    await store.accounts.create_many(many)
    await add_and_leave(store, 1_100)
    for with_authors, most in ((False, 5), (True, 60)):
        steps = await sweep(store, 30, 100, with_authors=with_authors)
        assert 1_100 in steps
        assert len(steps) <= most
        assert steps == sorted(steps)
    assert await known(store, 1_100) == (30, 0)


async def test_sweep_passes_over_a_locked_account(emptied_database):
    async with opened(emptied_database) as store:
        await add_and_leave(store)
        other = await asyncpg.connect(emptied_database)
        await other.execute("BEGIN; UPDATE feedkeep.account SET name = name")
        async with asyncio.timeout(1):  # less than one waits for a lock
            assert await sweep(store, 30, 100, with_authors=True) == [ALICE]
        assert (await history(store)).states == [ADDED, LEFT, BACK]
        await other.execute("ROLLBACK")
        await other.close()
        await sweep(store, 30, 100, with_authors=True)
        assert await known(store) == (30, 0)


async def test_sweep_continues_after_an_account_is_deleted_meanwhile(monkeypatch, store):
    await add_and_leave(store)
    runner = store._runner
    write = runner.write

    async def late(job, *account_id):
        monkeypatch.setattr(runner, "write", write)
        await store.accounts.delete(ALICE)
        return await write(job, *account_id)

    monkeypatch.setattr(runner, "write", late)
    assert await sweep(store, 30, 100, with_authors=True) == [ALICE]
