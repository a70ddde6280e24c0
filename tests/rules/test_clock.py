"""Contract, sections 4 and 6: stamps only rise, also after restores, and when a clock goes back."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_account import G1, G2, A

from feedkeep import model
from feedkeep.model import Account, Pointer, Stamp, Subscription, SyncProgress, replace
from feedkeep.rules import clock, clock_repair, seconds
from feedkeep.rules import database_restores as restores
from feedkeep.rules.app_identity import CookielessApp
from feedkeep.rules.clock import DAY_US, next_stamp, shift
from feedkeep.rules.clock_repair import FAR_AHEAD_US, is_far_ahead
from feedkeep.rules.database_restores import epoch_of, first_action, may_follow_lost_changes
from feedkeep.rules.seconds import after_reply, first_second, is_own, is_settled, second_of

NOW = Stamp(20_000 * DAY_US)
YEAR_US = 366 * DAY_US
ANY_STAMP = st.integers(0, 10**16)
STAMPS = st.integers(NOW, NOW + 4 * DAY_US).map(Stamp)


def account(last: int = NOW, actions: int = 0, number: int = 7) -> Account:
    return Account(number, "alice", None, False, 0, Stamp(last), Stamp(actions))


def test_no_change_has_the_last_microsecond_of_a_second_where_settled_clocks_stand():
    assert next_stamp(last=5, now=7_999_999) == 8_000_000
    assert next_stamp(last=7_999_998, now=5) == 8_000_000


# C4.1
@given(st.lists(st.integers(0, 100), min_size=2))
def test_stamps_rise_whatever_the_wall_clock_does_and_follow_it_where_it_is_ahead(wall_clock):
    assert next_stamp(last=5, now=100) == 100
    assert next_stamp(last=100, now=5) == 101
    stamps = [0]
    for now in wall_clock:
        stamps.append(next_stamp(stamps[-1], now))
    assert all(earlier < later for earlier, later in pairwise(stamps))


@given(ANY_STAMP, ANY_STAMP, st.integers(0, clock.RESTORED_AHEAD_US - 1))
def test_restored_clock_is_past_all_that_was_given_out_before(last, restored, ahead):
    given_out_since = [max(last, restored) + ahead, next_stamp(last, restored)]
    assert clock.after_restore(last, restored) > max(given_out_since)


HOUR_US = clock.RESTORED_AHEAD_US // 24


@given(st.integers(-48, 48), st.integers(0, 48))
def test_moment_since_a_restore_is_unsure_until_the_wall_clock_has_come_as_far(hours, passed):
    last = shift(clock.after_restore(Stamp(5), NOW), 3)
    moment, now = shift(NOW, hours * HOUR_US), shift(NOW, passed * HOUR_US)
    is_unsure = 0 < hours <= passed < 24
    assert clock.is_before_its_time(moment, last, now) == is_unsure


def test_clocks_of_machines_that_differ_by_seconds_make_no_moment_unsure():
    assert not clock.is_before_its_time(NOW, shift(NOW, 59_000_000), NOW)


# Restores of a database


def after(known: Account, now: int = NOW, epoch: int = 1) -> Account:
    newest = Subscription(G1, A, True, known.last_stamp)
    return restores.restored(known, newest, Stamp(now), epoch).account


# C6.6
@given(STAMPS, STAMPS, STAMPS)
def test_stamp_from_the_state_that_was_lost_means_everything_and_one_before_not(last, now, since):
    found = after(account(last), now)
    is_lost = last < since < found.last_stamp or since > found.last_stamp
    assert may_follow_lost_changes(found, since) == is_lost


@given(STAMPS, STAMPS)
def test_newest_entry_has_a_stamp_past_all_lost_ones_and_keeps_what_apps_are_told(last, now):
    feed = Subscription(G1, A, False, Stamp(3), deleted=last, status_changed=last)
    found = restores.restored(account(last), feed, now, 1)
    assert found.newest.revision == found.account.last_stamp > found.account.lost_until
    assert not may_follow_lost_changes(found.account, found.newest.revision)
    assert (found.newest.status_changed, found.newest.deleted) == (last, last)
    pointer = restores.restored(account(last), Pointer(G1, G2, last), now, 1)
    assert pointer.newest == Pointer(G1, G2, pointer.account.last_stamp)


def test_empty_list_has_no_entry_to_stamp_and_both_clocks_move_on():
    found = restores.restored(account(NOW, NOW + 5), None, NOW, 9)
    assert found.newest is None
    moved = NOW + DAY_US
    assert found.account == Account(
        7, "alice", None, False, Stamp(0), moved, Stamp(moved + 5), False, 9,
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


LOST = [BACKED_UP_SECOND + later for later in (1, 9_000, 86_400)]


@pytest.mark.parametrize("since", [0, 1, BACKED_UP_SECOND, *LOST, BACKED_UP_SECOND + 86_401])
def test_app_that_was_sent_what_a_restore_has_lost_is_sent_what_came_after_it(since):
    found = after(account(NOW, seconds.first_stamp(BACKED_UP_SECOND + 1) - 1), NOW)
    after_the_restore = found.actions_lost_until + 1
    for first in (Stamp(0), Stamp(after_the_restore + 5)):
        expected = max(first, after_the_restore) if since in LOST else first
        assert first_action(found, since, first) == expected
    assert first_action(account(NOW), since, Stamp(7)) == 7, "nothing was restored"


# C6.5
def test_each_restore_and_each_account_has_an_epoch_of_its_own():
    epochs = [account(), after(account()), after(account(), NOW, 2), account(number=8)]
    assert len({epoch_of(one) for one in epochs}) == 4


# C6.9
@pytest.mark.parametrize(
    ("since", "page_before", "start"),
    [
        (NOW, None, (NOW, None, 3)),
        (NOW + 5, None, (restores.BEGINNING, None, 3)),
        (NOW, "now", (NOW, NOW + 7, 3)),
        (NOW + 5, "now", (restores.BEGINNING, NOW + 7, 3)),  # where the whole list goes on
        (NOW, "lost", (restores.BEGINNING, None, 1)),
    ],
)
def test_page_goes_on_from_the_one_before_it_unless_that_was_lost(since, page_before, start):
    found = after(account())
    epoch = {"now": epoch_of(found), "lost": epoch_of(account())}.get(page_before or "")
    link = Stamp(NOW + 7) if page_before else None
    read = restores.page_to_read(found, model.PageRequest(Stamp(since), link, 3, 50, epoch))
    assert (read.since, read.after, read.page) == start


# Clocks that were far ahead


def anew(known: Account, stamps: list[Stamp], known_from: int = 0) -> model.Restamped:
    return clock_repair.restamped(known, Stamp(known_from), stamps, stamps, NOW, 9)


@st.composite
def stamps_ahead(draw: st.DrawFn) -> list[Stamp]:
    """Stamps as a clock gives them that is ahead by little or by much."""
    stamps = [NOW]
    for us in draw(st.lists(st.integers(0, 3_000_000), min_size=1, max_size=20)):
        stamps.append(next_stamp(stamps[-1], Stamp(stamps[-1] + us)))
    return stamps[1:]


@given(stamps_ahead(), st.integers(0, 20 * YEAR_US))
def test_new_stamps_rise_as_the_old_ones_did_and_none_is_later_than_its_old(stamps, ahead):
    clock = max(stamps) + FAR_AHEAD_US + 1 + ahead
    made = anew(account(clock, clock), stamps)
    assert sorted(made.stamps.values()) == [made.stamps[stamp] for stamp in sorted(stamps)]
    assert len(set(made.stamps.values())) == len(stamps)
    assert all(NOW < new <= old for old, new in made.stamps.items())
    assert not any(is_settled(new) for new in made.stamps.values())
    assert made.action_stamps == made.stamps
    last = max(made.stamps.values())
    assert (made.account.last_stamp, made.account.last_action_stamp) == (last, last)
    assert not is_far_ahead(made.account, NOW)


def test_clock_that_is_not_far_ahead_stays_and_the_other_one_goes_back():
    few_days, years = NOW + 3 * DAY_US, NOW + 10 * YEAR_US
    assert not is_far_ahead(account(few_days, few_days), NOW)
    assert is_far_ahead(account(0, years), NOW)
    made = anew(account(few_days, years), [Stamp(few_days)])
    assert (made.account, made.stamps) == (account(few_days, NOW + 1), {})
    made = anew(account(years, few_days), [Stamp(years)])
    assert (made.account.last_stamp, made.account.last_action_stamp) == (NOW + 1, few_days)
    assert (made.account.epoch, made.action_stamps) == (9, {})
    assert anew(account(years), []).account.last_stamp == NOW


def test_restore_while_the_clock_was_far_ahead_leaves_out_no_actions_once_it_is_right():
    years = Stamp(NOW + 10 * YEAR_US)
    lost = {"actions_lost_after": Stamp(NOW - 1), "actions_lost_until": years}
    made = anew(replace(account(NOW, years), **lost), [years])
    assert first_action(made.account, second_of(NOW), Stamp(7)) == 7


@pytest.mark.parametrize(
    ("known_from", "then"), [(5, 5), (NOW + 3, NOW), (NOW + 4, NOW + 1), (NOW + 7, NOW + 1)]
)
def test_list_is_known_from_where_it_was(known_from, then):
    stamps = [Stamp(NOW + 4), Stamp(NOW + 8)]
    assert anew(account(NOW + YEAR_US), stamps, known_from).known_from == then


@given(st.integers(FAR_AHEAD_US + 1, 2 * YEAR_US), st.booleans())
def test_stamp_that_was_ahead_means_everything_while_a_client_may_be_away(ahead, was_restored):
    since = Stamp(NOW + ahead)
    known = account(since)
    if was_restored:
        known = replace(known, lost_after=Stamp(NOW - DAY_US), lost_until=since)
    found = anew(known, [since]).account
    later = replace(found, last_stamp=Stamp(since + DAY_US))
    assert may_follow_lost_changes(found, since)
    assert may_follow_lost_changes(later, since) == (ahead <= YEAR_US)
    assert may_follow_lost_changes(later, Stamp(NOW - 1)) == was_restored
    if ahead > YEAR_US:
        assert not may_follow_lost_changes(found, found.last_stamp)


def test_app_that_was_told_anything_is_told_everything_whatever_it_asks():
    told = SyncProgress(2_000_000_000, 1_999_999_999)
    app = clock_repair.to_resend(CookielessApp("phone", False, told))
    assert app == CookielessApp("phone", False, SyncProgress(seconds.EVERYTHING))
    for since in (1_700_000_000, 2_000_000_000):
        assert first_second(since, 2_100_000_000, app.subscriptions) == seconds.EVERYTHING


# Whole seconds, which some apps are sent as stamps


@given(last=ANY_STAMP, now=ANY_STAMP)
def test_changes_in_a_reply_are_before_its_second_and_later_ones_after_it(last, now):
    clock = seconds.settled(last)
    sent = second_of(clock)
    assert last <= clock
    assert is_settled(last) or second_of(last) < sent
    assert second_of(next_stamp(clock, now)) >= sent + 1


@given(last=ANY_STAMP)
def test_settled_clock_stays_where_it_is_and_is_never_far_ahead(last):
    clock = seconds.settled(last)
    assert is_settled(clock)
    assert seconds.settled(clock) == clock
    assert clock - last < 2_000_000


def test_first_stamp_of_a_second_is_in_it():
    assert seconds.first_stamp(7) == 7_000_000
    assert second_of(seconds.first_stamp(7)) == 7
    assert second_of(seconds.first_stamp(7) - 1) == 6


def test_unknown_app_is_trusted_unless_no_reply_ever_had_its_second():
    assert [first_second(since, 10, SyncProgress()) for since in (0, 5, 10, 11)] == [0, 5, 10, 11]
    assert first_second(12, 10, SyncProgress()) == seconds.EVERYTHING


def test_app_that_was_sent_a_second_of_a_clock_that_was_set_back_is_sent_everything():
    ahead = SyncProgress(last_sent=50, acknowledged=40)
    assert [first_second(since, 10, ahead) for since in (5, 50, 51)] == [seconds.EVERYTHING] * 3


def test_app_that_asks_since_the_second_of_a_reply_has_received_that_reply():
    app = SyncProgress(last_sent=10, acknowledged=3)
    assert [first_second(since, 20, app) for since in (10, 11)] == [10, 11]
    assert after_reply(10, 20, app) == after_reply(11, 20, app) == SyncProgress(20, 10)


def test_app_that_asks_since_any_later_second_is_sent_all_after_the_reply_it_received():
    found = [first_second(since, 20, SyncProgress(10, 3)) for since in (2, 3, 4, 12, 99)]
    assert found == [2, 3, 4, 4, 4]
    assert first_second(99, 20, SyncProgress(10)) == seconds.EVERYTHING
    assert after_reply(99, 20, SyncProgress(10, 3)) == SyncProgress(20, 3)
    assert after_reply(10, 10, SyncProgress(10, 3)) == SyncProgress(10, 3), "nothing changed"
    for since in (20, 21):  # by its own clock, before it was sent that
        assert after_reply(since, 20, SyncProgress(10, 3)) == SyncProgress(10, 3)


def test_app_skips_its_own_upload_if_no_other_client_changed_anything_since_its_poll():
    app, began = SyncProgress(10, 3, is_alone=True), seconds.settled(9_000_000)
    assert second_of(began) == 10
    ended = seconds.clock_after_upload(app, began, began + 7)
    assert is_settled(ended)
    assert ended > began + 7
    own = model.OwnUpload("phone", 10, began, ended)
    after = SyncProgress(second_of(ended), second_of(ended), (own,), is_alone=True)
    assert seconds.after_upload(app, "phone", began, ended) == after


@pytest.mark.parametrize(
    ("app", "began"),
    [
        (SyncProgress(10, 10, is_alone=True), 10_999_998),  # another client made changes since
        (SyncProgress(10, 10, is_alone=True), 12_999_999),  # and another app was sent it
        (SyncProgress(10, 10), 10_999_999),  # another one with the same token was told
        (SyncProgress(None, None, is_alone=True), 10_999_999),
    ],
)
def test_app_that_may_have_missed_a_change_does_not_skip_its_own_upload(app, began):
    assert seconds.clock_after_upload(app, began, began + 7) == began + 7
    after = seconds.after_upload(app, "", began, began + 7)
    assert (after.last_sent, after.acknowledged) == (app.last_sent, app.last_sent)


def test_upload_that_changes_nothing_moves_no_clock_and_shows_that_the_reply_was_received():
    assert seconds.after_upload(SyncProgress(10, 3), "", 5, 5) == SyncProgress(10, 10)
    app = SyncProgress(10, 10, is_alone=True)
    assert seconds.clock_after_upload(app, 10_999_999, 10_999_999) == 10_999_999
    assert seconds.after_upload(app, "", 10_999_999, 10_999_999) == app


def test_what_an_app_sent_is_its_own_until_it_shows_that_it_has_forgotten_it():
    app = seconds.after_upload(SyncProgress(10, 10, is_alone=True), "", 11_000_005, 11_000_009)
    stamps = range(11_000_004, 11_000_012)
    assert [s for s in stamps if is_own(app, "", 10, s)] == list(range(11_000_006, 11_000_010))
    assert not any(is_own(app, "", 9, stamp) for stamp in stamps)
    assert not any(is_own(app, "phone", 10, stamp) for stamp in stamps)


def test_apps_that_share_a_token_are_told_apart_by_their_devices_only():
    app = seconds.after_upload(seconds.after_upload(SyncProgress(10, 10), "", 1, 3), "phone", 3, 5)
    assert [is_own(app, device, 10, 4) for device in ("phone", "tablet")] == [True, False]
    assert not is_own(app, "", 10, 2)
    nothing_known = seconds.after_upload(SyncProgress(), "phone", 10_000_001, 10_000_003)
    assert is_own(nothing_known, "phone", 10, 10_000_002)
    assert not is_own(nothing_known, "phone", 9, 10_000_002)


def test_uploads_that_follow_one_another_count_as_one_and_only_the_last_are_remembered():
    app = seconds.after_upload(SyncProgress(10, 10), "tablet", 0, 1)
    for began in range(1, 100):
        app = seconds.after_upload(app, "phone", began, began + 1)
    assert app.own_uploads == (
        model.OwnUpload("tablet", 10, 0, 1),
        model.OwnUpload("phone", 10, 1, 100),
    )
    for began in range(200, 400, 2):
        app = seconds.after_upload(app, "phone", began, began + 1)
    assert len(app.own_uploads) == seconds.MAX_OWN_UPLOADS
    assert app.own_uploads[-1] == model.OwnUpload("phone", 10, 398, 399)
