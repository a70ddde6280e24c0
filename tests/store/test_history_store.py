"""What every store keeps of a list's former states, and how it forgets them."""

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest
from library import library
from whole_store import all_accounts

from feedkeep.model import (
    Account,
    AccountId,
    AccountRecord,
    Alias,
    Counts,
    Decision,
    Entry,
    EntryState,
    Guid,
    History,
    HistoryPage,
    Pointer,
    Snapshot,
    Stamp,
    Subscription,
    replace,
)
from feedkeep.model.errors import InvalidInput, NotAuthorized
from feedkeep.model.weights import weight_of_entry
from feedkeep.runtime import wall_clock
from feedkeep.store.base import Store
from feedkeep.store.postgres import PostgresStore

ALICE, BOB, CAROL = AccountId(2**63 - 1), AccountId(1), AccountId(5)
G1, G2, G3 = (Guid(f"00000000-0000-4000-8000-00000000000{i}") for i in (1, 2, 3))
END = Stamp(2**63 - 1)
ACCOUNTS = [Account(one, f"name{one}", None, False, 0) for one in (ALICE, BOB, CAROL)]
ANNA, BEN = '{"name":"Anna"}', '{"name":"Ben"}'


def feed(guid: Guid, stamp: int, *, subscribed: bool = True) -> Subscription:
    return Subscription(guid, f"https://{guid[-1]}.example", subscribed, Stamp(stamp))


def change(
    stamp: int,
    *saved: Entry,
    forgotten: Sequence[Guid] = (),
    ended: Sequence[Guid] = (),
    restamped: Sequence[Guid] = (),
) -> Decision[None]:
    """Return the decision of a change with one stamp."""
    counts = Counts(1, 1, 1)
    decision = Decision(None, saved, forgotten, Stamp(stamp), counts, stamp=Stamp(stamp))
    return replace(decision, ended=ended, restamped=restamped)


async def make(
    store: Store, *decisions: Decision[None], author: str | None = ANNA, of: AccountId = ALICE
) -> None:
    """Carry out decisions, one after the other, which may share a transaction."""
    await asyncio.gather(
        *(
            store.entries.change(of, [G1, G2, G3], lambda _, made=made: made, author=author)
            for made in decisions
        )
    )


async def add_and_leave(store: Store, of: AccountId = ALICE) -> None:
    """Add a feed at 10, leave it at 20, come back at 30."""
    await make(store, change(10, feed(G1, 10)), of=of)
    await make(store, change(20, feed(G1, 20, subscribed=False), ended=[G1]), author=BEN, of=of)
    await make(store, change(30, feed(G1, 30), ended=[G1]), of=of)


ADDED = EntryState(feed(G1, 10), Stamp(10), ANNA, Stamp(20))
LEFT = EntryState(feed(G1, 20, subscribed=False), Stamp(20), BEN, Stamp(30))
BACK = EntryState(feed(G1, 30), Stamp(30), ANNA)


async def history(store: Store, since: int = 0, of: AccountId = ALICE) -> History:
    whole = await store.entries.whole(of, Stamp(since))
    assert whole.history is not None
    present = {s.entry.guid: s.entry for s in whole.history.states if s.ended is None}
    assert present == whole.entries
    return replace(whole.history, states=in_order(whole.history.states))


def in_order(states: Sequence[EntryState]) -> list[EntryState]:
    return sorted(states, key=lambda state: (state.ended or END, state.entry.guid))


async def page(store: Store, before: int = END, limit: int = 100, *guid: Guid) -> HistoryPage:
    found = await store.history.page(ALICE, Stamp(before), limit, *guid)
    return replace(found, states=in_order(found.states))


async def owner(store: Store, of: AccountId = ALICE) -> AccountRecord:
    async with store.archive() as archive:
        found = [
            record
            async for records in archive.records()
            for account_id, record in records
            if account_id == of and isinstance(record, AccountRecord)
        ]
    return found[0]


async def known(store: Store, of: AccountId = ALICE) -> tuple[int, int]:
    """Return from when on the list is known, and how many former states are counted."""
    found = await owner(store, of)
    former = [state for state in (await history(store, 0, of)).states if state.ended]
    assert found.former_count == sum(weight_of_entry(state.entry) for state in former)
    return found.known_from, found.former_count


async def test_a_state_that_ends_is_kept_with_its_author_and_its_stamps(store):
    await add_and_leave(store)
    assert await history(store) == History([ADDED, LEFT, BACK], Stamp(0))
    assert await known(store) == (0, 2)
    assert (await history(store, of=BOB)).states == []


async def test_every_column_of_a_state_is_kept(open_store):
    async def work(store):
        await store.fill(library(1, 5))
        [account] = await all_accounts(store)
        before = (await store.entries.whole(account.id, Stamp(0))).history
        assert before is not None
        present = {s.entry.guid: s for s in before.states if s.ended is None}
        guids = sorted(present)
        stamp = Stamp(10**16)

        def forget_all(snapshot):
            assert sorted(snapshot.entries) == guids
            decided = Decision(None, [], guids, stamp, Counts(), stamp=stamp)
            return replace(decided, ended=guids)

        await store.entries.change(account.id, None, forget_all, author=BEN)
        found = await store.history.page(account.id, END, 1)
        assert found.stamps == [stamp]
        assert {s.entry.guid: s for s in found.states} == {
            guid: replace(state, ended=stamp) for guid, state in present.items()
        }

    async with open_store() as store:
        await work(store)


async def test_an_entry_of_which_only_stamps_change_goes_on_in_its_state(store):
    await make(store, change(10, feed(G1, 10)))
    await make(store, change(20, feed(G1, 20), restamped=[G1]), author=BEN)
    assert (await history(store)).states == [EntryState(feed(G1, 20), Stamp(10), ANNA)]
    await make(store, change(30, feed(G1, 30, subscribed=False), ended=[G1]), author=BEN)
    assert (await history(store)).states == [
        EntryState(feed(G1, 20), Stamp(10), ANNA, Stamp(30)),
        EntryState(feed(G1, 30, subscribed=False), Stamp(30), BEN),
    ]


async def test_what_is_gone_is_kept_and_may_come_back(store):
    pointer = Pointer(G2, G1, Stamp(10))
    await make(store, change(11, feed(G1, 11), pointer))
    await make(store, change(20, forgotten=[G2], ended=[G2]), author=BEN)
    gone = EntryState(pointer, Stamp(11), ANNA, Stamp(20))
    assert (await history(store)).states[0] == gone
    await make(store, change(30, replace(pointer, guid_changed=Stamp(30))), author=BEN)
    last = EntryState(Pointer(G2, G1, Stamp(30)), Stamp(30), BEN)
    stay = EntryState(feed(G1, 11), Stamp(11), ANNA)
    assert (await history(store)).states == [gone, stay, last]


async def test_changes_that_share_a_commit_keep_all_states_between(store):
    await make(store, change(10, feed(G1, 10), feed(G2, 9)))
    await make(
        store,
        change(20, feed(G1, 20, subscribed=False), ended=[G1]),
        change(30, feed(G1, 30), ended=[G1]),
        change(40, feed(G1, 40), restamped=[G1]),
        change(50, feed(G2, 50), restamped=[G2]),
        change(60, feed(G2, 60, subscribed=False), ended=[G2]),
        change(70, forgotten=[G1], ended=[G1]),
        change(80, feed(G1, 80), feed(G3, 79)),
        change(90, forgotten=[G3], ended=[G3]),
        author=BEN,
    )
    assert (await history(store)).states == [
        EntryState(feed(G1, 10), Stamp(10), ANNA, Stamp(20)),
        EntryState(feed(G1, 20, subscribed=False), Stamp(20), BEN, Stamp(30)),
        EntryState(feed(G2, 50), Stamp(10), ANNA, Stamp(60)),
        EntryState(feed(G1, 40), Stamp(30), BEN, Stamp(70)),
        EntryState(feed(G3, 79), Stamp(80), BEN, Stamp(90)),
        EntryState(feed(G1, 80), Stamp(80), BEN),
        EntryState(feed(G2, 60, subscribed=False), Stamp(60), BEN),
    ]
    assert await known(store) == (0, 5)


async def test_what_is_restamped_after_a_change_of_the_same_commit_has_the_origin_of_that(store):
    first, second = change(10, feed(G1, 10)), change(20, feed(G1, 20), restamped=[G1])
    await make(store, first, second)
    assert (await history(store)).states == [EntryState(feed(G1, 20), Stamp(10), ANNA)]


async def test_without_an_author_nothing_is_kept_and_the_list_is_known_from_then_on(store):
    await make(store, change(10, feed(G1, 10)))
    await make(
        store,
        change(20, feed(G1, 20, subscribed=False), ended=[G1]),
        change(30, feed(G1, 30), ended=[G1]),
        author=None,
    )
    now = EntryState(feed(G1, 30), Stamp(30))
    assert await history(store) == History([now], Stamp(30))
    assert await known(store) == (30, 0)
    await make(store, change(40, forgotten=[G1], ended=[G1]), author=BEN)
    assert await history(store) == History([replace(now, ended=Stamp(40))], Stamp(30))
    assert (await page(store)).stamps == [40]


async def test_a_change_that_is_refused_keeps_nothing(store):
    def refuse(_):
        raise InvalidInput("no")

    await add_and_leave(store)
    for since in (None, Stamp(0)):
        with pytest.raises(InvalidInput):
            await store.entries.change(ALICE, [G1], refuse, author=None, history_from=since)
    await make(store, change(30), author=None)  # it changes nothing
    assert await known(store) == (0, 2)


async def test_a_change_is_given_the_states_since_a_stamp_and_all_present_ones(store):
    await add_and_leave(store)
    given: list[Snapshot] = []

    def look(snapshot):
        given.append(snapshot)
        return Decision(None, [], [], snapshot.last_stamp, snapshot.counts)

    for guids, since in ((None, 30), ([], 20), ([G1], 31), (None, None)):
        stamp = None if since is None else Stamp(since)
        await store.entries.change(ALICE, guids, look, history_from=stamp)
    histories = [g.history and in_order(g.history.states) for g in given]
    assert histories == [[LEFT, BACK], [ADDED, LEFT, BACK], [BACK], None]
    assert [list(g.entries) for g in given] == [[G1], [], [G1], [G1]]
    with pytest.raises(NotAuthorized):
        await store.entries.change(AccountId(77), None, look, history_from=Stamp(0))
    with pytest.raises(NotAuthorized):
        await store.entries.whole(AccountId(77), Stamp(0))


async def test_a_stamp_is_that_of_a_change_if_a_state_began_or_ended_with_it(store):
    await add_and_leave(store)
    await make(store, change(40, forgotten=[G1], ended=[G1]))
    await make(store, change(50, feed(G2, 50)))
    asked = [[10], [20], [40], [50], [7, 30]], [[], [7], [11, 49]]
    for all_of_them, answer in zip(asked, (True, False), strict=True):
        for stamps in all_of_them:
            assert await store.history.is_any_there(ALICE, stamps) is answer, stamps
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
        again = (replace(long, subscription_changed=Stamp(stamp)), feed(G2, stamp - 1))
        await make(store, change(stamp, *again, ended=[G1, G2]))
    assert await known(store) == (30, 10)
    # Here in one batch, where some states began in it, too.
    changed = (replace(long, subscription_changed=Stamp(stamp)) for stamp in range(60, 65))
    made = (change(it.subscription_changed, it, ended=[G1]) for it in changed)
    await make(store, *made)
    assert await known(store) == (62, 8)
    assert (await page(store)).stamps == [64, 63]


_SIZES = (0, 511, 512, 513, 1_535, 1_536, 1_537, 8_192)


async def test_former_states_weigh_as_much_when_they_are_forgotten_as_when_they_were_kept(store):
    stamp, expected = 10, 0
    texts = [sign * (size // len(sign.encode())) for size in _SIZES for sign in "aé€"]
    for text in texts:
        alias = Alias(text, moved_away=True) if len(text) % 2 else None
        other = text if len(text) % 3 else None
        kept = replace(feed(G1, stamp), feed_url=text, app_url=other, alias=alias)
        await make(store, change(stamp, kept, ended=[G1] if stamp > 10 else ()))
        assert (await known(store))[1] == expected
        expected += weight_of_entry(kept)
        stamp += 10
    await store.history.forget(AccountId(0), Stamp(stamp), 1_000, with_authors=False)
    assert (await known(store))[1] == 0


async def test_a_page_has_the_last_changes_before_a_stamp_and_what_they_began_and_ended(store):
    await add_and_leave(store)
    await make(store, change(40, feed(G2, 40)), author=BEN)
    await make(store, change(50, feed(G2, 50, subscribed=False), ended=[G2]))
    await make(store, change(60, feed(G3, 60)))
    two_on = EntryState(feed(G2, 40), Stamp(40), BEN, Stamp(50))
    two_off = EntryState(feed(G2, 50, subscribed=False), Stamp(50), ANNA)
    three = EntryState(feed(G3, 60), Stamp(60), ANNA)
    everything = [ADDED, LEFT, two_on, BACK, two_off, three]
    assert await page(store) == HistoryPage([60, 50, 40, 30, 20, 10], everything, Stamp(0))
    assert await page(store, END, 1) == HistoryPage([60], [three], Stamp(0))
    assert await page(store, 60, 2) == HistoryPage([50, 40], [two_on, two_off], Stamp(0))
    assert await page(store, 50, 1) == HistoryPage([40], [two_on], Stamp(0))
    assert await page(store, 40, 2) == HistoryPage([30, 20], [ADDED, LEFT, BACK], Stamp(0))
    assert await page(store, 20, 2) == HistoryPage([10], [ADDED], Stamp(0))
    assert await page(store, 10, 2) == HistoryPage([], [], Stamp(0))
    assert await page(store, END, 3, G1) == HistoryPage([30, 20, 10], [ADDED, LEFT, BACK], 0)
    assert await page(store, 50, 1, G2) == HistoryPage([40], [two_on], Stamp(0))
    assert await store.history.page(BOB, END, 9) == HistoryPage([], [], Stamp(0))
    with pytest.raises(NotAuthorized):
        await store.history.page(AccountId(77), END, 9)


async def test_pages_of_any_size_have_no_holes_and_nothing_twice(store):
    entries: dict[Guid, Entry] = {}
    for number in range(1, 40):  # in all kinds of order
        stamp, guid = 10 * number, (G1, G2, G3)[number * number % 7 % 3]
        kept = feed(guid, stamp, subscribed=number % 2 == 0)
        ended = [guid] if guid in entries else []
        if number % 11 == 0 and ended:
            del entries[guid]
            await make(store, change(stamp, forgotten=ended, ended=ended))
        else:
            entries[guid] = kept
            await make(store, change(stamp, kept, ended=ended))
    everything = await page(store)
    assert everything.stamps == list(range(390, 0, -10))
    for limit in (1, 2, 7):
        seen: list[Stamp] = []
        states: set[str] = set()
        before = END
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


async def sweep(
    store: Store, until: int, max_states: int, *, with_authors: bool = False
) -> list[AccountId]:
    """Forget in steps, through all accounts; return after which accounts the steps went on."""
    steps = [AccountId(0)]
    while True:
        after = await store.history.forget(
            steps[-1], Stamp(until), max_states, with_authors=with_authors
        )
        if after is None:
            return steps[1:]
        steps.append(after)
        assert len(steps) < 100


async def test_what_ended_at_a_stamp_or_before_is_forgotten_in_small_steps(store):
    for account_id in (ALICE, CAROL):
        await add_and_leave(store, account_id)
    assert await sweep(store, 30, 1) == [0, 0, 0, 0, ALICE]
    for account_id in (ALICE, CAROL):
        assert await known(store, account_id) == (30, 0)
        assert (await history(store, 0, account_id)).states == [BACK]
    assert await known(store, BOB) == (0, 0)
    assert await sweep(store, 30, 1) == [ALICE]  # nobody has anything: one step for all


async def test_a_clock_that_is_far_ahead_leaves_a_list_known_from_its_own_last_change(store):
    """With a later stamp, nothing could be undone until the clock has come there."""
    await add_and_leave(store)
    await sweep(store, 10**15, 3)
    assert await known(store) == (30, 0)


async def test_what_ended_later_stays_and_the_list_is_known_from_the_stamp_on(store):
    await add_and_leave(store)
    for until in (20, 15):
        await sweep(store, until, 100)
        assert await history(store) == History([LEFT, BACK], Stamp(20))
        assert await known(store) == (20, 1)
    assert (await page(store)).stamps == [30]
    await sweep(store, 25, 100)  # nothing ended since
    assert await known(store) == (25, 1)
    assert (await page(store)).states == [LEFT, BACK]


async def test_who_made_the_present_states_is_forgotten_only_if_that_is_asked_for(store):
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
    after = AccountId(0)
    for left in (2, 0):
        after = await store.history.forget(after, Stamp(30), 3, with_authors=True) or after
        states = (await history(store)).states
        assert len([state for state in states if state.author]) == left
        assert [state.ended for state in states] == [None] * 3


async def test_a_step_looks_through_many_accounts_and_none_is_missed(store):
    many = [AccountId(number) for number in range(10, 1_110)]
    await store.accounts.create_many(
        [(Account(one, f"name{one}", None, False, 0), f"name{one}") for one in many]
    )
    await add_and_leave(store, AccountId(1_100))
    for with_authors, most in ((False, 5), (True, 60)):
        steps = await sweep(store, 30, 100, with_authors=with_authors)
        assert AccountId(1_100) in steps
        assert len(steps) <= most
        assert steps == sorted(steps)
    assert await known(store, AccountId(1_100)) == (30, 0)


async def test_an_account_goes_with_all_its_former_states(store):
    for account_id in (ALICE, BOB):
        await add_and_leave(store, account_id)
    async with store.archive() as archive:
        before = await archive.count()
    await store.accounts.delete(ALICE)
    async with store.archive() as archive:
        assert before - await archive.count() == 4  # the account, its entry, two former states
    await store.accounts.create(Account(ALICE, "new", None, False, 0), "new")
    assert (await history(store)).states == []
    assert len((await history(store, 0, BOB)).states) == 3


async def test_an_account_that_somebody_holds_is_passed_over(database):
    store = await PostgresStore.open(database, 4, wall_clock.now)
    await store.accounts.create(Account(ALICE, "alice", None, False, 0), "alice")
    await add_and_leave(store)
    other: Any = await asyncpg.connect(database)
    await other.execute("BEGIN")
    await other.execute("UPDATE feedkeep.account SET name = name")
    async with asyncio.timeout(1):  # less than one waits for a lock
        assert await sweep(store, 30, 100, with_authors=True) == [ALICE]
    assert (await history(store)).states == [ADDED, LEFT, BACK]
    await other.execute("ROLLBACK")
    await other.close()
    await sweep(store, 30, 100, with_authors=True)
    assert await known(store) == (30, 0)
    await store.close()


async def test_an_account_that_goes_while_it_is_looked_at_ends_no_sweep(monkeypatch, store):
    await add_and_leave(store)
    runner: Any = store._runner  # type: ignore[attr-defined]
    write = runner.write

    async def late(job, *account_id):
        monkeypatch.setattr(runner, "write", write)
        await store.accounts.delete(ALICE)
        return await write(job, *account_id)

    monkeypatch.setattr(runner, "write", late)
    assert await sweep(store, 30, 100, with_authors=True) == [ALICE]
