"""Feeds found for a typed address, by the content there and at the feeds it names."""

import pytest

from feedkeep.model import Failure, FeedContent, FetchResult
from feedkeep.rules.feed_names import WHY
from feedkeep.rules.first_looks import FoundFeed, advice, feeds_behind

PAGE = "https://show.example/"
ONE, TWO, THREE = (f"https://show.example/{name}" for name in ("one", "two", "three"))
GONE = FetchResult(failure=Failure.GONE)
AWAY = FetchResult(failure=Failure.NO_CONNECTION)
FEED = FetchResult(FeedContent(title="A\nblog"))
PODCAST = FetchResult(FeedContent(title="A show"), has_enclosures=True)


def page(*urls: str, failure: Failure = Failure.NOT_A_FEED) -> FetchResult:
    return FetchResult(failure=failure, page_feeds=urls)


@pytest.mark.parametrize(
    ("looked", "named", "behind"),
    [
        (page(ONE), {}, [ONE]),
        (page(ONE), {ONE: FEED}, [ONE]),
        (page(ONE), {ONE: AWAY}, [ONE]),
        (page(ONE, failure=Failure.TOO_LARGE), {ONE: FEED}, [ONE]),
        (page(ONE, TWO), {ONE: FEED, TWO: PODCAST}, [TWO]),
        (page(ONE, TWO), {ONE: GONE, TWO: FEED}, [TWO]),
        (page(ONE, TWO), {ONE: FEED, TWO: FEED}, [ONE, TWO]),
        (page(ONE, TWO), {ONE: PODCAST}, [ONE, TWO]),  # the other may be a podcast, too
        (page(ONE, TWO), {}, [ONE, TWO]),
        (page(ONE, TWO, THREE), {ONE: FEED, TWO: PODCAST, THREE: PODCAST}, [TWO, THREE, ONE]),
        (page(ONE, "http://show.example/one/"), {}, [ONE]),
        (page(PAGE, ONE), {}, [ONE]),
        (page(ONE, "https://no_such..host/feed"), {}, [ONE]),
    ],
)
def test_feeds_behind_a_page_podcasts_come_first_and_the_only_one_counts(looked, named, behind):
    found = feeds_behind(PAGE, looked, named)
    assert ([feed.url for feed in found.feeds], found.why) == (behind, None)


def test_feeds_behind_a_page_have_titles_in_one_line():
    found = feeds_behind(PAGE, page(ONE, TWO, THREE), {ONE: FEED, TWO: PODCAST, THREE: PODCAST})
    podcasts = [FoundFeed(url, "A show", True) for url in (TWO, THREE)]
    assert list(found.feeds) == [*podcasts, FoundFeed(ONE, "A blog")]


@pytest.mark.parametrize("failure", Failure)
def test_feeds_behind_are_missing_only_if_that_is_sure(failure):
    found = feeds_behind(PAGE, FetchResult(failure=failure), {})
    if failure is Failure.NOT_A_FEED:
        assert found.advice is not None
        assert "does not link to a feed" in str(found.why)
    elif failure in {Failure.NOT_FOUND, Failure.GONE, Failure.NO_SUCH_HOST}:
        assert (found.feeds, found.why, found.advice) == ((), WHY[failure], None)
    else:
        assert found is None


def test_feeds_behind_are_missing_if_all_that_are_named_are_gone():
    found = feeds_behind(PAGE, page(ONE, TWO), {ONE: GONE, TWO: page()})
    assert not found.feeds
    assert found.why is not None
    assert feeds_behind(PAGE, FEED, {}) is None, "nothing is behind a feed"


APPLE, SPOTIFY = "https://podcasts.apple.com/de/podcast/x/id1", "https://open.spotify.com/show/1"


@pytest.mark.parametrize(
    ("url", "name"),
    [(APPLE, "Apple"), (SPOTIFY, "Spotify"), (SPOTIFY.replace("//", "//www."), "Spotify")],
)
def test_feeds_behind_directories_are_missing_whatever_fails(url, name):
    found = feeds_behind(url, FetchResult(failure=Failure.ERROR_STATUS), {})
    assert name in str(found.advice)
    assert advice(url, None) is None
