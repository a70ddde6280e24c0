"""Feed links in web pages, and the detection of documents that can be feeds."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.feeds.web_pages import MAX_PAGE_FEEDS, feeds_of_page, has_enclosures, may_be_feed

PAGE = "https://show.example/shows/night/"
APPLE, TUBE = "https://podcasts.apple.com/de/podcast/night/id1", "https://m.youtube.com/@night"
RSS = 'rel="alternate" type="application/rss+xml"'


def page(*links):
    return f"<!doctype html><html><head><title>x</title>{''.join(links)}</head></html>".encode()


@pytest.mark.parametrize(
    ("link", "url"),
    [
        (f'<link {RSS} href="https://feeds.example/night">', "https://feeds.example/night"),
        (f'<link {RSS} href="/feed.xml" />', "https://show.example/feed.xml"),
        (f"<LINK HREF='feed?a=1&amp;b=2' {RSS}>", f"{PAGE}feed?a=1&b=2"),
        ("<link rel=alternate type=application/atom+xml href=//x.test/a>", "https://x.test/a"),
        ('<link rel="me alternate" type="Application/Feed+JSON" href=" j.js ">', f"{PAGE}j.js"),
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


def test_each_feed_counts_once_and_feeds_of_comments_do_not_and_the_first_ones_are_told():
    links = [
        f'<link {RSS} title="Night &raquo; Comments" href="/one">',
        f'<link {RSS} title="Night" href="/comments/feed">',
        f'<link {RSS} title="Night" href="/feed">',
        f'<link {RSS} title="Another" href="/other">',
    ]
    found = feeds_of_page(page(*links, *links), "text/html", PAGE)
    assert found == ("https://show.example/feed", "https://show.example/other")
    links = [f'<link {RSS} href="/{number}">' for number in range(MAX_PAGE_FEEDS + 1)]
    found = feeds_of_page(page(*links), "text/html", PAGE)
    assert len(found) == MAX_PAGE_FEEDS
    assert found[0] == "https://show.example/0"


@pytest.mark.parametrize(
    ("url", "data", "found"),
    [
        (APPLE, r'"feedUrl":"https:\/\/a.example\/n?a=1\u0026b=2"', "https://a.example/n?a=1&b=2"),
        (
            TUBE,
            '"feedUrl": "https://a.example", "rssUrl": "https://b.example"',
            "https://b.example",
        ),
        (APPLE, r'"feedUrl":"\x","feedUrl":"javascript:1","feedUrl":"http://a.x"', "http://a.x"),
        (APPLE, '"feedUrl":""', ""),
        (PAGE, '"feedUrl":"https://a.example"', ""),
    ],
)
def test_pages_of_directories_tell_the_feed_in_their_data(url, data, found):
    document = page() + f"<script>{{{data}}}</script>".encode()
    assert feeds_of_page(document, "text/html", url) == ((found,) if found else ())


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


FEED = '<?xml version="1.0"?><rss version="2.0"><channel><title>Größe</title>'
BEGINNINGS = {
    "rss": FEED.encode(),
    "atom": b'<feed xmlns="http://www.w3.org/2005/Atom">',
    "rdf": b'<rdf:RDF xmlns="http://purl.org/rss/1.0/">',
    "json feed": b'\n {"version": "https://jsonfeed.org/version/1.1"',
    "web page, which may name feeds": b"<!DOCTYPE html><html>",
    "white space": b" \r\n\t\n" * 1_000 + b"   <rss>",
    "byte order mark": "\ufeff".encode() + FEED.encode(),
    "two byte order marks": "\ufeff\ufeff".encode() + FEED.encode(),
    "UTF-16 with a mark": FEED.encode("utf-16"),
    "UTF-16LE": FEED.encode("utf-16-le"),
    "UTF-16BE": FEED.encode("utf-16-be"),
    "white space in UTF-16BE": f"\n {FEED}".encode("utf-16-be"),
    "UTF-32": FEED.encode("utf-32"),
    "Latin-1": FEED.encode("latin-1"),
    "comment": b"<!-- made by a program -->" + FEED.encode(),
    "doctype": b'<!DOCTYPE rss [<!ENTITY nbsp "&#160;">]>' + FEED.encode(),
    "stylesheet": b'<?xml-stylesheet href="a.xsl"?>' + FEED.encode(),
    "control characters": FEED.encode() + b"\x00\x08",
    "warning of a program": b"Warning: mysql_connect() in a.php\n" + FEED.encode(),
    "ISO-2022-JP after a warning": "警告 <rss>".encode("iso2022_jp"),
}


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
def test_beginning_of_a_feed_may_be_a_feed(beginning):
    assert may_be_feed(beginning, "audio/mpeg")


MAGICS = [b"", b"ID3\x04", b"\xff\xfb\x90", b"\x1f\x8b\x08", b"PK\x03\x04", b"\x7fELF", b"%PDF-1.7"]


@pytest.mark.parametrize("magic", MAGICS)
def test_binary_data_is_no_feed_whatever_its_content_type(magic):
    chance = random.Random(5)
    for _ in range(100):
        assert not may_be_feed(magic + chance.randbytes(4_096), "application/rss+xml")


def test_text_without_any_tag_is_no_feed():
    assert not may_be_feed(b"2026-11-29 All is well.\n" * 200, "application/rss+xml")
