"""Which feeds a web page names as its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.feeds.web_pages import MAX_PAGE_FEEDS, feeds_of_page, has_enclosures

PAGE = "https://show.example/shows/night/"
RSS = 'rel="alternate" type="application/rss+xml"'


def page(*links: str) -> bytes:
    return f"<!doctype html><html><head><title>x</title>{''.join(links)}</head></html>".encode()


@pytest.mark.parametrize(
    ("link", "url"),
    [
        (f'<link {RSS} href="https://feeds.example/night">', "https://feeds.example/night"),
        (f'<link {RSS} href="/feed.xml" />', "https://show.example/feed.xml"),
        (f"<LINK HREF='feed?a=1&amp;b=2' {RSS}>", f"{PAGE}feed?a=1&b=2"),
        (
            "<link rel=alternate type=application/atom+xml href=//x.example/a>",
            "https://x.example/a",
        ),
        (
            '<link rel="home alternate" type="Application/Feed+JSON" href=" j.json ">',
            f"{PAGE}j.json",
        ),
        ('<link rel="stylesheet" type="application/rss+xml" href="/a">', ""),
        ('<link rel="alternate" type="text/html" hreflang="de" href="/de">', ""),
        (f"<link {RSS}>", ""),
        (f'<link {RSS} href="javascript:alert(1)">', ""),
        (f'<link {RSS} href="ftp://feeds.example/night">', ""),
        (f'<link {RSS} href="https://[broken">', ""),
        (f'<a {RSS} href="/feed.xml">', ""),
        ("", ""),
    ],
)
def test_the_feed_that_a_page_links_to_is_found(link, url):
    found = feeds_of_page(page('<link rel="icon" href="/x.png">', link), "text/html", PAGE)
    assert found == ((url,) if url else ())


def test_each_feed_counts_once_and_feeds_of_comments_do_not():
    links = [
        f'<link {RSS} title="Night &raquo; Comments" href="/one">',
        f'<link {RSS} title="Night" href="/comments/feed">',
        f'<link {RSS} title="Night" href="/feed">',
        f'<link {RSS} title="Another" href="/other">',
    ]
    found = feeds_of_page(page(*links, *links), "text/html", PAGE)
    assert found == ("https://show.example/feed", "https://show.example/other")


def test_of_a_page_with_many_feeds_the_first_ones_are_told():
    links = [f'<link {RSS} href="/{number}">' for number in range(MAX_PAGE_FEEDS + 1)]
    found = feeds_of_page(page(*links), "text/html", PAGE)
    assert len(found) == MAX_PAGE_FEEDS
    assert found[0] == "https://show.example/0"


@pytest.mark.parametrize(
    ("url", "data", "found"),
    [
        (
            "https://podcasts.apple.com/de/podcast/night/id1",
            r'"feedUrl":"https:\/\/feeds.example\/night?a=1\u0026b=2"',
            ("https://feeds.example/night?a=1&b=2",),
        ),
        (
            "https://m.youtube.com/@night",
            '"feedUrl": "https://feeds.example/not-this", "rssUrl": "https://feeds.example/tube"',
            ("https://feeds.example/tube",),
        ),
        (
            "https://podcasts.apple.com/",
            r'"feedUrl":"\x","feedUrl":"javascript:alert(1)","feedUrl":"http://feeds.example/2"',
            ("http://feeds.example/2",),
        ),
        ("https://podcasts.apple.com/", '"feedUrl":""', ()),
        ("https://show.example/", '"feedUrl":"https://feeds.example/night"', ()),
    ],
)
def test_pages_of_directories_tell_the_feed_in_their_data(url, data, found):
    document = page() + f"<script>{{{data}}}</script>".encode()
    assert feeds_of_page(document, "text/html", url) == found


def test_a_page_in_another_encoding_is_read():
    document = page(f'<link {RSS} href="/fé">').decode().encode("utf-16")
    found = feeds_of_page(document, "text/html; charset=utf-16", PAGE)
    assert found == ("https://show.example/fé",)


@pytest.mark.parametrize("text", ["<link ", "<link a=", '<link a="', "<link a='b' ", "a=" * 9, "<"])
def test_a_long_page_costs_little_whatever_is_in_it(text):
    assert feeds_of_page((text * 200_000).encode(), "text/html", PAGE) == ()


@given(st.binary(max_size=300), st.text(max_size=40))
def test_whatever_a_page_is_it_is_no_error(noise, place):
    link = f'<link {RSS} href="{place}">'.encode(errors="replace")
    found = feeds_of_page(noise + link + noise, "text/html", PAGE)
    assert all(url.startswith(("http://", "https://")) for url in found)


@pytest.mark.parametrize(
    ("feed", "has"),
    [
        (b"<rss><item><enclosure url='/1.mp3'/></item></rss>", True),
        (b"<rss><item><x:Enclosure\nurl='/1.mp3'/></item></rss>", True),
        (b'<feed><entry><link href="/1.mp3" rel="enclosure"/></entry></feed>', True),
        (b'{"items": [{"attachments": [{"url": "/1.mp3"}]}]}', True),
        (b'<feed><entry><link href="/1.html" rel="alternate"/></entry></feed>', False),
        (b'{"items": [{"content_text": "no attachments"}]}', False),
        (b"<rss><item><title>An enclosure for goats</title></item></rss>", False),
    ],
)
def test_feeds_have_enclosures_in_each_format(feed, has):
    assert has_enclosures(feed) is has
