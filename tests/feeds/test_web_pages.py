"""Which feed a web page names as its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.feeds.web_pages import feed_of_page

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
def test_the_feed_that_a_page_links_to_is_found(link: str, url: str) -> None:
    assert feed_of_page(page('<link rel="icon" href="/x.png">', link), "text/html", PAGE) == url


def test_the_first_one_counts_and_feeds_of_comments_do_not() -> None:
    links = [
        f'<link {RSS} title="Night &raquo; Comments" href="/one">',
        f'<link {RSS} title="Night" href="/comments/feed">',
        f'<link {RSS} title="Night" href="/feed">',
        f'<link {RSS} title="Another" href="/other">',
    ]
    assert feed_of_page(page(*links), "text/html", PAGE) == "https://show.example/feed"


def test_a_page_in_another_encoding_is_read() -> None:
    document = page(f'<link {RSS} href="/fé">').decode().encode("utf-16")
    assert feed_of_page(document, "text/html; charset=utf-16", PAGE) == "https://show.example/fé"


@pytest.mark.parametrize("text", ["<link ", "<link a=", '<link a="', "<link a='b' ", "a=" * 9, "<"])
def test_a_long_page_costs_little_whatever_is_in_it(text: str) -> None:
    assert feed_of_page((text * 200_000).encode(), "text/html", PAGE) == ""


@given(st.binary(max_size=300), st.text(max_size=40))
def test_whatever_a_page_is_it_is_no_error(noise: bytes, place: str) -> None:
    link = f'<link {RSS} href="{place}">'.encode(errors="replace")
    found = feed_of_page(noise + link + noise, "text/html", PAGE)
    assert found == "" or found.startswith(("http://", "https://"))
