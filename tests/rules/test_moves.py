"""Proof that a feed has moved, and the effect of the move on a list."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_account import Account

from feedkeep.model import Failure, Feed, FeedContent, FetchResult, Guid, MovedFeed, Stamp, replace
from feedkeep.rules import moves as rules
from feedkeep.rules.clock import DAY_US, day_of
from feedkeep.rules.feed_schedule import HOUR_US, after_fetch
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.followed_moves import MAX_REMEMBERED, Followed, MoveOutcome, follow, tell_apps
from feedkeep.rules.moves import found_by_https, is_another_feed, is_dead, is_same_feed, proved_move

OLD, NEW = "https://old.example/feed", "https://new.example/feed"
BEGIN = Stamp(20_000 * DAY_US + 7 * HOUR_US)
SHOW = FeedContent(title="A Show", items=("1", "2", "3", "4"))
OTHER = FeedContent(title="Hotel Wi-Fi", items=("9",))
MOVED = FetchResult(SHOW, is_moved=True, is_redirected=True, moved_feed=MovedFeed(NEW, SHOW))
THERE = FetchResult(SHOW)
AWAY = FetchResult(failure=Failure.NO_CONNECTION, reason="There is no connection.")
ANOTHER = FetchResult(OTHER, is_moved=True, is_redirected=True, moved_feed=MovedFeed(NEW, OTHER))
FOR_NOW = FetchResult(SHOW)  # by redirects that are not meant to last
LOGIN = FetchResult(failure=Failure.NOT_A_FEED, reason="It is a page.", is_redirected=True)


def known(url: str = OLD, content: FeedContent | None = SHOW) -> Feed:
    guid = parse_feed_url(url).guid
    return Feed(guid, url, BEGIN, BEGIN, content, is_own=content is not None, changed=BEGIN)


def seen(feed: Feed, *looks: tuple[int, FetchResult]) -> Feed:
    """Return a feed after fetches, each a number of hours after the beginning."""
    for hours, looked in looks:
        feed = after_fetch(feed, looked, Stamp(BEGIN + hours * HOUR_US), 0.5)
    return feed


def moved_to(feed: Feed) -> str | None:
    found = proved_move(feed)
    return found and found.text


SAID = replace(THERE, moved_feed=MovedFeed(NEW, SHOW))
COPIED = replace(THERE, moved_feed=MovedFeed(NEW, OTHER))
COPIED_GUID = FetchResult(replace(SHOW, podcast_guid=str(Guid("1" * 8))))


@pytest.mark.parametrize(
    ("what", "looks"),
    [
        ("three days over 72 hours", [(0, MOVED), (24, MOVED), (72, MOVED)]),
        ("no answer in between", [(0, MOVED), (30, AWAY), (48, MOVED), (60, AWAY), (80, MOVED)]),
        ("in its own words", [(0, SAID), (40, SAID), (80, SAID)]),
    ],
)
def test_feed_has_moved_that_was_seen_so(what, looks):
    assert moved_to(seen(known(), *looks)) == NEW


@pytest.mark.parametrize(
    ("what", "looks"),
    [
        ("one day", [(0, MOVED)]),
        ("many times on two days", [(h, MOVED) for h in range(0, 40, 4)]),
        ("three days, but not 72 hours", [(0, MOVED), (24, MOVED), (71, MOVED)]),
        ("it came back in between", [(0, MOVED), (30, THERE), (48, MOVED), (80, MOVED)]),
        ("by redirects that do not last", [(0, FOR_NOW), (40, FOR_NOW), (80, FOR_NOW)]),
        ("the network of a hotel", [(0, LOGIN), (40, LOGIN), (80, LOGIN)]),
        ("a domain that expired", [(0, ANOTHER), (40, ANOTHER), (80, ANOTHER)]),
        ("words copied from another feed", [(0, COPIED), (40, COPIED), (80, COPIED)]),
        ("a copied guid", [(0, COPIED_GUID), (40, COPIED_GUID), (80, COPIED_GUID)]),
        ("an expired domain in between", [(0, MOVED), (40, ANOTHER), (80, MOVED), (100, MOVED)]),
    ],
)
def test_feed_has_not_moved_that_was_seen(what, looks):
    assert proved_move(seen(known(), *looks)) is None


def test_feed_that_moves_on_has_to_be_seen_at_the_new_place_anew():
    further = replace(MOVED, moved_feed=MovedFeed("https://third.example", SHOW))
    feed = seen(known(), (0, MOVED), (30, MOVED), (60, MOVED), (73, further))
    assert proved_move(feed) is None
    feed = seen(feed, (100, further), (150, further))
    assert moved_to(feed) == "https://third.example"


def test_feed_that_was_never_seen_at_its_own_address_proves_nothing():
    feed = seen(known(content=None), (0, MOVED), (40, MOVED), (80, MOVED), (120, MOVED))
    assert feed.content == SHOW
    assert proved_move(feed) is None


@pytest.mark.parametrize(
    ("old", "new", "is_possible"),
    [
        ("https://user:secret@old.example", "https://new.example", False),
        ("https://old.example", "http://new.example", False),
        ("HTTPS://old.example", "Http://new.example", False),
        ("http://old.example/feed", "https://old.example/feed/", False),
        ("https://old.example", "ftp://new.example", False),
        ("https://old.example", "https://https://new.example", False),
        ("https://old.example", "https://new..example", False),
        ("https://old.example", "", False),
        ("https://user:secret@old.example", "https://user:secret@new.example", True),
        ("http://old.example", "https://new.example", True),
        ("http://old.example", "http://new.example", True),
        ("http://old\u2100.example", "https://new.example", True),
    ],
)
def test_feed_can_move_or_not(old, new, is_possible):
    assert rules.may_move(old, new) is is_possible
    there = replace(MOVED, moved_feed=MovedFeed(new, SHOW))
    found = moved_to(seen(known(old), (0, there), (40, there), (80, there)))
    assert found == (new if is_possible else None)


def test_what_is_the_same_feed():
    guid, other = "a" * 8, "b" * 8
    assert is_same_feed(replace(SHOW, podcast_guid=guid), FeedContent(podcast_guid=guid))
    assert is_same_feed(replace(SHOW, podcast_guid=guid), replace(SHOW, podcast_guid=other))
    assert is_same_feed(replace(SHOW, podcast_guid=guid), SHOW)
    assert is_same_feed(SHOW, replace(SHOW, items=("0", "2", "3", "4")))
    assert not is_same_feed(SHOW, replace(SHOW, items=("0", "3", "4")))
    assert not is_same_feed(SHOW, replace(SHOW, title="Another Show"))
    assert not is_same_feed(replace(SHOW, title=""), replace(SHOW, title=""))


def test_what_is_clearly_another_feed():
    news = replace(SHOW, items=("1",))
    assert not is_another_feed(news, replace(news, items=("2",)))
    assert not is_another_feed(SHOW, replace(SHOW, title="A Show, renamed"))
    assert is_another_feed(SHOW, replace(SHOW, items=("0", "3", "5")))
    assert is_another_feed(news, replace(news, title="Hotel Wi-Fi", items=("2",)))
    assert is_another_feed(news, FeedContent(items=("2",)))


DAY = 24
GONE = FetchResult(failure=Failure.GONE, reason="The host answers 410.")
NO_HOST = FetchResult(failure=Failure.NO_SUCH_HOST, reason="There is no such host.")
SLOW = FetchResult(failure=Failure.TOO_SLOW, reason="It takes too long.")
ERROR = FetchResult(failure=Failure.ERROR_STATUS, reason="The host answers 500.")


@pytest.mark.parametrize(
    ("looks", "is_so"),
    [
        ([], False),
        ([(0, GONE), (13 * DAY, GONE)], False),
        ([(0, GONE), (6 * DAY, NO_HOST), (14 * DAY, GONE)], True),
        ([(0, GONE), (6 * DAY, SLOW), (14 * DAY, GONE)], True),
        ([(0, GONE), (6 * DAY, ERROR), (14 * DAY, GONE)], False),
        ([(0, GONE), (6 * DAY, THERE), (14 * DAY, GONE)], False),
        # Requests without an answer prove nothing, however long that continues.
        ([(0, SLOW), (14 * DAY, SLOW)], False),
        ([(0, GONE), (14 * DAY, SLOW)], False),
        ([(0, GONE), (7 * DAY, AWAY), (15 * DAY, AWAY)], False),
    ],
)
def test_old_url_is_dead_once_it_was_gone_for_two_weeks_without_an_answer(looks, is_so):
    assert is_dead(seen(known(), *looks), None) is is_so


def test_apps_are_not_sent_to_a_present_url_that_cannot_be_read_either():
    gone = FetchResult(failure=Failure.NOT_FOUND, reason="The host answers 404.")
    former = seen(known(), (0, gone), (14 * 24, gone))
    assert is_dead(former, known(NEW))
    assert not is_dead(former, seen(known(NEW), (14 * 24, AWAY)))


LOOKS = {"moved": MOVED, "there": THERE, "away": AWAY, "another": ANOTHER, "login": LOGIN}


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(sorted(LOOKS))), max_size=12))
def test_only_an_unbroken_row_of_sightings_is_proof(steps):
    """A naive count of the sightings since the last other answer agrees."""
    hours, feed, row = 0, known(), list[Stamp]()
    for wait, kind in steps:
        hours += wait
        feed = seen(feed, (hours, LOOKS[kind]))
        if kind == "moved":
            row.append(Stamp(BEGIN + hours * HOUR_US))
        elif kind != "away":
            row = []
        days = {day_of(stamp) for stamp in row}
        is_proof = len(days) >= rules.DAYS and row[-1] - row[0] >= rules.AT_LEAST_US
        assert (proved_move(feed) is not None) == is_proof
        assert feed.content == SHOW


@given(st.lists(st.sampled_from(sorted(LOOKS)), min_size=2, max_size=8), st.floats(0, 1))
def test_what_is_known_of_a_feed_is_never_lost_by_a_look(kinds, chance):
    feeds = [known()]
    for number, kind in enumerate(kinds):
        now = Stamp(BEGIN + number * DAY_US)
        feeds.append(after_fetch(feeds[-1], LOOKS[kind], now, chance))
    for before, after in pairwise(feeds):
        assert (after.guid, after.url, after.content) == (before.guid, before.url, before.content)
        assert after.looked is not None
        assert after.next_fetch > after.looked


BY_HTTP = OLD.replace("https", "http")


def by_https(url: str = OLD, content: FeedContent = SHOW) -> FetchResult:
    return replace(MOVED, content=content, moved_feed=MovedFeed(url, content))


@pytest.mark.parametrize("url", [OLD, f"{OLD}/"])
def test_feed_that_redirects_to_https_is_asked_so_once_it_was_found_there_twice(url):
    new = replace(known(BY_HTTP, None), changed=None)
    first = seen(new, (0, by_https(url)))
    assert (first.url, found_by_https(BY_HTTP, first)) == (BY_HTTP, "")
    second = seen(first, (24, by_https(url)))
    assert (second.url, second.sighting) == (url, None)
    assert found_by_https(BY_HTTP, second) == ""  # it has not answered by itself yet
    third = seen(second, (48, THERE))
    assert found_by_https(BY_HTTP, third) == url
    assert found_by_https(OLD, third) == ""
    assert found_by_https(BY_HTTP, seen(third, (72, AWAY))) == ""


@pytest.mark.parametrize(
    "looked",
    [
        THERE,
        AWAY,
        FOR_NOW,
        by_https(NEW),
        by_https(content=OTHER),
        by_https("https://https://old.example/feed"),
        by_https("https://user@old.example/feed"),
    ],
)
def test_otherwise_it_is_asked_as_before(looked):
    assert seen(known(BY_HTTP), (0, looked)).url == BY_HTTP


def test_feed_never_goes_back_to_http():
    assert seen(known(), (0, by_https(BY_HTTP))).url == OLD


# Effect on a list of a feed that has moved, or whose old URL is dead


FROM, TO, THIRD = (parse_feed_url(f"https://{name}.example") for name in ("old", "new", "third"))
ONCE = Followed(FROM.guid, TO.guid)


def followed(account: Account, *already: Followed) -> MoveOutcome:
    return account.do(follow, FROM, TO, already)


def account_that_followed() -> Account:
    account = Account(FROM.text)
    followed(account)
    return account


def test_list_follows_a_feed_once_and_remembers_that_it_did():
    account = Account(FROM.text)
    assert followed(account) == MoveOutcome(True, [ONCE])
    assert account.subscribed() == {TO.text}
    assert account.subscription(FROM.guid).app_url == FROM.text
    account = Account(FROM.text)
    assert followed(account, ONCE) == MoveOutcome(False, (ONCE,))
    assert account.subscribed() == {FROM.text}


def test_list_that_has_a_feed_by_https_does_not_follow_it_to_http():
    """The move was seen by http, since another account subscribed to it so first."""
    account = Account(FROM.text)
    outcome = account.do(follow, FROM, parse_feed_url("http://new.example"), [])
    assert (outcome.is_done, account.subscribed()) == (False, {FROM.text})


def test_move_is_carried_out_again_after_the_way_back_was():
    account = Account(FROM.text)
    remembered = followed(account).followed
    back = account.do(follow, TO, FROM, remembered)
    assert (back.is_done, account.subscribed()) == (True, {FROM.text})
    assert followed(account, *back.followed) == MoveOutcome(True, [ONCE])
    assert account.subscribed() == {TO.text}


@pytest.mark.parametrize("urls", [[], [THIRD], [TO], [FROM, TO]])
def test_list_without_the_old_url_or_with_the_new_one_is_not_changed(urls):
    account = Account(*(url.text for url in urls))
    before = dict(account.entries)
    assert not followed(account).is_done
    assert account.entries == before, "nothing is merged automatically"


def test_feed_that_was_unsubscribed_or_moved_elsewhere_by_its_owner_stays():
    account = Account(FROM.text)
    account.update(FROM.guid, is_subscribed=False)
    assert not followed(account).is_done
    account = Account(FROM.text)
    account.move(FROM.guid, THIRD.text)
    assert not followed(account).is_done
    assert account.subscribed() == {THIRD.text}


def test_only_the_last_moves_are_remembered():
    many = [Followed(THIRD.guid, FROM.guid)] * MAX_REMEMBERED
    remembered = followed(Account(FROM.text), *many).followed
    assert (len(remembered), remembered[-1]) == (MAX_REMEMBERED, ONCE)


def test_apps_are_told_once_to_give_up_the_url_that_they_know():
    account = account_that_followed()
    assert set(account.do(tell_apps, FROM)) == {FROM.guid, TO.guid}
    feed = account.subscription(FROM.guid)
    assert (feed.feed_url, feed.app_url) == (TO.text, None)
    assert account.do(tell_apps, FROM) == ()


def test_apps_are_told_nothing_of_a_feed_that_is_gone_or_that_they_know_by_another_url():
    account = account_that_followed()
    account.update(FROM.guid, is_subscribed=False)
    assert account.do(tell_apps, FROM) == ()
    assert account.do(tell_apps, THIRD) == ()
    account = account_that_followed()
    account.move(FROM.guid, THIRD.text)
    assert account.do(tell_apps, TO) == ()
