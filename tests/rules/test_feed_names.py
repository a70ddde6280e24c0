"""Display names of feeds, notices of their failures, and possible duplicates in a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_account import G1, G2, G3, A, B, C, guid

from feedkeep.model import Failure, Feed, FeedContent, Guid, Sighting, Stamp, Subscription, replace
from feedkeep.rules import duplicates
from feedkeep.rules import feed_names as rules
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.duplicates import pair_of
from feedkeep.rules.feed_names import MAX_COPIES, Card, Headline, moved_to, title_of, trouble_of
from feedkeep.rules.feed_urls import usual_spellings
from feedkeep.rules.text_limits import MAX_SHORT_DESCRIPTION, line_of

NOW = Stamp(1_000 * DAY_US)
KEY = "https://members.example/0a1B2c3D4e5F6a7B8c9D0e1F"
RIGHT_TO_LEFT = "\u202e"


def known(url: str, content: FeedContent | None = None, **fields: object) -> Feed:
    return Feed(guid(url), url, NOW, NOW, content, **fields)


def listed(*urls: str) -> list[Subscription]:
    """Return feeds that were added one after the other."""
    return [
        Subscription(guid(url), url, True, NOW, status_changed=Stamp(number))
        for number, url in enumerate(urls)
    ]


def headline(url: str, podcast: str = "", to: str = "", **fields: object) -> Headline:
    moved = guid(to) if to else None
    return Headline(guid(url), podcast_guid=podcast, moved_to=moved, **fields)


def twice(
    subscriptions: list[Subscription], headlines: dict[str, Headline], *apart: tuple[str, str]
) -> list[list[str]]:
    """Return the groups of feeds that may be the same, by their URLs."""
    urls = {feed.guid: feed.feed_url for feed in subscriptions}
    kept = {pair_of(guid(one), guid(other)) for one, other in apart}
    groups = rules.possible_duplicates(subscriptions, headlines, kept)
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
def test_feed_is_called_by_its_title_or_address_or_a_secret_one_by_its_host(url, title, name):
    assert rules.name_of(url, title) == name


@given(st.text(max_size=400))
def test_whatever_an_address_is_it_has_a_name(text):
    assert rules.name_of(f"https://{text}") is not None
    assert rules.address_of(f"https://{text}").host is not None


def test_title_is_one_line_that_changes_nothing_around_it():
    hostile = f"One\nTwo\x1b[31m{RIGHT_TO_LEFT}evil\u2066\ud800\u2028<b>"
    assert title_of(known(A, FeedContent(title=hostile))) == "One Two [31mevil <b>"
    assert len(title_of(known(A, FeedContent(title="x" * 5_000)))) == 200
    assert title_of(known(A)) == title_of(None) == ""


@given(st.text(), st.integers(2, 50))
def test_line_is_never_longer_and_can_be_written_anywhere(text, limit):
    line = line_of(text, limit)
    assert len(line) <= limit
    assert line.encode() is not None  # no half of a pair
    assert line.splitlines() in ([line], [])


def test_card_tells_apps_what_is_short_and_safe():
    content = FeedContent(
        title="One\nTwo", description="word " * 1_000, site_url="javascript:alert(1)",
        picture_url="https://cdn.example/x.jpg", author=RIGHT_TO_LEFT + "Anna",
    )  # fmt: skip
    card = rules.card_of(content)
    assert len(card.description) <= MAX_SHORT_DESCRIPTION
    assert card.description.endswith("word…")
    rest = Card("One Two", "", "", "https://cdn.example/x.jpg", "Anna")
    assert replace(card, description="") == rest


LINKS = ["https://a.example/", "HTTP://a.example"]
NO_LINKS = ["javascript:alert(1)", "data:text/html,x", "//a.example", "https://a.example/ x", ""]


# C10.6
@pytest.mark.parametrize(
    "url", [*LINKS, *NO_LINKS, "https://a.example/\n", f"https://a.example/{RIGHT_TO_LEFT}"]
)
def test_only_an_address_of_the_web_becomes_a_link(url):
    assert rules.web_url(url) == (url if url in LINKS else "")


def test_feed_says_where_it_moved_by_a_redirect_that_was_seen_or_by_itself():
    def told(**fields):
        found = moved_to(known(A, **fields))
        return found.text if found else ""

    once = Sighting(B, NOW, NOW)
    assert told() == told(content=FeedContent()) == ""
    assert told(sighting=once) == B
    assert told(content=FeedContent(new_feed_url=C)) == C
    assert told(content=FeedContent(new_feed_url=C), sighting=once) == B
    for no_move in (A, "http://b.example/feed", "nonsense", "https://[", "http://A"):
        assert told(content=FeedContent(new_feed_url=no_move)) == ""


def test_headline_tells_what_lists_show():
    content = FeedContent(
        title="Radio", podcast_guid="p", new_feed_url=B, items=tuple("123456789"),
        newest=NOW, newest_title="Episode\n" * 20,
    )  # fmt: skip
    feed = known(A, content, picture="d", failing=NOW, failures=2, failure=Failure.GONE)
    assert rules.headline_of(feed) == Headline(
        guid(A), "Radio", "d", NOW, 2, Failure.GONE, "p", guid(B), frozenset("12345678"),
        NOW, "Episode " * 14 + "Episode…",
    )  # fmt: skip
    assert rules.headline_of(known(A)) == Headline(guid(A))


@pytest.mark.parametrize(
    ("ago", "failures", "is_told"),
    [(0, 1, False), (DAY_US, 2, False), (DAY_US + 1, 1, True), (0, 3, True)],
)
def test_trouble_is_told_when_it_lasts_for_a_day_or_three_looks(ago, failures, is_told):
    since = Stamp(NOW - ago)
    failing = headline(A, title="Radio", failing=since, failures=failures, failure=Failure.GONE)
    found = trouble_of(failing, NOW)
    told = (since, "Its server says that it is gone permanently.") if is_told else None
    assert (found and (found.since, str(found.why))) == told


@pytest.mark.parametrize("failure", Failure)
def test_of_a_feed_that_was_never_read_it_is_told_at_once_that_its_address_has_none(failure):
    sure = {Failure.NOT_A_FEED, Failure.NOT_FOUND, Failure.GONE, Failure.NO_SUCH_HOST}
    never_read = headline(A, failing=NOW, failures=1, failure=failure)
    assert (trouble_of(never_read, NOW) is not None) is (failure in sure)
    assert trouble_of(replace(never_read, title="Radio"), NOW) is None


def test_feed_that_can_be_read_and_one_that_is_not_known_have_no_trouble():
    assert trouble_of(headline(A), NOW) is None
    assert trouble_of(None, NOW) is None
    failing = headline(A, failing=Stamp(0))
    assert trouble_of(failing, NOW) is not None  # whatever failed, it says something


def test_every_failure_is_told_in_words():
    assert set(rules.WHY) == set(Failure)
    assert len(set(map(str, rules.WHY.values()))) == len(Failure)


def of_podcast(*urls: str, **fields: object) -> dict[str, Headline]:
    return {url: headline(url, "p", **fields) for url in urls}


TWO, MANY = listed(A, B), [f"https://{number}.example" for number in range(MAX_COPIES + 1)]
PLAIN = "http://plain.example"


def to(*moves: tuple[str, str]) -> dict[str, Headline]:
    """Return the headlines of feeds with other canonical URLs."""
    return {old: headline(old, to=new) for old, new in moves}


@pytest.mark.parametrize(
    ("feeds", "known", "groups"),
    [
        # The later one of a podcast is kept, unless it cannot be read or is without https.
        (listed(C, A, B), {**of_podcast(A, B), C: headline(C, "other")}, [[B, A]]),
        (
            listed(A, B, PLAIN),
            {**of_podcast(A, PLAIN), **of_podcast(B, failing=NOW)},
            [[A, PLAIN, B]],
        ),
        # A guid that many feeds carry was copied.
        (listed(*MANY), of_podcast(*MANY), []),
        (listed(*MANY[1:]), of_podcast(*MANY), [MANY[:0:-1]]),
        # A feed may say that it is where another one is, and the last place is kept.
        (listed(B, A), to((A, B)), [[B, A]]),  # B was not fetched yet
        (listed(B, A), {**to((A, B)), B: headline(B)}, [[B, A]]),
        (listed(B, A), to((A, C)), []),
        (listed(B, A), to((A, A)), []),
        (listed(C, B, A), {**to((A, B), (B, C)), C: headline(C)}, [[C, A, B]]),
        (TWO, to((A, B), (B, A)), [[B, A]]),
        # A feed for members is not taken for the public one.
        (listed(A, KEY), of_podcast(A, KEY), []),
        # Unsubscribed feeds are no longer in the list.
        (
            [TWO[0], replace(TWO[1], is_subscribed=False)],
            {A: headline(A, "p", to=B), **of_podcast(B)},
            [],
        ),
        # URLs are alike, also of feeds that were never read; of many, some are told.
        (listed(A, f"{A}?", B), {}, [[f"{A}?", A]]),
        (
            listed(KEY, KEY.replace("members.", "www.members.")),
            {},
            [[KEY.replace("members.", "www.members."), KEY]],
        ),
    ],
)
def test_feeds_that_may_be_the_same_are_told_and_which_is_kept(feeds, known, groups):
    assert twice(feeds, known) == groups


def test_feeds_that_a_person_keeps_apart_are_told_no_more():
    known = {A: headline(A, "p", to=B), **of_podcast(B)}
    assert twice(TWO, known) == [[B, A]]
    assert twice(TWO, known, (A, B)) == []
    assert twice(listed(A, f"{A}?"), {}, (A, f"{A}?")) == []
    feeds, known = listed(A, B, C), of_podcast(A, B, C)
    assert twice(feeds, known, (A, B)) == [[C, B, A]]  # C may be the same as either
    assert twice(feeds, known, (A, B), (A, C)) == [[C, B]]
    assert twice(feeds, known, (A, B), (A, C), (C, B)) == []
    assert twice(listed(*MANY), of_podcast(*MANY), (MANY[0], MANY[1])) == [], "it was copied"


def test_some_of_many_alike_urls_are_told():
    urls = [A + "?" + "&" * number for number in range(rules.MAX_ALIKE + 5)]
    assert [len(group) for group in twice(listed(*urls), {})] == [rules.MAX_ALIKE]


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
        return {url: headline(url, title=title, items=frozenset(items))}

    known = with_items(A, one)
    assert twice(TWO, known | with_items(B, other)) == ([[B, A]] if is_twice else [])
    assert twice(TWO, known | with_items(B, other, "Another")) == []
    assert twice(listed(A, KEY), known | with_items(KEY, other)) == []


# Hints at duplicates by their URLs, and feeds that a person keeps apart


SAME_NAME = [
    ("https://www.a.example/feed", "http://a.example/feed/"),
    ("https://a.example./feed", "https://A.example/feed"),
    ("https://a.example/feed?", "https://a.example/feed"),
    ("https://a.example/feed/?&", "https://a.example/feed"),
    ("https://a.example/feed?/", "https://a.example/feed"),
    ("https://a.example/feed?a&/", "https://a.example/feed?a"),
    ("https://a.example:443/feed", "http://a.example:80/feed"),
    ("https://a.example:0443/feed", "http://a.example:0080/feed"),
    ("https://a.example/a%3Ab?c=%2Fd", "https://a.example/a:b?c=/d"),
    ("https://a.example/%C3%BCber", "https://a.example/\u00fcber"),
    ("https://b\u00fccher.example/feed", "https://www.xn--bcher-kva.example/feed"),
    ("http://feeds.feedburner.com/TheShow", "https://feeds.feedburner.com/theshow?format=xml"),
    ("http://feeds2.feedburner.com/TheShow", "http://feedproxy.google.com/~r/TheShow"),
    ("http://feeds3.feedburner.com./The%53how", "http://feeds.feedburner.com/theshow/?fmt=xml"),
    ("https://BÜCHER.example/x", "http://www.xn--bcher-kva.example./x?#top"),
]
OTHER_NAMES = [
    ("https://a.example/feed", "https://a.example/Feed"),
    ("https://a.example/feed?id=1", "https://a.example/feed?id=2"),
    ("https://a.example/feed", "https://a.example:8080/feed"),
    ("https://anna@a.example/feed", "https://ben@a.example/feed"),
    ("https://a.example/%FF", "https://a.example/%FE"),
    ("https://a.example/%253A", "https://a.example/%3A"),
    ("https://a.example/TheShow", "https://a.example/theshow"),
]


@pytest.mark.parametrize("urls", [*SAME_NAME, *OTHER_NAMES])
def test_alike_urls_have_one_name_and_others_have_others(urls):
    one, other = map(duplicates.likely_name, urls)
    assert (one == other) is (urls in SAME_NAME)


def test_host_that_has_no_ascii_form_stays_as_it_is():
    long = "\u00fc" * 5_000
    assert duplicates.likely_name(f"https://{long}.example") == f"{long}.example"
    label = "\u00fc" * 64
    assert duplicates.likely_name(f"https://{label}.example") == f"{label}.example"


@given(st.text("aAw.:/?&%3f@[]#~\u00fc", max_size=40))
def test_whatever_a_url_is_it_has_a_likely_name(text):
    assert isinstance(duplicates.likely_name(f"https://{text}"), str)


@given(st.text("abc/?&%3", max_size=20))
def test_what_names_the_same_feed_has_one_name(text):
    spellings = usual_spellings(f"https://a.example/{text}")
    assert len(set(map(duplicates.likely_name, spellings))) == 1


def test_pair_is_the_same_from_both_sides():
    assert pair_of(G1, G2) == pair_of(G2, G1) != pair_of(G1, G3)


def test_pair_is_remembered_once_and_the_newest_comes_last():
    kept = duplicates.keep_apart(duplicates.keep_apart((), G1, G2), G1, G3)
    assert list(kept) == [pair_of(G1, G2), pair_of(G1, G3)]
    assert list(duplicates.keep_apart(kept, G2, G1)) == [pair_of(G1, G3), pair_of(G1, G2)]


def test_only_so_many_pairs_are_remembered():
    many = [pair_of(Guid(str(number)), G1) for number in range(duplicates.MAX_PAIRS)]
    kept = duplicates.keep_apart(many, G1, G2)
    assert (len(kept), kept[0], kept[-1]) == (duplicates.MAX_PAIRS, many[1], pair_of(G1, G2))
