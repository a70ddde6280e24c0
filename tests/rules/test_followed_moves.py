"""What becomes of a list when one of its feeds has moved, or its old URL is dead."""

import pytest
from account import Account

from feedkeep.model import Decision, Snapshot, Subscription
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.followed_moves import (
    MAX_REMEMBERED,
    Followed,
    MoveOutcome,
    follow,
    tell_apps,
)

OLD, NEW, THIRD = (parse_feed_url(f"https://{name}.example") for name in ("old", "new", "third"))
ONCE = Followed(OLD.guid, NEW.guid)


def account_with(*urls: str) -> Account:
    account = Account()
    for url in urls:
        account.add((url, None))
    return account


def followed(account: Account, *already: Followed) -> MoveOutcome:
    def decide(snapshot: Snapshot) -> Decision[MoveOutcome]:
        return follow(snapshot, OLD, NEW, already)

    outcome: MoveOutcome = account.decide(decide)
    return outcome


def urls(account: Account) -> list[str]:
    feeds = [entry for entry in account.entries.values() if isinstance(entry, Subscription)]
    return sorted(feed.feed_url for feed in feeds if feed.is_subscribed)


def test_a_list_follows_a_feed_and_remembers_that_it_did():
    account = account_with(OLD.text)
    assert followed(account) == MoveOutcome(True, [ONCE])
    assert urls(account) == [NEW.text]
    (feed,) = [e for e in account.entries.values() if isinstance(e, Subscription)]
    assert (feed.guid, feed.app_url) == (OLD.guid, OLD.text)


def test_a_list_that_has_a_feed_by_https_does_not_follow_it_to_http():
    """The move was seen by http, since another account subscribed to it so first."""
    plain = parse_feed_url("http://new.example")
    account = account_with(OLD.text)
    outcome: MoveOutcome = account.decide(lambda snapshot: follow(snapshot, OLD, plain, []))
    assert (outcome.is_done, urls(account)) == (False, [OLD.text])


def test_a_move_that_was_undone_is_not_carried_out_again():
    account = account_with(OLD.text)
    assert followed(account, ONCE) == MoveOutcome(False, (ONCE,))
    assert urls(account) == [OLD.text]


def test_a_move_is_carried_out_again_after_the_way_back_was():
    account = account_with(OLD.text)
    remembered = followed(account).followed
    back: MoveOutcome = account.decide(lambda snapshot: follow(snapshot, NEW, OLD, remembered))
    assert (back.is_done, urls(account)) == (True, [OLD.text])
    assert followed(account, *back.followed) == MoveOutcome(True, [ONCE])
    assert urls(account) == [NEW.text]


@pytest.mark.parametrize(
    "account",
    [account_with(), account_with(THIRD.text), account_with(NEW.text)],
    ids=["an empty list", "another feed", "the new URL"],
)
def test_a_list_without_the_old_url_is_not_changed(account):
    before = dict(account.entries)
    assert not followed(account).is_done
    assert account.entries == before


def test_nothing_is_merged_by_itself():
    account = account_with(OLD.text, NEW.text)
    assert not followed(account).is_done
    assert urls(account) == [NEW.text, OLD.text]


def test_a_feed_that_was_unsubscribed_or_moved_elsewhere_by_its_owner_stays():
    account = account_with(OLD.text)
    account.update((OLD.guid, {"is_subscribed": False}))
    assert not followed(account).is_done
    account = account_with(OLD.text)
    account.update((OLD.guid, {"new_feed_url": THIRD.text}))
    assert not followed(account).is_done
    assert urls(account) == [THIRD.text]


def test_only_so_many_moves_are_remembered():
    many = [Followed(THIRD.guid, OLD.guid)] * MAX_REMEMBERED
    remembered = followed(account_with(OLD.text), *many).followed
    assert (len(remembered), remembered[-1]) == (MAX_REMEMBERED, ONCE)


def test_apps_are_told_to_give_up_the_url_that_they_know_once():
    account = account_with(OLD.text)
    followed(account)
    told = account.decide(lambda snapshot: tell_apps(snapshot, OLD))
    assert set(told) == {OLD.guid, NEW.guid}
    (feed,) = [e for e in account.entries.values() if isinstance(e, Subscription)]
    assert (feed.feed_url, feed.app_url) == (NEW.text, None)
    assert account.decide(lambda snapshot: tell_apps(snapshot, OLD)) == ()


def test_apps_are_told_nothing_of_a_feed_that_is_gone_from_the_list():
    account = account_with(OLD.text)
    followed(account)
    account.update((OLD.guid, {"is_subscribed": False}))
    assert account.decide(lambda snapshot: tell_apps(snapshot, OLD)) == ()
    assert account.decide(lambda snapshot: tell_apps(snapshot, THIRD)) == ()


def test_apps_are_told_nothing_if_they_know_another_url():
    account = account_with(OLD.text)
    followed(account)
    account.update((OLD.guid, {"new_feed_url": THIRD.text}))
    assert account.decide(lambda snapshot: tell_apps(snapshot, NEW)) == ()
