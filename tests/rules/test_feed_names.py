"""What a feed is called, when its trouble is told, and which feeds of a list may be the same."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model import Failure, Feed, FeedContent, Guid, Sighting, Stamp, Subscription, replace
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.duplicates import pair_of
from feedkeep.rules.feed_names import (
    MAX_ALIKE,
    MAX_COPIES,
    WHY,
    Card,
    Headline,
    address_of,
    card_of,
    headline_of,
    moved_to,
    name_of,
    possible_duplicates,
    title_of,
    trouble_of,
    web_url,
)
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.text_limits import MAX_SHORT_DESCRIPTION, line_of

NOW = Stamp(1_000 * DAY_US)
A, B, C = (f"https://{name}.example/feed" for name in "abc")
KEY = "https://members.example/0a1B2c3D4e5F6a7B8c9D0e1F"
RIGHT_TO_LEFT = "\u202e"


def known(url: str, content: FeedContent | None = None, **fields: object) -> Feed:
    return Feed(parse_feed_url(url).guid, url, NOW, NOW, content, **fields)


def guid(url: str) -> Guid:
    return parse_feed_url(url).guid


def listed(url: str, since: int = 0, is_subscribed: bool = True) -> Subscription:
    return Subscription(guid(url), url, is_subscribed, NOW, status_changed=Stamp(since))


def headline(url: str, podcast: str = "", to: str = "", **fields: object) -> Headline:
    moved = guid(to) if to else None
    return Headline(guid(url), podcast_guid=podcast, moved_to=moved, **fields)


def twice(
    subscriptions: list[Subscription],
    *headlines: tuple[str, Headline],
    apart: Sequence[tuple[str, str]] = (),
) -> list[list[str]]:
    """Return the groups of feeds that may be the same, by their URLs."""
    urls = {feed.guid: feed.feed_url for feed in subscriptions}
    kept = {pair_of(guid(one), guid(other)) for one, other in apart}
    groups = possible_duplicates(subscriptions, dict(headlines), kept)
    return [[urls[guid] for guid in group] for group in groups]


@pytest.mark.parametrize(
    ("url", "title", "name"),
    [
        (A, "The Radio", "The Radio"),
        (A, "", "a.example/feed"),
        ("https://www.a.example/", "", "a.example"),
        (KEY, "", "members.example"),
        (KEY, "For members", "For members"),
        ("https://anna:secret@www.a.example/feed", "", "a.example"),
        ("https://u@[::x]/feed", "", "::x"),
    ],
)
def test_a_feed_is_called_by_its_title_else_its_address_and_of_a_secret_one_by_its_host(
    url, title, name
):
    assert name_of(url, title) == name


@given(st.text(max_size=400))
def test_whatever_an_address_is_it_has_a_name(text):
    assert name_of(f"https://{text}") is not None
    assert address_of(f"https://{text}").host is not None


def test_a_title_is_one_line_that_changes_nothing_around_it():
    hostile = f"One\nTwo\x1b[31m{RIGHT_TO_LEFT}evil\u2066\ud800\u2028<b>"
    assert title_of(known(A, FeedContent(title=hostile))) == "One Two [31mevil <b>"
    assert len(title_of(known(A, FeedContent(title="x" * 5_000)))) == 200
    assert title_of(known(A)) == title_of(None) == ""


@given(st.text(), st.integers(2, 50))
def test_a_line_is_never_longer_and_can_be_written_anywhere(text, limit):
    line = line_of(text, limit)
    assert len(line) <= limit
    assert line.encode() is not None  # no half of a pair
    assert line.splitlines() in ([line], [])


def test_a_card_tells_apps_what_is_short_and_safe():
    content = FeedContent(
        title="One\nTwo", description="word " * 1_000, site_url="javascript:alert(1)",
        picture_url="https://cdn.example/x.jpg", author=RIGHT_TO_LEFT + "Anna",
    )  # fmt: skip
    card = card_of(content)
    assert len(card.description) <= MAX_SHORT_DESCRIPTION
    assert card.description.endswith("word…")
    assert replace(card, description="") == Card(
        "One Two", "", "", "https://cdn.example/x.jpg", "Anna"
    )


# C10.6
@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://a.example/", "https://a.example/"),
        ("HTTP://a.example", "HTTP://a.example"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("//a.example", ""),
        ("https://a.example/ x", ""),
        ("https://a.example/\n", ""),
        (f"https://a.example/{RIGHT_TO_LEFT}", ""),
        ("", ""),
    ],
)
def test_only_an_address_of_the_web_becomes_a_link(url, link):
    assert web_url(url) == link


def test_a_feed_says_where_it_moved_by_a_redirect_that_was_seen_or_by_itself():
    def told(**fields):
        found = moved_to(known(A, **fields))
        return found.text if found else ""

    once = Sighting(B, NOW, NOW)
    assert told() == told(content=FeedContent()) == ""
    assert told(sighting=once) == B
    assert told(content=FeedContent(new_feed_url=C)) == C
    assert told(content=FeedContent(new_feed_url=C), sighting=once) == B


@pytest.mark.parametrize("new", [A, "http://b.example/feed", "nonsense", "https://[", "http://A"])
def test_a_feed_that_names_itself_or_what_is_no_move_says_nothing(new):
    assert moved_to(known(A, FeedContent(new_feed_url=new))) is None


def test_a_headline_tells_what_lists_show():
    content = FeedContent(
        title="Radio", podcast_guid="p", new_feed_url=B, items=tuple("123456789"),
        newest=NOW, newest_title="Episode\n" * 20,
    )  # fmt: skip
    feed = known(
        A, content, picture="d", failing=NOW, failures=2, failure=Failure.GONE
    )  # fmt: skip
    assert headline_of(feed) == Headline(
        guid(A), "Radio", "d", NOW, 2, Failure.GONE, "p", guid(B), frozenset("12345678"),
        NOW, "Episode " * 14 + "Episode…",
    )  # fmt: skip
    assert headline_of(known(A)) == Headline(guid(A))


@pytest.mark.parametrize(
    ("ago", "failures", "is_told"),
    [(0, 1, False), (DAY_US, 2, False), (DAY_US + 1, 1, True), (0, 3, True)],
)
def test_trouble_is_told_when_it_lasts_for_a_day_or_three_looks(ago, failures, is_told):
    since = Stamp(NOW - ago)
    found = trouble_of(
        headline(A, title="Radio", failing=since, failures=failures, failure=Failure.GONE), NOW
    )  # fmt: skip
    assert (found is not None) is is_told
    if found:
        assert (found.since, str(found.why)) == (
            since, "Its server says that it is gone permanently.",
        )  # fmt: skip


@pytest.mark.parametrize("failure", Failure)
def test_of_a_feed_that_was_never_read_it_is_told_at_once_that_its_address_has_none(failure):
    is_sure = failure in {
        Failure.NOT_A_FEED, Failure.NOT_FOUND, Failure.GONE, Failure.NO_SUCH_HOST
    }  # fmt: skip
    never_read = headline(A, failing=NOW, failures=1, failure=failure)
    assert (trouble_of(never_read, NOW) is not None) is is_sure
    assert trouble_of(replace(never_read, title="Radio"), NOW) is None


def test_a_feed_that_can_be_read_and_one_that_is_not_known_have_no_trouble():
    assert trouble_of(headline(A), NOW) is None
    assert trouble_of(None, NOW) is None
    failing = headline(A, failing=Stamp(0))
    assert trouble_of(failing, NOW) is not None  # whatever failed, it says something


def test_every_failure_is_told_in_words():
    assert set(WHY) == set(Failure)
    assert len(set(map(str, WHY.values()))) == len(Failure)


def test_feeds_with_one_podcast_guid_may_be_the_same_and_the_later_one_is_kept():
    both = [listed(A, since=1), listed(B, since=2), listed(C)]
    known = [(A, headline(A, "p")), (B, headline(B, "p")), (C, headline(C, "other"))]
    assert twice(both, *known) == [[B, A]]


def test_one_that_cannot_be_read_or_is_without_https_is_not_kept():
    plain = "http://plain.example"
    feeds = [listed(A, since=1), listed(B, since=2), listed(plain, since=3)]
    failing = headline(B, "p", failing=NOW)
    known = [(A, headline(A, "p")), (B, failing), (plain, headline(plain, "p"))]
    assert twice(feeds, *known) == [[A, plain, B]]


def test_a_guid_that_many_feeds_carry_was_copied_and_says_nothing():
    urls = [f"https://{number}.example" for number in range(MAX_COPIES + 1)]
    known = [(url, headline(url, "p")) for url in urls]
    assert twice([listed(url) for url in urls], *known) == []
    assert len(twice([listed(url) for url in urls[1:]], *known)[0]) == MAX_COPIES


def test_a_feed_that_says_that_it_is_where_another_one_is_may_be_the_same():
    feeds = [listed(A, since=9), listed(B)]
    assert twice(feeds, (A, headline(A, to=B))) == [[B, A]]  # B was not fetched yet
    assert twice(feeds, (A, headline(A, to=B)), (B, headline(B))) == [[B, A]]
    assert twice(feeds, (A, headline(A, to=C))) == []
    assert twice(feeds, (A, headline(A, to=A))) == []


def test_of_a_feed_that_moved_twice_the_last_place_is_kept():
    feeds = [listed(A, since=3), listed(B, since=2), listed(C, since=1)]
    known = [(A, headline(A, to=B)), (B, headline(B, to=C)), (C, headline(C))]
    assert twice(feeds, *known) == [[C, A, B]]


def test_two_feeds_that_name_each_other_are_one_group():
    feeds = [listed(A, since=1), listed(B, since=2)]
    assert twice(feeds, (A, headline(A, to=B)), (B, headline(B, to=A))) == [[B, A]]


def test_a_feed_for_members_is_not_taken_for_the_public_one():
    known = [(A, headline(A, "p")), (KEY, headline(KEY, "p"))]
    assert twice([listed(A), listed(KEY)], *known) == []


def test_what_one_has_unsubscribed_from_is_in_the_list_no_more():
    known = [(A, headline(A, "p", to=B)), (B, headline(B, "p"))]
    assert twice([listed(A), listed(B, is_subscribed=False)], *known) == []


def test_feeds_that_a_person_keeps_apart_are_told_no_more():
    feeds = [listed(A, since=1), listed(B, since=2)]
    known = [(A, headline(A, "p", to=B)), (B, headline(B, "p"))]
    assert twice(feeds, *known) == [[B, A]]
    assert twice(feeds, *known, apart=[(A, B)]) == []


def test_of_three_that_may_be_the_same_those_are_told_that_are_not_kept_apart():
    feeds = [listed(A, since=1), listed(B, since=2), listed(C, since=3)]
    known = [(url, headline(url, "p")) for url in (A, B, C)]
    assert twice(feeds, *known, apart=[(A, B)]) == [[C, B, A]]  # C may be the same as either
    assert twice(feeds, *known, apart=[(A, B), (A, C)]) == [[C, B]]
    assert twice(feeds, *known, apart=[(A, B), (A, C), (C, B)]) == []


def test_a_copied_guid_says_nothing_also_if_some_are_kept_apart():
    urls = [f"https://{number}.example" for number in range(MAX_COPIES + 1)]
    known = [(url, headline(url, "p")) for url in urls]
    assert twice([listed(url) for url in urls], *known, apart=[(urls[0], urls[1])]) == []


def test_feeds_whose_urls_are_alike_may_be_the_same_also_if_they_were_never_read():
    feeds = [listed(A, since=1), listed(f"{A}?", since=2), listed(B)]
    assert twice(feeds) == [[f"{A}?", A]]
    assert twice(feeds, apart=[(A, f"{A}?")]) == []
    assert twice([listed(KEY), listed(KEY.replace("members.", "www.members."))]) != []


def test_of_many_alike_urls_some_are_told():
    urls = [A + "?" + "&" * number for number in range(MAX_ALIKE + 5)]
    assert [len(group) for group in twice([listed(url) for url in urls])] == [MAX_ALIKE]


@pytest.mark.parametrize(
    ("one", "other", "is_twice"),
    [
        ("abc", "abc", True),
        ("abcd", "bcde", True),
        ("a", "a", True),
        ("ab", "abc", False),
        ("abcd", "cdef", False),
        ("", "", False),
    ],
)
def test_feeds_with_one_title_and_the_same_items_may_be_the_same(one, other, is_twice):
    def with_items(url, items, title="Radio"):
        return url, headline(url, title=title, items=frozenset(items))

    feeds = [listed(A, since=1), listed(B, since=2)]
    assert twice(feeds, with_items(A, one), with_items(B, other)) == ([[B, A]] if is_twice else [])
    assert twice(feeds, with_items(A, one), with_items(B, other, "Another")) == []
    assert twice([listed(A), listed(KEY)], with_items(A, one), with_items(KEY, other)) == []
