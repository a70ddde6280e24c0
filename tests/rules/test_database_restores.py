"""Contract, section 6: after a restore, a client that follows a list gets the whole list again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import (
    Account,
    AccountId,
    Guid,
    PageRequest,
    Pointer,
    Second,
    Stamp,
    Subscription,
    replace,
)
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.database_restores import (
    BEGINNING,
    epoch_of,
    first_action,
    may_follow_lost_changes,
    page_to_read,
    restored,
)
from feedkeep.rules.seconds import first_stamp, second_of

NOW = Stamp(20_000 * DAY_US)
G1, G2 = (Guid(f"00000000-0000-4000-8000-00000000000{n}") for n in (1, 2))
STAMPS = st.integers(0, 4 * DAY_US).map(lambda us: Stamp(NOW + us))


def account(last: int = NOW, actions: int = 0) -> Account:
    return Account(AccountId(7), "alice", None, False, Stamp(0), Stamp(last), Stamp(actions))


def after(known: Account, now: int = NOW, epoch: int = 1) -> Account:
    newest = Subscription(G1, "https://a.example", True, known.last_stamp)
    return restored(known, newest, Stamp(now), epoch).account


# C6.6
@given(STAMPS, STAMPS, STAMPS)
def test_a_stamp_from_the_state_that_was_lost_means_everything_and_one_from_before_does_not(
    last, now, since
):
    found = after(account(last), now)
    is_lost = last < since < found.last_stamp or since > found.last_stamp
    assert may_follow_lost_changes(found, since) == is_lost


@given(STAMPS, STAMPS)
def test_the_newest_entry_has_a_stamp_past_all_that_were_lost_and_keeps_what_apps_are_told(
    last, now
):
    feed = Subscription(G1, "https://a.example", False, Stamp(3), deleted=last, status_changed=last)
    found = restored(account(last), feed, now, 1)
    assert found.newest is not None
    assert found.newest.revision == found.account.last_stamp > found.account.lost_until
    assert not may_follow_lost_changes(found.account, found.newest.revision)
    assert isinstance(found.newest, Subscription)
    assert (found.newest.status_changed, found.newest.deleted) == (last, last)
    pointer = restored(account(last), Pointer(G1, G2, last), now, 1)
    assert pointer.newest == Pointer(G1, G2, pointer.account.last_stamp)


def test_an_empty_list_has_no_entry_to_stamp_and_both_clocks_move_on():
    found = restored(account(NOW, NOW + 5), None, NOW, 9)
    assert found.newest is None
    moved = NOW + DAY_US
    assert found.account == Account(
        AccountId(7), "alice", None, False, Stamp(0), moved, Stamp(moved + 5), False, 9,
        *(NOW, moved, NOW + 5, moved + 5),
    )  # fmt: skip


@given(st.lists(STAMPS, min_size=1, max_size=4), STAMPS)
def test_of_several_restores_the_oldest_backup_and_the_latest_clock_count(moments, last):
    found, clocks, until = account(last), [], []
    for number, now in enumerate(moments):
        clocks.append(found.last_stamp)
        found = after(found, now, number)
        until.append(found.lost_until)
    assert (found.lost_after, found.lost_until) == (min(clocks), max(until))


def test_of_several_restores_only_the_newest_leaves_out_actions():
    first = after(account(NOW, NOW + 5))
    between = Stamp(first.actions_lost_until + DAY_US)
    again = after(replace(first, last_action_stamp=Stamp(between + DAY_US)), NOW + 9 * DAY_US)
    assert again.actions_lost_after == between + DAY_US
    assert again.actions_lost_until == again.last_action_stamp
    assert first_action(again, second_of(between), Stamp(7)) == 7


BACKED_UP_SECOND = NOW // 1_000_000 + 10


@pytest.mark.parametrize(
    ("since", "is_lost"),
    [
        (0, False),
        (1, False),
        (BACKED_UP_SECOND, False),
        (BACKED_UP_SECOND + 1, True),
        (BACKED_UP_SECOND + 9_000, True),
        (BACKED_UP_SECOND + 86_400, True),
        (BACKED_UP_SECOND + 86_401, False),
    ],
)
def test_an_app_that_was_sent_what_a_restore_has_lost_is_sent_what_came_after_it(since, is_lost):
    found = after(account(NOW, first_stamp(Second(BACKED_UP_SECOND + 1)) - 1), NOW)
    after_the_restore = found.actions_lost_until + 1
    for first in (Stamp(0), Stamp(after_the_restore + 5)):
        expected = max(first, after_the_restore) if is_lost else first
        assert first_action(found, Second(since), first) == expected
    assert first_action(account(NOW), Second(since), Stamp(7)) == 7, "nothing was restored"


# C6.5
def test_each_restore_and_each_account_has_an_epoch_of_its_own():
    other = Account(AccountId(8), "alice", None, False, Stamp(0))
    epochs = [account(), after(account()), after(account(), NOW, 2), other]
    assert len({epoch_of(one) for one in epochs}) == 4


# C6.9
@pytest.mark.parametrize(
    ("since", "page_before", "start"),
    [
        (NOW, None, (NOW, None, 3)),
        (NOW + 5, None, (BEGINNING, None, 3)),
        (NOW, "now", (NOW, NOW + 7, 3)),
        (NOW + 5, "now", (BEGINNING, NOW + 7, 3)),  # where the whole list goes on
        (NOW, "lost", (BEGINNING, None, 1)),
    ],
)
def test_a_page_goes_on_from_the_one_before_it_unless_that_was_lost(since, page_before, start):
    found = after(account())
    epoch = {"now": epoch_of(found), "lost": epoch_of(account())}.get(page_before or "")
    link = Stamp(NOW + 7) if page_before else None
    read = page_to_read(found, PageRequest(Stamp(since), link, 3, 50, epoch))
    assert (read.since, read.after, read.page) == start
