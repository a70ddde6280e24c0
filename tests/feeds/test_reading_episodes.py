"""The newest episodes of a feed are read from every format, whatever the order of its items."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from corpus_of_feeds import URL
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.feeds.found import MAX_ITEMS
from feedkeep.feeds.reading import limit_of, newest_episodes, read_with_episodes
from feedkeep.model import Episode, FeedContent
from feedkeep.rules.episodes import digest_of_file, digest_of_guid

SECOND = 1_000_000
NOW = 1_795_370_000 * SECOND
DATE = "Sun, 22 Nov 2026 10:00:00 GMT"
PUBLISHED = 1_795_341_600 * SECOND
FILE = "https://show.example/1.mp3?token=secret"
HASHES = (digest_of_guid("g1"), digest_of_file(FILE))
FULL = Episode("The first one", PUBLISHED, 3_723, "https://show.example/1", *HASHES)
NAMESPACES = (
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
    ' xmlns:media="http://search.yahoo.com/mrss/" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)


def rss(*items):
    inside = "".join(f"<item>{item}</item>" for item in items)
    return f"<rss {NAMESPACES}><channel><title>Show</title>{inside}</channel></rss>".encode()


def read(document, limit=10):
    return tuple(read_with_episodes(document, "", URL, NOW, limit)[1])


def one(item):
    (episode,) = read(rss(item))
    return episode


DOCUMENTS = {
    "rss": rss(
        "<title>The first &lt;b&gt;one&lt;/b&gt;</title><itunes:title>First</itunes:title>"
        f"<link>https://show.example/1</link><guid>g1</guid><pubDate>{DATE}</pubDate>"
        f'<enclosure url="{FILE}" type="audio/mpeg"/><itunes:duration>1:02:03</itunes:duration>'
    ),
    "atom": (
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>Show</title>"
        "<entry xml:base='https://show.example/'>"
        "<title>The first one</title><id>g1</id><published>2026-11-22T10:00:00Z</published>"
        "<link rel='alternate' href='1'/><link rel='self' href='https://show.example/1.atom'/>"
        f"<link rel='enclosure' type='audio/mpeg' href='{FILE}' duration='3723'/></entry></feed>"
    ).encode(),
    "rss-1.0": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        f' xmlns="http://purl.org/rss/1.0/" {NAMESPACES}><channel><title>Show</title></channel>'
        '<item rdf:about="g1"><title>The first one</title><link>https://show.example/1</link>'
        f"<dc:date>2026-11-22T10:00:00Z</dc:date><media:group><media:content medium='audio'"
        f" url='{FILE}' duration='3723'/></media:group></item></rdf:RDF>"
    ).encode(),
    "json": (
        '{"version": "https://jsonfeed.org/version/1.1", "title": "Show", "items": [{"id": "g1",'
        '"title": "The first one", "url": "https://show.example/1",'
        '"date_published": "2026-11-22T10:00:00Z", "attachments":'
        f'[{{"url": "{FILE}", "mime_type": "audio/mpeg", "duration_in_seconds": 3723}}]}}]}}'
    ).encode(),
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_an_episode_is_read_from_each_format_and_is_the_newest_of_its_feed(document):
    content, episodes = read_with_episodes(document, "", URL, NOW, 10)
    assert list(episodes) == [FULL]
    assert (content.newest, content.newest_title) == (PUBLISHED, "The first one")
    content, episodes = read_with_episodes(document, "", URL, NOW, 0)
    assert list(episodes) == []
    assert (content.newest, content.newest_title) == (PUBLISHED, "")


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [
        *((one, 3_600) for one in ("3600", "60:00", "1:00:00", "00:59:60", "3600.5", "1:00:00,25")),
        ("90:00:00", 324_000),
        *(
            (none, None)
            for none in ("0", "00:00:00", "-5", "an hour", "1:2:3:4", "٣٦٠٠", "9999999")
        ),
        ("9" * 5_000, None),
        ("", None),
    ],
)
def test_a_length_is_read_in_each_shape(duration, seconds):
    item = f"<title>x</title><itunes:duration> {duration} </itunes:duration>"
    assert one(item).duration_seconds == seconds


@pytest.mark.parametrize(
    ("files", "file"),
    [
        ('<enclosure url="a"/>', "a"),
        ('<enclosure url=" a "/><enclosure url="b"/>', "a"),
        ('<enclosure url="a" type="image/png"/><enclosure url="b" type="Audio/MPEG"/>', "b"),
        ('<media:content url="a" medium="image"/><media:content url="b" type="video/mp4"/>', "b"),
        ('<media:content url="a" type="image/png"/>', None),
        ("<enclosure/>", None),
    ],
)
def test_the_file_of_an_episode_is_the_first_one_that_can_be_played(files, file):
    expected = digest_of_file(f"https://feeds.example/shows/{file}") if file else ""
    assert one(f"<title>x</title>{files}").file_hash == expected


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("/1", "https://feeds.example/1"),
        ("javascript:alert(1)", ""),
        ("https://show.example/1.mp3", ""),  # its query is a secret
        (FILE, ""),
        (FILE.replace("https", "http"), ""),
        ("https://show.example/" + "x" * 600, ""),
        ("", ""),
    ],
)
def test_an_episode_links_to_its_page_and_never_to_its_file(link, shown):
    item = f'<title>x</title><link>{link}</link><enclosure url="{FILE}"/>'
    found = one(item)
    assert found.link == shown
    assert "secret" not in repr(found)


def test_titles_are_one_line_of_bounded_length_and_items_without_one_are_left_out():
    long = "<title>" + "word\n" * 5_000 + "</title>"
    untitled = f"<guid>u</guid><pubDate>{DATE}</pubDate>"
    found = read(rss(untitled, long, "<media:title>b</media:title>", "<title>&lt;p></title>"))
    assert [len(episode.title) for episode in found] == [200, 1]
    assert found[0].title.startswith("word word")
    content, _ = read_with_episodes(rss(untitled, long), "", URL, NOW, 10)
    assert (content.newest, content.newest_title) == (PUBLISHED, "")
    content, _ = read_with_episodes(rss("<title>a</title>"), "", URL, NOW, 10)
    assert (content.newest, content.newest_title) == (None, "a")


def dated(moment, title):
    day = format_datetime(datetime.fromtimestamp(moment, UTC))
    return f"<title>{title}</title><pubDate>{day}</pubDate>"


@given(
    st.lists(st.integers(0, NOW // SECOND + 9), max_size=2 * MAX_ITEMS),
    st.integers(1, MAX_ITEMS),
)
def test_the_newest_episodes_are_chosen_by_date_whatever_their_order(moments, limit):
    found = read(rss(*(dated(moment, n) for n, moment in enumerate(moments))), limit)
    past = sorted((m for m in moments if m * SECOND <= NOW), reverse=True)
    assert [episode.published for episode in found] == [m * SECOND for m in past[:limit]]


def test_of_many_items_the_ends_are_read_and_undated_ones_keep_their_order():
    oldest_first = [dated(n * 86_400, n) for n in range(500)]
    assert [int(e.title) for e in read(rss(*oldest_first), 3)] == [499, 498, 497]
    assert [int(e.title) for e in read(rss(*reversed(oldest_first)), 3)] == [499, 498, 497]
    undated = [f"<title>{n}</title>" for n in range(500)]
    assert [int(e.title) for e in read(rss(*undated), 3)] == [0, 1, 2]
    # Those without a date come last; those with one date as in the document.
    mixed = [undated[7], dated(5, 1), dated(5, 2), dated(9, 3)]
    assert [int(e.title) for e in read(rss(*mixed))] == [3, 2, 1, 7]
    assert len(read(rss(*undated), MAX_ITEMS)) == MAX_ITEMS


def test_dates_before_1970_and_of_the_future_are_of_no_episode():
    old, future = (
        f"<title>{d}</title><pubDate>{d}</pubDate>" for d in ("0001-01-01", "9998-01-01")
    )
    assert read(rss(old, future)) == (Episode("0001-01-01"),)
    content, _ = read_with_episodes(rss(old, future), "", URL, NOW, 1)
    assert content == FeedContent(title="Show", newest_title="0001-01-01")


def test_a_digest_tells_the_limit_and_other_episodes_apart():
    digests = [newest_episodes(some, limit).validator for some, limit in (
        ([FULL], 10), ([], 10), ([FULL, FULL], 10), ([FULL], 11)
    )]  # fmt: skip
    assert len(set(digests)) == 4
    assert list(map(limit_of, digests)) == [10, 10, 10, 11]
    assert newest_episodes([FULL], 10).validator == digests[0]
    assert newest_episodes([], 0).validator == ""
    assert limit_of("") == limit_of("of another version") == 0
