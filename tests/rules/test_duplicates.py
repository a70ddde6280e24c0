"""Feeds that look like the same podcast, as a hint, and those that a person says are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_account import G1, G2, G3

from feedkeep.model import Guid
from feedkeep.rules.duplicates import MAX_PAIRS, keep_apart, likely_name, pair_of
from feedkeep.rules.feed_urls import usual_spellings

ALIKE = [
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
OTHERS = [
    ("https://a.example/feed", "https://a.example/Feed"),
    ("https://a.example/feed?id=1", "https://a.example/feed?id=2"),
    ("https://a.example/feed", "https://a.example:8080/feed"),
    ("https://anna@a.example/feed", "https://ben@a.example/feed"),
    ("https://a.example/%FF", "https://a.example/%FE"),
    ("https://a.example/%253A", "https://a.example/%3A"),
    ("https://a.example/TheShow", "https://a.example/theshow"),
]


@pytest.mark.parametrize("urls", [*ALIKE, *OTHERS])
def test_alike_urls_have_one_name_and_others_have_others(urls):
    one, other = map(likely_name, urls)
    assert (one == other) is (urls in ALIKE)


def test_host_that_has_no_ascii_form_stays_as_it_is():
    long = "\u00fc" * 5_000
    assert likely_name(f"https://{long}.example") == f"{long}.example"
    label = "\u00fc" * 64
    assert likely_name(f"https://{label}.example") == f"{label}.example"


@given(st.text("aAw.:/?&%3f@[]#~\u00fc", max_size=40))
def test_whatever_a_url_is_it_has_a_name(text):
    assert isinstance(likely_name(f"https://{text}"), str)


@given(st.text("abc/?&%3", max_size=20))
def test_what_names_the_same_feed_has_one_name(text):
    spellings = usual_spellings(f"https://a.example/{text}")
    assert len(set(map(likely_name, spellings))) == 1


def test_pair_is_the_same_from_both_sides():
    assert pair_of(G1, G2) == pair_of(G2, G1) != pair_of(G1, G3)


def test_pair_is_remembered_once_and_the_newest_comes_last():
    kept = keep_apart(keep_apart((), G1, G2), G1, G3)
    assert list(kept) == [pair_of(G1, G2), pair_of(G1, G3)]
    assert list(keep_apart(kept, G2, G1)) == [pair_of(G1, G3), pair_of(G1, G2)]


def test_only_so_many_pairs_are_remembered():
    many = [pair_of(Guid(str(number)), G1) for number in range(MAX_PAIRS)]
    kept = keep_apart(many, G1, G2)
    assert (len(kept), kept[0], kept[-1]) == (MAX_PAIRS, many[1], pair_of(G1, G2))
