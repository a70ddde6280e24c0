import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import OwnUpload, SyncProgress
from feedkeep.rules import seconds as rules
from feedkeep.rules.clock import next_stamp
from feedkeep.rules.seconds import EVERYTHING, after_reply, first_second, is_own, second_of

STAMPS = st.integers(0, 10**16)


@given(last=STAMPS, now=STAMPS)
def test_changes_in_a_reply_are_before_its_second_and_later_ones_after_it(last, now):
    clock = rules.settled(last)
    sent = second_of(clock)
    assert last <= clock
    assert rules.is_settled(last) or second_of(last) < sent
    assert second_of(next_stamp(clock, now)) >= sent + 1


@given(last=STAMPS)
def test_settled_clock_stays_where_it_is_and_is_never_far_ahead(last):
    clock = rules.settled(last)
    assert rules.is_settled(clock)
    assert rules.settled(clock) == clock
    assert clock - last < 2_000_000


def test_first_stamp_of_a_second_is_in_it():
    assert rules.first_stamp(7) == 7_000_000
    assert second_of(rules.first_stamp(7)) == 7
    assert second_of(rules.first_stamp(7) - 1) == 6


def test_unknown_app_is_trusted_unless_no_reply_ever_had_its_second():
    assert [first_second(since, 10, SyncProgress()) for since in (0, 5, 10, 11)] == [0, 5, 10, 11]
    assert first_second(12, 10, SyncProgress()) == EVERYTHING


def test_app_that_was_sent_a_second_of_a_clock_that_was_set_back_is_sent_everything():
    ahead = SyncProgress(last_sent=50, acknowledged=40)
    assert [first_second(since, 10, ahead) for since in (5, 50, 51)] == [EVERYTHING] * 3


def test_app_that_asks_since_the_second_of_a_reply_has_received_that_reply():
    app = SyncProgress(last_sent=10, acknowledged=3)
    assert [first_second(since, 20, app) for since in (10, 11)] == [10, 11]
    assert after_reply(10, 20, app) == after_reply(11, 20, app) == SyncProgress(20, 10)


def test_app_that_asks_since_any_later_second_is_sent_all_after_the_reply_it_received():
    found = [first_second(since, 20, SyncProgress(10, 3)) for since in (2, 3, 4, 12, 99)]
    assert found == [2, 3, 4, 4, 4]
    assert first_second(99, 20, SyncProgress(10)) == EVERYTHING
    assert after_reply(99, 20, SyncProgress(10, 3)) == SyncProgress(20, 3)
    assert after_reply(10, 10, SyncProgress(10, 3)) == SyncProgress(10, 3), "nothing changed"


def test_app_skips_its_own_upload_if_no_other_client_changed_anything_since_its_poll():
    app, began = SyncProgress(10, 3, is_alone=True), rules.settled(9_000_000)
    assert second_of(began) == 10
    ended = rules.clock_after_upload(app, began, began + 7)
    assert rules.is_settled(ended)
    assert ended > began + 7
    own = OwnUpload("phone", 10, began, ended)
    after = SyncProgress(second_of(ended), second_of(ended), (own,), is_alone=True)
    assert rules.after_upload(app, "phone", began, ended) == after


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
    assert rules.clock_after_upload(app, began, began + 7) == began + 7
    after = rules.after_upload(app, "", began, began + 7)
    assert (after.last_sent, after.acknowledged) == (app.last_sent, app.last_sent)


def test_upload_that_changes_nothing_moves_no_clock_and_shows_that_the_reply_was_received():
    assert rules.after_upload(SyncProgress(10, 3), "", 5, 5) == SyncProgress(10, 10)
    app = SyncProgress(10, 10, is_alone=True)
    assert rules.clock_after_upload(app, 10_999_999, 10_999_999) == 10_999_999
    assert rules.after_upload(app, "", 10_999_999, 10_999_999) == app


def test_what_an_app_sent_is_its_own_until_it_shows_that_it_has_forgotten_it():
    app = rules.after_upload(SyncProgress(10, 10, is_alone=True), "", 11_000_005, 11_000_009)
    stamps = range(11_000_004, 11_000_012)
    assert [s for s in stamps if is_own(app, "", 10, s)] == list(range(11_000_006, 11_000_010))
    assert not any(is_own(app, "", 9, stamp) for stamp in stamps)
    assert not any(is_own(app, "phone", 10, stamp) for stamp in stamps)


def test_apps_that_share_a_token_are_told_apart_by_their_devices_only():
    app = rules.after_upload(rules.after_upload(SyncProgress(10, 10), "", 1, 3), "phone", 3, 5)
    assert [is_own(app, device, 10, 4) for device in ("phone", "tablet")] == [True, False]
    assert not is_own(app, "", 10, 2)
    nothing_known = rules.after_upload(SyncProgress(), "phone", 10_000_001, 10_000_003)
    assert [is_own(nothing_known, "phone", since, 10_000_002) for since in (9, 10)] == [False, True]


def test_uploads_that_follow_one_another_count_as_one_and_only_the_last_are_remembered():
    app = rules.after_upload(SyncProgress(10, 10), "tablet", 0, 1)
    for began in range(1, 100):
        app = rules.after_upload(app, "phone", began, began + 1)
    assert app.own_uploads == (OwnUpload("tablet", 10, 0, 1), OwnUpload("phone", 10, 1, 100))
    for began in range(200, 400, 2):
        app = rules.after_upload(app, "phone", began, began + 1)
    assert len(app.own_uploads) == rules.MAX_OWN_UPLOADS
    assert app.own_uploads[-1] == OwnUpload("phone", 10, 398, 399)
