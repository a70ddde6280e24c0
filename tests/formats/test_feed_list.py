"""Feed lists as files: which format a file is in, what it lists, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.errors import InvalidInput
from feedkeep.formats import opml
from feedkeep.formats.feed_list import Format, read_feed_list, write_feed_list
from feedkeep.formats.listed_feed import ListedFeed
from feedkeep.model import FeedContent, Guid, Subscription, replace
from feedkeep.rules.feed_names import Card, card_of
from feedkeep.rules.feed_urls import parse_feed_url

NESTED = """<?xml version="1.0" encoding="{encoding}"?>
<opml version="{version}">
  <head><title>Füße</title></head>
  <body>
    <outline text="News">
      <outline text="Ünï" xmlUrl="https://a.example/ünï?x=1&amp;y=2"/>
      <outline text="Deeper"><outline type="rss" text="B" xmlurl="https://b.example"/></outline>
    </outline>
    <outline text="C" XMLURL="https://c.example" podcast:guid="some guid"/>
    <outline text="not a feed" htmlUrl="https://d.example"/>
  </body>
</opml>
"""
FEEDS = [
    ListedFeed(6, "https://a.example/ünï?x=1&y=2", None),
    ListedFeed(7, "https://b.example", None),
    ListedFeed(9, "https://c.example", "some guid"),
]


@pytest.mark.parametrize("version", ["1.0", "1.1", "2.0"])
def test_opml_of_any_version_is_read_from_all_its_folders(version: str) -> None:
    text = NESTED.format(version=version, encoding="UTF-8")
    assert read_feed_list(text.encode()).feeds == FEEDS


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "iso-8859-1",
     "windows-1252", "macintosh", "iso-8859-15"],
)  # fmt: skip
def test_opml_is_read_in_any_encoding_that_it_declares(encoding: str) -> None:
    text = NESTED.format(version="2.0", encoding=encoding)
    assert read_feed_list(text.encode(encoding)).feeds == FEEDS


@pytest.mark.parametrize("encoding", ["shift_jis", "euc-jp", "gb18030", "big5", "koi8-r"])
def test_encodings_that_xml_parsers_seldom_know_are_read_too(encoding: str) -> None:
    name = "Новости" if encoding == "koi8-r" else "日本"
    text = f'<?xml version="1.0" encoding=\'{encoding}\'?>\n<opml><outline xmlUrl="http://{name}"/></opml>'
    assert [feed.feed_url for feed in read_feed_list(text.encode(encoding)).feeds] == [
        f"http://{name}"
    ]


def test_opml_without_a_declaration_is_utf_8() -> None:
    data = '\n <opml><body><outline xmlUrl="https://ü.example"/></body></opml>'.encode()
    assert [feed.feed_url for feed in read_feed_list(data).feeds] == ["https://ü.example"]


def test_ampersands_that_apps_forgot_to_escape_are_read_as_they_are() -> None:
    data = b"""<opml><body><outline text="Q & A &nbsp; &lt;" xmlUrl="https://a.example/?x=1&y=2&copy=3"/>
    <outline text="&#38;&#x26;" xmlUrl="https://b.example/?x=1&amp;y=2"/></body></opml>"""
    assert [feed.feed_url for feed in read_feed_list(data).feeds] == [
        "https://a.example/?x=1&y=2&copy=3",
        "https://b.example/?x=1&y=2",
    ]


BOMB = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    "declarations",
    [
        f'<!ENTITY l0 "lol">{BOMB}',
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;',
        f'<!ATTLIST outline xmlUrl CDATA "https://x/{"a" * 100_000}">',
        "",
    ],
)
def test_hostile_xml_is_refused_before_any_of_it_is_used(declarations: str) -> None:
    outlines = '<outline xmlUrl="&l9;&x;"/><outline/>' * 1_000
    data = f"<!DOCTYPE opml [{declarations}]><opml><body>{outlines}</body></opml>".encode()
    with pytest.raises(InvalidInput, match="declares entities or attributes of its own"):
        read_feed_list(data)


def test_a_document_type_elsewhere_is_not_fetched() -> None:
    data = b'<!DOCTYPE opml SYSTEM "http://127.0.0.1:9/opml.dtd"><opml><outline xmlUrl="x"/></opml>'
    assert len(read_feed_list(data).feeds) == 1


def test_folders_may_be_nested_deep() -> None:
    depth = 50_000
    data = b"<opml>" + b"<outline>" * depth + b'<outline xmlUrl="x"/>' + b"</outline>" * depth
    assert len(read_feed_list(data + b"</opml>").feeds) == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<opml><body>", "The XML is broken at line 1"),
        (b"<opml>\n<outline xmlUrl=x/></opml>", "The XML is broken at line 2"),
        (b"<html><body></body></html>", "its first element is <html>, not <opml>"),
        (b'<?xml version="1.0" encoding="klingon"?><opml/>', 'encoding "klingon"'),
        (b'<?xml version="1.0" encoding="hex"?><opml/>', 'encoding "hex"'),
        (b'<?xml version="1.0" encoding="utf-7"?><opml>+2AA-</opml>', 'encoding "utf-7"'),
        ("<opml>ü</opml>".encode("latin-1"), 'encoding "utf-8"'),
        (b"<", "The XML is broken"),
        (b'<!doctype html><a b xmlUrl="https://a.example">', "The XML is broken"),
    ],
)
def test_broken_opml_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        read_feed_list(data)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_has_one_url_a_line_with_blank_lines_and_comments(encoding: str) -> None:
    text = "# feeds\r\n\r\nhttps://a.example\r\n\t https://ü.example \nnonsense\n"
    assert read_feed_list(text.encode(encoding)).feeds == [
        ListedFeed(3, "https://a.example", None),
        ListedFeed(4, "https://ü.example", None),
        ListedFeed(5, "nonsense", None),
    ]


def test_text_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(InvalidInput, match="The text is not UTF-8"):
        read_feed_list("https://ü.example".encode("latin-1"))


def test_an_empty_file_lists_nothing() -> None:
    assert read_feed_list(b"").feeds == []
    assert read_feed_list(b"\xef\xbb\xbf").feeds == []


def test_json_is_the_body_of_a_post() -> None:
    data = b'\xef\xbb\xbf {"subscriptions": [{"feed_url": "a"}, {"feed_url": "b", "guid": "c"}]}'
    assert read_feed_list(data).feeds == [
        ListedFeed(1, "a", None, is_item=True),
        ListedFeed(2, "b", "c", is_item=True),
    ]


@pytest.mark.parametrize(
    "data", [b"{", b"{}", b'{"subscriptions": [1]}', b'{"x": "\xff"}', b'{"x": ' + b"[" * 100_000]
)
def test_json_of_another_shape_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="The JSON cannot be read"):
        read_feed_list(data)


def subscription(url: str, guid: str | None = None) -> Subscription:
    return Subscription(Guid(guid or parse_feed_url(url).guid), url, True, 1)


@pytest.mark.parametrize("kind", list(Format))
def test_what_is_written_is_read_back(kind: Format) -> None:
    guid = "00000000-0000-4000-8000-000000000001"
    listed = [
        subscription("https://a.example/?x=1&y='2'\"<>"),
        subscription("https://user:pw@ünï.example/"),
        subscription("https://b.example", guid),
    ]
    read = read_feed_list(write_feed_list(listed, kind, {})).feeds
    assert [feed.feed_url for feed in read] == [item.feed_url for item in listed]
    if kind is not Format.URLS:
        assert read[2].guid == guid


def test_opml_keeps_the_guid_only_where_the_url_does_not_give_it() -> None:
    written = write_feed_list([subscription("https://a.example")], Format.OPML, {})
    assert b"podcast:guid" not in written


A = "https://a.example"
CARD = Card('Q & A: "1 < 2"', "What's new?", "https://a.example/?x=1&y=2", "", "Anna")


def test_opml_has_titles_as_podcast_apps_read_them() -> None:
    listed = [subscription(A), subscription("https://b.example")]
    written = write_feed_list(listed, Format.OPML, {A: CARD}).decode()
    assert (
        """<outline type="rss" text='Q &amp; A: "1 &lt; 2"' title='Q &amp; A: "1 &lt; 2"'"""
        """ htmlUrl="https://a.example/?x=1&amp;y=2" description="What's new?" xmlUrl="https"""
    ) in written
    assert '<outline type="rss" text="https://b.example" xmlUrl="https://b.example"/>' in written
    assert [feed.feed_url for feed in read_feed_list(written.encode()).feeds] == [
        A, "https://b.example",
    ]  # fmt: skip


def test_what_a_feed_does_not_say_is_in_no_attribute() -> None:
    cards = {A: replace(CARD, site_url="", description="")}
    written = write_feed_list([subscription(A)], Format.OPML, cards)
    assert b"htmlUrl" not in written
    assert b"description" not in written
    assert b' title="' not in write_feed_list(
        [subscription(A)], Format.OPML, {A: replace(CARD, title="")}
    )


@given(st.text())
def test_whatever_a_feed_calls_itself_the_list_can_be_read_back(text: str) -> None:
    card = card_of(FeedContent(text, text, f"https://a.example/{text}", "", "", text))
    written = write_feed_list([subscription(A)], Format.OPML, {A: card})
    assert [feed.feed_url for feed in opml.read_whole(written)] == [A]


@pytest.mark.parametrize("kind", [Format.JSON, Format.URLS])
def test_other_formats_have_no_titles(kind: Format) -> None:
    assert b"new?" not in write_feed_list([subscription(A)], kind, {A: CARD})


def test_a_url_that_xml_does_not_allow_is_refused() -> None:
    odd = [subscription("https://a.example/\uffff")]
    with pytest.raises(InvalidInput, match="XML does not allow; export as json or urls"):
        write_feed_list(odd, Format.OPML, {})
    assert len(read_feed_list(write_feed_list(odd, Format.JSON, {})).feeds) == 1


def test_from_xml_that_real_apps_break_every_feed_is_read_with_a_warning() -> None:
    data = """<?xml version='1.0' encoding='UTF-8' ?>
<opml version="1.0"><body>
<outline description="By <a href="https://x.example">us</a>." xmlUrl="https://a.example/?x=1&y=2" />
<outline description=""'A' that is." - The &lt;B" xmlUrl='https://b.example/?x=1&amp;&#121;=2'/>
<outline text="C" XMLURL = "https://c.example"/>
</body></opml>"""
    found = read_feed_list(data.encode())
    assert found.feeds == [
        ListedFeed(3, "https://a.example/?x=1&y=2", None),
        ListedFeed(4, "https://b.example/?x=1&y=2", None),
        ListedFeed(5, "https://c.example", None),
    ]
    assert str(found.warning).startswith("The XML is broken at line 3")


def test_a_file_that_was_cut_off_gives_what_it_has_with_a_warning() -> None:
    found = read_feed_list(b'<opml><body><outline xmlUrl="https://a.example"/><outline xmlUrl="htt')
    assert [feed.feed_url for feed in found.feeds] == ["https://a.example"]
    assert "broken" in str(found.warning)


def test_a_file_that_is_read_whole_has_no_warning() -> None:
    found = read_feed_list(NESTED.format(version="2.0", encoding="utf-8").encode())
    assert found.warning is None


def test_a_feed_tells_where_it_stands_in_its_file() -> None:
    lines, items = b"https://a.example", b'{"subscriptions": [{"feed_url": "https://a.example"}]}'
    assert [str(feed.place) for feed in read_feed_list(lines).feeds] == ["line 1"]
    assert [str(feed.place) for feed in read_feed_list(items).feeds] == ["item 1"]
