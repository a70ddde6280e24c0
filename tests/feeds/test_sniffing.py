"""Whether the beginning of a document can be that of a feed: in doubt it can."""

import random

import pytest

from feedkeep.feeds.web_pages import may_be_feed

RSS = '<?xml version="1.0"?><rss version="2.0"><channel><title>Größe</title>'
BEGINNINGS = {
    "rss": RSS.encode(),
    "atom": b'<feed xmlns="http://www.w3.org/2005/Atom">',
    "rdf": b'<rdf:RDF xmlns="http://purl.org/rss/1.0/">',
    "json feed": b'\n {"version": "https://jsonfeed.org/version/1.1"',
    "web page, which may name feeds": b"<!DOCTYPE html><html>",
    "white space": b" \r\n\t\n" * 1_000 + b"   <rss>",
    "byte order mark": "\ufeff".encode() + RSS.encode(),
    "two byte order marks": "\ufeff\ufeff".encode() + RSS.encode(),
    "UTF-16 with a mark": RSS.encode("utf-16"),
    "UTF-16LE": RSS.encode("utf-16-le"),
    "UTF-16BE": RSS.encode("utf-16-be"),
    "white space in UTF-16BE": f"\n {RSS}".encode("utf-16-be"),
    "UTF-32": RSS.encode("utf-32"),
    "Latin-1": RSS.encode("latin-1"),
    "comment": b"<!-- made by a program -->" + RSS.encode(),
    "doctype": b'<!DOCTYPE rss [<!ENTITY nbsp "&#160;">]>' + RSS.encode(),
    "stylesheet": b'<?xml-stylesheet href="a.xsl"?>' + RSS.encode(),
    "control characters": RSS.encode() + b"\x00\x08",
    "warning of a program": b"Warning: mysql_connect() in a.php\n" + RSS.encode(),
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
