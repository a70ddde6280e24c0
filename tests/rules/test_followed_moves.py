"""What becomes of a list when one of its feeds has moved, or its old URL is dead."""

import pytest
from kept_account import Account

from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.followed_moves import MAX_REMEMBERED, Followed, MoveOutcome, follow, tell_apps

OLD, NEW, THIRD = (parse_feed_url(f"https://{name}.example") for name in ("old", "new", "third"))
ONCE = Followed(OLD.guid, NEW.guid)


def followed(account: Account, *already: Followed) -> MoveOutcome:
    return account.do(follow, OLD, NEW, already)


def account_that_followed() -> Account:
    account = Account(OLD.text)
    followed(account)
    return account


def test_list_follows_a_feed_once_and_remembers_that_it_did():
    account = Account(OLD.text)
    assert followed(account) == MoveOutcome(True, [ONCE])
    assert account.subscribed() == {NEW.text}
    assert account.subscription(OLD.guid).app_url == OLD.text
    account = Account(OLD.text)
    assert followed(account, ONCE) == MoveOutcome(False, (ONCE,))
    assert account.subscribed() == {OLD.text}


def test_list_that_has_a_feed_by_https_does_not_follow_it_to_http():
    """The move was seen by http, since another account subscribed to it so first."""
    account = Account(OLD.text)
    outcome = account.do(follow, OLD, parse_feed_url("http://new.example"), [])
    assert (outcome.is_done, account.subscribed()) == (False, {OLD.text})


def test_move_is_carried_out_again_after_the_way_back_was():
    account = Account(OLD.text)
    remembered = followed(account).followed
    back = account.do(follow, NEW, OLD, remembered)
    assert (back.is_done, account.subscribed()) == (True, {OLD.text})
    assert followed(account, *back.followed) == MoveOutcome(True, [ONCE])
    assert account.subscribed() == {NEW.text}


@pytest.mark.parametrize("urls", [[], [THIRD], [NEW], [OLD, NEW]])
def test_list_without_the_old_url_or_with_the_new_one_is_not_changed(urls):
    account = Account(*(url.text for url in urls))
    before = dict(account.entries)
    assert not followed(account).is_done
    assert account.entries == before, "nothing is merged automatically"


def test_feed_that_was_unsubscribed_or_moved_elsewhere_by_its_owner_stays():
    account = Account(OLD.text)
    account.update(OLD.guid, is_subscribed=False)
    assert not followed(account).is_done
    account = Account(OLD.text)
    account.move(OLD.guid, THIRD.text)
    assert not followed(account).is_done
    assert account.subscribed() == {THIRD.text}


def test_only_the_last_moves_are_remembered():
    many = [Followed(THIRD.guid, OLD.guid)] * MAX_REMEMBERED
    remembered = followed(Account(OLD.text), *many).followed
    assert (len(remembered), remembered[-1]) == (MAX_REMEMBERED, ONCE)


def test_apps_are_told_once_to_give_up_the_url_that_they_know():
    account = account_that_followed()
    assert set(account.do(tell_apps, OLD)) == {OLD.guid, NEW.guid}
    feed = account.subscription(OLD.guid)
    assert (feed.feed_url, feed.app_url) == (NEW.text, None)
    assert account.do(tell_apps, OLD) == ()


def test_apps_are_told_nothing_of_a_feed_that_is_gone_or_that_they_know_by_another_url():
    account = account_that_followed()
    account.update(OLD.guid, is_subscribed=False)
    assert account.do(tell_apps, OLD) == ()
    assert account.do(tell_apps, THIRD) == ()
    account = account_that_followed()
    account.move(OLD.guid, THIRD.text)
    assert account.do(tell_apps, NEW) == ()
