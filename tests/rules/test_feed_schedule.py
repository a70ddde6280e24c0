"""Time of a feed's next fetch, and the effect of a fetch on its stored data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep import model
from feedkeep.model import Failure, Feed, FeedContent, FetchResult, Stamp, replace
from feedkeep.rules import feed_schedule as rules
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.feed_schedule import HOUR_US, MONTH_US, SUBSCRIBER_TTL_US, WEEK_US
from feedkeep.rules.feed_urls import parse_feed_url

SATURDAY, SUNDAY = "Sat, 21 Nov 2026 08:00:00 GMT", "Sun, 22 Nov 2026 08:00:00 GMT"
URL = "https://show.example/feed"
NOW = Stamp(20_000 * DAY_US)
SHOW = FeedContent(title="A Show", picture_url="https://show.example/cover.jpg")
ANSWER = FetchResult(SHOW, etag='"1"', last_modified=SATURDAY)
UNCHANGED = FetchResult(etag='"1"')
NEW_FEED = Feed(parse_feed_url(URL).guid, URL, NOW, NOW)


def fetched(feed: Feed, looked: FetchResult, now: int = NOW, chance: float = 0.5) -> Feed:
    return rules.after_fetch(feed, looked, Stamp(now), chance)


READ = fetched(NEW_FEED, ANSWER)


def failed(failure: Failure, **more: object) -> FetchResult:
    return FetchResult(failure=failure, reason="It failed.", **more)


def anew(feed: Feed, url: str, now: int = NOW) -> Feed | None:
    return rules.after_subscription(feed, url, Stamp(now))


def wait(feed: Feed, looked: FetchResult, now: int = NOW) -> int:
    return fetched(feed, looked, now).next_fetch - now


def test_feed_that_was_read_is_asked_again_after_a_day():
    assert READ.content == SHOW
    assert (READ.answered, READ.changed, READ.looked) == (NOW, NOW, NOW)
    assert (READ.etag, READ.last_modified) == ('"1"', SATURDAY)
    assert READ.next_fetch == NOW + DAY_US


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (FetchResult(), ('"1"', SATURDAY)),
        (FetchResult(etag='"2"'), ('"2"', SATURDAY)),
        (FetchResult(last_modified=SUNDAY), ('"1"', SUNDAY)),
        (FetchResult(SHOW), ("", "")),
        (FetchResult(SHOW, etag='"2"'), ('"2"', "")),
    ],
)
def test_304_changes_the_validators_that_it_names_and_another_answer_all(told, kept):
    after = fetched(READ, told)
    assert (after.etag, after.last_modified) == kept


def test_feed_that_says_nothing_new_is_asked_more_seldom_up_to_once_a_week():
    assert wait(READ, UNCHANGED, NOW + 29 * DAY_US) == DAY_US
    assert wait(READ, UNCHANGED, NOW + 31 * DAY_US) == 2 * DAY_US
    later = Stamp(NOW + 400 * DAY_US)
    assert wait(READ, ANSWER, later) == WEEK_US
    news = replace(ANSWER, content=replace(SHOW, title="Another"))
    assert wait(READ, news, later) == DAY_US
    # It only dates its items again.
    dated = replace(ANSWER, content=replace(SHOW, newest=later, newest_title="Another"))
    after = fetched(READ, dated, later)
    assert after.next_fetch - later == WEEK_US
    assert (after.changed, after.content) == (NOW, dated.content)


def test_episodes_are_those_of_the_last_answer_that_tells_others():
    told = replace(ANSWER, episodes=model.NewestEpisodes("10 abc"))
    feed = fetched(READ, told)
    assert feed.episodes == "10 abc"
    for looked in (ANSWER, UNCHANGED, failed(Failure.GONE)):
        assert fetched(feed, looked).episodes == "10 abc"
    another = replace(SHOW, title="Another", podcast_guid="", items=("x", "y", "z"))
    others = model.NewestEpisodes("10 def")
    redirected = replace(told, content=another, is_redirected=True, episodes=others)
    after = fetched(replace(feed, is_own=True), redirected)
    assert (after.failure, after.episodes) == (Failure.ANOTHER_FEED, "10 abc")


# C10.9
def test_failures_back_off_from_an_hour_to_a_week_and_one_answer_ends_that():
    feed, waits, now = READ, [], NOW
    for _ in range(10):
        feed = fetched(feed, failed(Failure.NO_CONNECTION), now)
        waits.append((feed.next_fetch - now) / HOUR_US)
        now = feed.next_fetch
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 168, 168]
    assert (feed.failing, feed.failure, feed.failures) == (NOW, Failure.NO_CONNECTION, 10)
    assert feed.content == SHOW
    again = fetched(feed, UNCHANGED, NOW + 1)
    assert (again.failing, again.failure, again.reason, again.failures) == (None, None, "", 0)
    assert again.next_fetch == NOW + 1 + DAY_US


HOUR, YEAR = 3_600, 365 * 24 * 3_600


@pytest.mark.parametrize(
    ("feed", "looked", "wanted"),
    [
        (READ, failed(Failure.TOO_LARGE), WEEK_US),
        (NEW_FEED, failed(Failure.TOO_LARGE), WEEK_US),
        (READ, failed(Failure.GONE), MONTH_US),
        # A host that wants to be left alone is, but not for ever.
        (READ, failed(Failure.ERROR_STATUS, retry_after_seconds=5 * HOUR), 5 * HOUR_US),
        (READ, replace(UNCHANGED, retry_after_seconds=HOUR), DAY_US),
        (READ, failed(Failure.ERROR_STATUS, retry_after_seconds=YEAR), MONTH_US),
    ],
)
def test_feed_that_fails_in_its_own_way_is_asked_when_that_may_have_changed(feed, looked, wanted):
    assert wait(feed, looked) == wanted


@pytest.mark.parametrize(("minutes", "failures"), [(50, 1), (58, 2), (160, 2), (165, 3)])
def test_failures_count_as_the_schedule_has_them_however_often_a_feed_is_fetched(minutes, failures):
    feed = READ
    for minute in range(minutes):
        now = NOW + minute * rules.MINUTE_US
        feed = fetched(feed, failed(Failure.NO_CONNECTION), now)
    assert feed.failures == failures
    assert feed.next_fetch - now == HOUR_US * 2 ** (failures - 1)


@given(st.lists(st.floats(0, 1), min_size=12, max_size=12))
def test_each_look_of_the_schedule_that_fails_counts(chances):
    feed, now = READ, NOW
    for number, chance in enumerate(chances, 1):
        feed = fetched(feed, failed(Failure.NO_CONNECTION), now, chance)
        assert feed.failures == number
        now = feed.next_fetch


@given(st.floats(0, 1))
def test_feeds_that_were_added_together_are_asked_at_different_times(chance):
    at = fetched(NEW_FEED, ANSWER, chance=chance).next_fetch - NOW
    assert 0.9 * DAY_US <= at <= 1.1 * DAY_US + 1


def test_redirect_to_another_feed_is_a_failure_and_changes_no_title():
    other = FetchResult(FeedContent(title="Casino"), is_moved=True, is_redirected=True)
    after = fetched(READ, other)
    assert (after.content, after.failure) == (SHOW, Failure.ANOTHER_FEED)
    # The same URL by https is the same feed.
    there = FeedContent(title="A Show", items=("other",))
    by_https = model.MovedFeed(READ.url.replace("http://", "https://"), there)
    moved = FetchResult(there, is_moved=True, is_redirected=True, moved_feed=by_https)
    after = fetched(READ, moved)
    assert (after.content, after.failure) == (there, None)


def test_feed_that_always_redirected_shows_what_it_redirects_to():
    first = FetchResult(SHOW, is_moved=True, is_redirected=True)
    feed = fetched(NEW_FEED, first)
    assert (feed.content, feed.is_own) == (SHOW, False)
    later = replace(first, content=FeedContent(title="A Show, renamed"))
    assert fetched(feed, later).content == later.content


@pytest.mark.parametrize(
    ("days_ago", "url", "picture", "is_wanted"),
    [
        (None, SHOW.picture_url, "", True),
        (2, SHOW.picture_url, "1", False),
        (31, SHOW.picture_url, "1", True),
        (2, "https://show.example/old.jpg", "1", True),
        (0, SHOW.picture_url, "", False),
        (2, SHOW.picture_url, "", True),
    ],
)
def test_picture_is_fetched_if_it_is_new_or_was_long_ago(days_ago, url, picture, is_wanted):
    looked = None if days_ago is None else Stamp(NOW - days_ago * DAY_US)
    feed = replace(READ, picture=picture, picture_url=url, picture_looked=looked)
    assert rules.wants_picture(feed, SHOW, NOW) == is_wanted
    assert not rules.wants_picture(feed, FeedContent(title="It has none"), NOW)


def test_picture_that_was_not_there_leaves_the_one_that_is_known():
    url = SHOW.picture_url
    found = replace(ANSWER, picture=model.Picture("image/webp", b"...", "d1"), picture_tried=url)
    feed = fetched(NEW_FEED, found)
    assert (feed.picture, feed.picture_url, feed.picture_looked) == ("d1", url, NOW)
    after = fetched(feed, replace(ANSWER, picture_tried=url), NOW + DAY_US)
    assert (after.picture, after.picture_looked) == ("d1", NOW + DAY_US)


BY_HTTP = URL.replace("https", "http")
SECRET = "https://members.example/rss?key=kPq3vXyZ0aB9cD8eF7gH6iJ5kL4mN3oP"
SECRET_BY_HTTP = SECRET.replace("https", "http")


@pytest.mark.parametrize(("known", "url"), [(BY_HTTP, URL), (SECRET_BY_HTTP, SECRET)])
def test_secret_and_failing_feeds_are_asked_by_https_once_an_account_has_them_so(known, url):
    week_ago = Stamp(NOW - WEEK_US)
    feed = replace(READ, url=known, failing=week_ago if url == URL else None)
    if url == URL:  # it may have been away for an hour
        assert anew(replace(feed, failing=Stamp(week_ago + 1)), url) is None
    assert anew(feed, url) == Feed(feed.guid, url, NOW, Stamp(0))  # what http has found is gone
    assert anew(replace(feed, url=url), known) is None  # and it never goes back
    renewed = anew(replace(feed, is_permitted=True), url)
    assert renewed == Feed(feed.guid, url, NOW, Stamp(0), is_permitted=True)


def test_what_a_subscriber_permits_is_looked_at_in_its_turn_and_by_https_if_that_is_known():
    known = replace(READ, next_fetch=Stamp(NOW + DAY_US))
    turn = Stamp(7)
    expected = replace(known, next_fetch=turn, is_permitted=True)
    assert rules.permitted(known, URL, NOW, turn) == expected
    by_https = rules.permitted(replace(known, url=SECRET_BY_HTTP), SECRET, NOW, turn)
    assert (by_https.url, by_https.is_permitted) == (SECRET, True)


@pytest.mark.parametrize(("seconds", "is_slow"), [(0.1, False), (rules.SLOW_SECONDS + 1, True)])
def test_that_a_look_was_slow_is_known_until_the_next_one(seconds, is_slow):
    for before in (False, True):
        after = fetched(replace(READ, is_slow=before), FetchResult(seconds=seconds))
        assert after.is_slow is is_slow


@pytest.mark.parametrize("url", [BY_HTTP, URL, URL + "/"])
def test_first_spelling_stays_where_it_answers_and_is_no_secret(url):
    assert anew(replace(READ, url=BY_HTTP), url) is None
    assert anew(READ, url) is None


def test_what_no_account_wants_is_not_asked_after_two_days_and_is_once_one_does():
    assert rules.has_subscribers(READ, Stamp(READ.wanted + SUBSCRIBER_TTL_US - 1))
    later = Stamp(READ.wanted + SUBSCRIBER_TTL_US)
    assert not rules.has_subscribers(READ, later)
    assert anew(READ, URL, later) == replace(READ, wanted=later, next_fetch=Stamp(0))
    assert rules.has_subscribers(replace(READ, wanted=later), later)


@given(st.integers(0, 2 * SUBSCRIBER_TTL_US))
def test_what_is_put_off_as_unwanted_is_always_asked_again_by_who_wants_it(age_us):
    now = Stamp(READ.wanted + age_us)
    assert rules.has_subscribers(READ, now) or anew(READ, URL, now - DAY_US // 4) is not None


def test_feeds_that_a_page_names_are_known_until_the_page_is_another_or_is_a_feed():
    page = failed(Failure.NOT_A_FEED, page_feeds=("https://feeds.example/night",))
    known = fetched(NEW_FEED, page)
    assert known.page_feeds == page.page_feeds
    away = fetched(known, failed(Failure.TOO_SLOW))
    assert away.page_feeds == page.page_feeds
    assert fetched(away, failed(Failure.NOT_A_FEED)).page_feeds == ()
    assert fetched(away, ANSWER).page_feeds == ()


def test_what_was_asked_by_a_clock_that_was_ahead_is_asked_again_once_it_is_right():
    ahead = Stamp(NOW + 400 * DAY_US)
    feed = fetched(replace(NEW_FEED, wanted=ahead), ANSWER, ahead)
    asked = anew(feed, URL)
    assert asked == replace(feed, wanted=NOW, next_fetch=Stamp(0))
    assert fetched(asked, ANSWER).next_fetch == NOW + DAY_US
    assert anew(replace(READ, looked=Stamp(NOW + DAY_US)), URL) is None
