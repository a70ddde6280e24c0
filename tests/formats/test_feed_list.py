"""Feed lists as files: which format a file is in, what it lists, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.formats import feed_list, opml
from feedkeep.formats.feed_list import (
    MAX_ITEMS,
    MAX_LINES,
    Format,
    decoded_exactly,
    read_feed_list,
    write_feed_list,
)
from feedkeep.formats.listed_feed import ListedFeed
from feedkeep.model import FeedContent, FeedLabel, Guid, Subscription, replace
from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules.feed_labels import Labels
from feedkeep.rules.feed_names import Card, card_of
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Refused

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
    ListedFeed(6, "https://a.example/ünï?x=1&y=2", None, title="Ünï", folder="News"),
    ListedFeed(7, "https://b.example", None, title="B", folder="News / Deeper"),
    ListedFeed(9, "https://c.example", "some guid", title="C"),
    ListedFeed(10, "", None, title="not a feed"),
]


@pytest.mark.parametrize("version", ["1.0", "1.1", "2.0"])
def test_opml_of_any_version_is_read_from_all_its_folders(version):
    text = NESTED.format(version=version, encoding="UTF-8")
    assert read_feed_list(text.encode()).feeds == FEEDS


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "iso-8859-1",
     "windows-1252", "macintosh", "iso-8859-15"],
)  # fmt: skip
def test_opml_is_read_in_any_encoding_that_it_declares(encoding):
    text = NESTED.format(version="2.0", encoding=encoding)
    assert read_feed_list(text.encode(encoding)).feeds == FEEDS


MIXED = """<opml><body><outline text="Füße" xmlUrl="https://a.example"/>
<outline xmlUrl="https://b.example"/></body></opml>"""


@pytest.mark.parametrize(
    "data",
    [
        MIXED.encode("latin-1"),
        f'<?xml version="1.0" encoding="UTF-8"?>{MIXED}'.encode("cp1252"),
        f'<?xml version="1.0" encoding="klingon"?>{MIXED}'.encode(),
        f'<?xml version="1.0" encoding="utf8mb4"?>{MIXED}'.encode(),
        f"\ufeff\ufeff\n{MIXED}".encode(),
        "\ufeff\ufeffhttps://a.example\nhttps://b.example".encode(),
        b"<outline xmlUrl='https://a.example'/><opml><outline url='https://b.example'/></opml>",
        f"{MIXED}<!-- ü".encode()[:-1],
        "# Füße\nhttps://a.example\nhttps://b.example".encode("latin-1"),
        '["https://a.example", {"url": "https://b.example", "title": "Füße"}]'.encode("latin-1"),
    ],
)
def test_a_wrong_byte_an_unknown_encoding_or_a_second_root_costs_no_feed(data):
    assert [feed.feed_url for feed in read_feed_list(data).feeds] == [
        "https://a.example",
        "https://b.example",
    ]


@pytest.mark.parametrize("encoding", ["shift_jis", "euc-jp", "gb18030", "big5", "koi8-r"])
def test_encodings_that_xml_parsers_seldom_know_are_read_too(encoding):
    name = "Новости" if encoding == "koi8-r" else "日本"
    text = f'<?xml version="1.0" encoding=\'{encoding}\'?>\n<opml><outline xmlUrl="http://{name}"/></opml>'
    assert [feed.feed_url for feed in read_feed_list(text.encode(encoding)).feeds] == [
        f"http://{name}"
    ]


def test_opml_without_a_declaration_is_utf_8():
    data = '\n <opml><body><outline xmlUrl="https://ü.example"/></body></opml>'.encode()
    assert [feed.feed_url for feed in read_feed_list(data).feeds] == ["https://ü.example"]


def test_ampersands_that_apps_forgot_to_escape_are_read_as_they_are():
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
def test_hostile_xml_is_refused_before_any_of_it_is_used(declarations):
    outlines = '<outline xmlUrl="&l9;&x;"/><outline/>' * 1_000
    data = f"<!DOCTYPE opml [{declarations}]><opml><body>{outlines}</body></opml>".encode()
    with pytest.raises(InvalidInput, match="declares entities or attributes of its own"):
        read_feed_list(data)


def test_the_title_of_a_feed_is_its_title_or_else_its_text_but_not_its_address():
    data = b"""<opml><outline title="Folder"><outline text=" "><outline title="A" text="About A"
    xmlUrl="https://a.example"/></outline><outline title="" text="&lt;B&gt;&#10; b"
    xmlUrl="https://b.example"><outline text="no folder, but an episode"/></outline></outline>
    <outline text="https://c.example" xmlUrl="https://c.example"/>
    <outline text="ALONG" title="D" xmlUrl="https://d.example"/></opml>""".replace(
        b"ALONG", b"x" * 100_000
    )
    assert [(feed.title, feed.folder) for feed in read_feed_list(data).feeds] == [
        ("A", "Folder"), ("<B> b", "Folder"), ("", ""), ("D", ""),
    ]  # fmt: skip


def test_what_apps_leave_bare_in_a_title_costs_no_title_and_no_folder():
    data = """<opml version="2.0"><body><outline text="News">
    <outline text="One < Two, <3 & \x0bup" xmlUrl="https://a.example/feed"/>
    </outline></body></opml>"""
    found = read_feed_list(data.encode())
    url, title = "https://a.example/feed", "One < Two, <3 & up"
    assert found.feeds == [ListedFeed(2, url, None, title=title, folder="News")]
    assert found.notes == []


def test_folders_are_written_around_their_feeds_and_read_back():
    urls = [f"https://{letter}.example" for letter in "abcde"]
    folders = ["News / Daily", "", "News", "TV/Radio & <more>", "News / Daily"]
    labels = Labels(
        {
            url: FeedLabel(parse_feed_url(url).guid, f"Title of {url}", folder)
            for url, folder in zip(urls, folders, strict=True)
        }
    )
    listed = [subscription(url) for url in urls]
    written = write_feed_list(listed, Format.OPML, {}, labels)
    assert {feed.feed_url: (feed.title, feed.folder) for feed in read_feed_list(written).feeds} == {
        url: (labels.title(url), folder) for url, folder in zip(urls, folders, strict=True)
    }
    assert written.count(b'<outline text="News"') == 1


def test_a_document_type_elsewhere_is_not_fetched():
    data = b'<!DOCTYPE opml SYSTEM "http://127.0.0.1:9/opml.dtd"><opml><outline xmlUrl="x"/></opml>'
    assert len(read_feed_list(data).feeds) == 1


def test_folders_may_be_nested_deep():
    depth = 50_000
    data = b"<opml>" + b"<outline>" * depth + b'<outline xmlUrl="x"/>' + b"</outline>" * depth
    assert len(read_feed_list(data + b"</opml>").feeds) == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<opml><body>", "The XML is broken at line 1"),
        (b"<html><body></body></html>", "not a list of feeds"),
        (b"<html><head><title>x</title></head></html>", "not a list of feeds"),
        (b"\n\n<opml><outline></opml>", "The XML is broken at line 3"),
        (b"<opml><!-- <outline xmlUrl='https://a.example'/> --><body>", "The XML is broken"),
        (b"<meta content='0; url=https://a.example' type='rss'><br>", "not a list of feeds"),
        (b"<", "not a list of feeds"),
        (b'<!doctype html><a b href="https://a.example">', "not a list of feeds"),
    ],
)
def test_broken_opml_is_refused_with_a_reason(data, reason):
    with pytest.raises(InvalidInput, match=reason):
        read_feed_list(data)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_has_one_url_a_line_with_blank_lines_and_comments(encoding):
    text = "# feeds\r\n\r\nhttps://a.example\r\n\t https://ü.example \nnonsense\n"
    assert read_feed_list(text.encode(encoding)).feeds == [
        ListedFeed(3, "https://a.example", None),
        ListedFeed(4, "https://ü.example", None),
        ListedFeed(5, "", None, title="nonsense"),
    ]


def test_a_whole_list_of_an_app_is_read_exactly_or_not_at_all():
    assert decoded_exactly("https://ü.example".encode("utf-16")) == "https://ü.example"
    with pytest.raises(InvalidInput, match="The text is not UTF-8"):
        decoded_exactly("https://ü.example".encode("latin-1"))


@pytest.mark.parametrize("first", ["<https://a.example>", "<a.example/feed>", "<feed:a.example>"])
def test_a_text_that_begins_with_a_bracket_is_no_xml(first):
    listed = read_feed_list(f"{first}\nhttps://b.example\n".encode()).feeds
    assert [feed.feed_url for feed in listed] == [
        "https://a.example/feed" if "/feed" in first else "https://a.example",
        "https://b.example",
    ]


@pytest.mark.parametrize(
    "written",
    [
        "{}\n{}\n",
        '["{}", "{}"]',
        '[{{"url": "{}"}}, {{"feed": "{}"}}]',
        '{{"subscriptions": [{{"feed_url": "{}"}}, "{}"]}}',
        "<opml><outline xmlUrl='{}'/><outline type='rss' URL=' {}&#10;'/></opml>",
        "<opml><outline xmlUrl={} /><outline xmlUrl='{}'/>",
    ],
)
def test_addresses_in_files_are_taken_as_people_mean_them(written):
    links = written.format("feed:https://a.example", "ITPC://b.example")
    assert [feed.feed_url for feed in read_feed_list(links.encode()).feeds] == [
        "https://a.example",
        "https://b.example",
    ]
    found = read_feed_list(written.format("a.example/x", "//b.example").encode())
    assert [feed.feed_url for feed in found.feeds] == ["https://a.example/x", "https://b.example"]
    assert str(found.notes[-1]) == (
        "Addresses completed with “https://”: 2, such as https://a.example/x, https://b.example."
    )


# C3.2
def test_white_space_around_an_address_is_not_taken_for_a_missing_protocol():
    found = read_feed_list('["\ufeffmailto:a@b.example\u3000"]'.encode())
    assert ([feed.feed_url for feed in found.feeds], found.notes) == (["mailto:a@b.example"], ())


@pytest.mark.parametrize("data", [b"PK\x03\x04\0\0", b"\x89PNG\r\n\0", b"\xff\xfb\x90\0 https://x"])
def test_a_file_of_another_kind_is_no_list(data):
    with pytest.raises(InvalidInput, match="not a list of feeds"):
        read_feed_list(data)


@pytest.mark.parametrize(
    "unit",
    ["feed:x ", "a.example/x\n", "https://a.example title\n", "x.yz\u2028", "<x.yz>\n", "null,",
     '"a",', '{"url": "a"},', "<outline xmlUrl='a'/>", "<outline type='rss'/>",
     "<outline xmlUrl=a>"],
)  # fmt: skip
def test_a_list_in_any_format_has_no_more_feeds_than_are_taken(unit):
    def listed(count):
        if unit.endswith(","):
            return f"[{(unit * count)[:-1]}]".encode()
        return ("<opml>" * unit.startswith("<outline") + unit * count).encode()

    assert len(read_feed_list(listed(20), 20).feeds) == 20
    with pytest.raises(InvalidInput, match="At most 20 feeds fit in one list; split it"):
        read_feed_list(listed(21), 20)


@pytest.mark.parametrize("unit", ["feed:x ", "a.example/x\n", '"a",', "<outline xmlUrl='a'/>"])
def test_nothing_is_made_of_the_feeds_of_a_list_that_has_too_many(unit, monkeypatch):
    made: list[object] = []
    for module in (feed_list, opml):
        monkeypatch.setattr(module, "ListedFeed", lambda *_, **__: made.append(0) or FEEDS[0])
    text = unit * 300_000
    with pytest.raises(InvalidInput, match="At most 20 feeds"):
        read_feed_list(f"[{text[:-1]}]".encode() if unit.endswith(",") else text.encode(), 20)
    assert len(made) <= 22  # what is not well-formed is read as far as it is, and then salvaged


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\v", "\u2028"])
def test_lines_that_name_nothing_are_bounded_too(end):
    assert read_feed_list(f"{end * (MAX_LINES - 1)}https://a.example".encode()).feeds != []
    with pytest.raises(InvalidInput, match="more than 400,000 lines"):
        read_feed_list(f"{end * (MAX_LINES + 1)}https://a.example".encode())


def test_text_with_too_many_lines_is_refused_before_it_is_read_as_a_table(monkeypatch):
    monkeypatch.setattr(feed_list.feed_table, "read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(InvalidInput, match="more than 400,000 lines"):
        read_feed_list(b"\n" * (MAX_LINES + 1))


def test_json_in_a_file_has_the_bounds_of_json_in_requests():
    for data, why in (
        (b"[" * 65 + b"]" * 65, "deeper than 64"),
        (b"[null" + b",0" * 400_000, "parts"),
    ):
        with pytest.raises(InvalidInput, match=why):
            read_feed_list(data)


@pytest.mark.parametrize(
    "heading",
    [
        "Channel Id,Channel Url,Channel Title",
        "Kanal-ID,Kanal-URL,Kanaltitel",
        "ID;URL;Nombre del canal, título",
        '"id"\t"Feed"\t"Name"',
    ],
)
def test_the_table_of_a_takeout_or_a_spreadsheet_has_a_feed_in_each_row(heading):
    comma = max(",;\t", key=heading.count)
    page = "http://www.youtube.com/channel/UCBJycsmduvYEL83R_U4JriQ"
    rows = [heading, f'1{comma}{page}{comma}"One, or; so"', "", f"2{comma}{comma}Two"]
    found = read_feed_list("\r\n".join(rows).encode("utf-8-sig"))
    feed = "https://www.youtube.com/feeds/videos.xml?channel_id=UCBJycsmduvYEL83R_U4JriQ"
    assert found.feeds == [
        ListedFeed(2, feed, None, title="One, or; so"),
        ListedFeed(4, "", None, title="Two"),
    ]
    assert found.notes == ()


@pytest.mark.parametrize(
    "heading", ["My feeds, with url", "# Newsboat urls, 2026", "url, feed", "name,url"]
)
def test_a_text_whose_first_line_only_looks_like_a_heading_is_no_table(heading):
    found = read_feed_list(f"{heading}\nhttps://a.example/1 tech\nhttps://b.example/2\n".encode())
    listed = [feed.feed_url for feed in found.feeds if "://" in feed.feed_url]
    assert listed == ["https://a.example/1", "https://b.example/2"]


def test_a_title_in_a_table_may_have_any_line_separator():
    found = read_feed_list("Title,Feed URL\nA\u2028b,https://a.example/1\n".encode())
    assert found.feeds == [ListedFeed(2, "https://a.example/1", None, title="A b")]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_guid_that_several_feeds_of_a_file_have_is_that_of_none(is_first):
    derived = parse_feed_url("https://a.example/1").guid
    lines = ["https://a.example/1", "https://b.example/2"]
    for guid in (derived, "00000000-0000-4000-8000-000000000001"):
        items = [f'{{"feed_url": "{url}", "guid": "{guid}"}}' for url in lines]
        found = read_feed_list(f"[{', '.join(items if is_first else items[::-1])}]".encode())
        assert [feed.guid for feed in found.feeds] == [None, None]
    alone = f'[{{"feed_url": "https://b.example/2", "guid": "{derived}"}}, "https://a.example/1"]'
    assert [feed.guid for feed in read_feed_list(alone.encode()).feeds] == [None, None]
    moved = f'[{{"feed_url": "https://b.example/2", "guid": "{derived}"}}]'
    assert [feed.guid for feed in read_feed_list(moved.encode()).feeds] == [derived]


def test_of_several_addresses_in_a_row_of_a_table_that_of_the_feed_counts():
    table = b"title,site url,feed url\nOne,https://one.example,https://a.example/1\n"
    assert read_feed_list(table).feeds == [ListedFeed(2, "https://a.example/1", None, title="One")]


def test_a_table_has_bounds_too():
    with pytest.raises(InvalidInput, match="not a list of feeds"):
        read_feed_list(b'url,title\nhttps://a.example,"' + b"x\n" * 70_000)
    with pytest.raises(InvalidInput, match="At most 2 feeds"):
        read_feed_list(b"url,title\n" + b"https://a.example,A\n" * 3, 2)
    long_line = b"url,title\nhttps://a.example/1\n" + b"," * 100_001
    assert len(read_feed_list(long_line).feeds) == 2, "it is read as lines of text"


def test_an_empty_file_lists_nothing():
    assert read_feed_list(b"").feeds == []
    assert read_feed_list(b"\xef\xbb\xbf").feeds == []


def test_json_is_the_body_of_a_post():
    data = b'\xef\xbb\xbf {"subscriptions": [{"feed_url": "a"}, {"feed_url": "b", "guid": "c"}]}'
    assert read_feed_list(data).feeds == [
        ListedFeed(1, "a", None, is_item=True),
        ListedFeed(2, "b", "c", is_item=True),
    ]


def test_newpipes_export_lists_channels_by_their_feeds():
    data = (
        b'{"app_version": "0.27.2", "subscriptions": [{"service_id": 0, "name": "One",'
        b' "url": "https://www.youtube.com/channel/UCBJycsmduvYEL83R_U4JriQ"}]}'
    )
    feed = "https://www.youtube.com/feeds/videos.xml?channel_id=UCBJycsmduvYEL83R_U4JriQ"
    assert read_feed_list(data).feeds == [ListedFeed(1, feed, None, is_item=True, title="One")]


def test_titles_of_json_are_the_owners():
    """Our own list for gpodder.net's API has them."""
    data = b'[{"url": "https://a.example", "title": "The A"}, {"url": "https://b.example"}]'
    assert [feed.title for feed in read_feed_list(data).feeds] == ["The A", ""]


def test_an_item_of_json_that_names_no_feed_costs_no_other():
    data = (
        b'[ null, "https://a.example", {"title": "x"}, [], {"url": "https://b.example", "guid": 7}]'
    )
    assert [feed.feed_url for feed in read_feed_list(data).feeds] == [
        "", "https://a.example", "", "", "https://b.example",
    ]  # fmt: skip
    refused = read_feed_list(data).feeds[0].wanted()
    assert refused == Refused("", Sentence("No feed address was found here."))


@pytest.mark.parametrize("data", [b"{", b'{"x": "\xff', b'{"x": ' + b"[" * 100_000, b'["a",'])
def test_json_that_is_broken_is_refused(data):
    with pytest.raises(InvalidInput, match=r"The JSON (cannot be read|is nested)"):
        read_feed_list(data)


@pytest.mark.parametrize("data", [b"{}", b'{"subscriptions": 1}', b'{"x": "\xff"}'])
def test_json_of_another_shape_is_refused(data):
    with pytest.raises(InvalidInput, match="The JSON has no list of feeds"):
        read_feed_list(data)


def subscription(url: str, guid: str | None = None) -> Subscription:
    return Subscription(Guid(guid or parse_feed_url(url).guid), url, True, 1)


@pytest.mark.parametrize("kind", list(Format))
def test_what_is_written_is_read_back(kind):
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


# With a capital letter after a separator, or another address, it may be a table or several URLs.
ENDS = st.text("abc01,;|&=?/%#'\"<>()[]{}:@!~*+-_.", max_size=12)
LISTED = ENDS.map("https://a.example/{}".format)


@given(
    st.lists(LISTED, min_size=1).filter(
        lambda urls: not all(url.endswith((",", ";")) for url in urls[:-1] or urls)
    )
)
def test_urls_that_are_written_are_read_back_as_they_were(urls):
    written = write_feed_list([subscription(url) for url in urls], Format.URLS, {})
    assert [feed.feed_url for feed in read_feed_list(written).feeds] == urls


@pytest.mark.parametrize(
    "urls",
    [
        ["https://wiki.example/api.php?action=feed|x", "https://b.example/?cat=1|2"],
        ["https://h1.example/b;", "https://h2.example/b", "https://h3.example/b"],
        ["https://h1.example/b", "https://h2.example/b,"],
    ],
)
def test_urls_with_separators_that_are_written_are_read_back_as_they_were(urls):
    text = "".join(f"{url}\n" for url in urls)
    assert [feed.feed_url for feed in read_feed_list(text.encode()).feeds] == urls


@pytest.mark.parametrize("text", ["{},\n{};\n", "{},\n{}\n", "{},\n{}, Title", "{},\n- {};\n"])
def test_separators_at_the_ends_of_lines_are_not_of_urls(text):
    urls = ["https://a.example/b", "https://b.example/c"]
    assert [feed.feed_url for feed in read_feed_list(text.format(*urls).encode()).feeds] == urls


def test_opml_keeps_the_guid_only_where_the_url_does_not_give_it():
    written = write_feed_list([subscription("https://a.example")], Format.OPML, {})
    assert b"podcast:guid" not in written


A = "https://a.example"
CARD = Card('Q & A: "1 < 2"', "What's new?", "https://a.example/?x=1&y=2", "", "Anna")


def test_opml_has_titles_as_podcast_apps_read_them():
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


def test_what_a_feed_does_not_say_is_in_no_attribute():
    cards = {A: replace(CARD, site_url="", description="")}
    written = write_feed_list([subscription(A)], Format.OPML, cards)
    assert b"htmlUrl" not in written
    assert b"description" not in written
    assert b' title="' not in write_feed_list(
        [subscription(A)], Format.OPML, {A: replace(CARD, title="")}
    )


@given(st.text())
def test_whatever_a_feed_calls_itself_the_list_can_be_read_back(text):
    card = card_of(FeedContent(text, text, f"https://a.example/{text}", "", "", text))
    written = write_feed_list([subscription(A)], Format.OPML, {A: card})
    assert [feed.feed_url for feed in opml.read_whole(written.decode(), MAX_ITEMS)] == [A]


def test_json_has_titles_and_folders_and_text_has_only_urls():
    labels = Labels({A: FeedLabel(parse_feed_url(A).guid, "Titled", "News / Daily")})
    listed = [subscription(A), subscription("https://b.example")]
    cards = {"https://b.example": CARD}
    written = write_feed_list(listed, Format.JSON, cards, labels)
    assert [(feed.title, feed.folder) for feed in read_feed_list(written).feeds] == [
        ("Titled", "News / Daily"), (CARD.title, ""),
    ]  # fmt: skip
    assert b"What" not in written
    assert (
        write_feed_list(listed, Format.URLS, cards, labels) == f"{A}\nhttps://b.example\n".encode()
    )


def test_opml_percent_encodes_characters_of_urls_that_xml_does_not_allow():
    odd = subscription("https://a.example/\uffff")
    written = write_feed_list([odd], Format.OPML, {})
    (read,) = read_feed_list(written).feeds
    assert (read.feed_url, read.guid) == ("https://a.example/%EF%BF%BF", odd.guid)
    again = write_feed_list([subscription(read.feed_url, read.guid)], Format.OPML, {})
    assert again == written


def test_opml_percent_encodes_the_address_of_a_site_too():
    card = replace(CARD, site_url="https://a.example/\ufffe")
    written = write_feed_list([subscription(A)], Format.OPML, {A: card})
    assert b'htmlUrl="https://a.example/%EF%BF%BE"' in written
    assert [feed.feed_url for feed in opml.read_whole(written.decode(), MAX_ITEMS)] == [A]


OUTLINES = """<outline type="rss" url="https://a.example"/>
<outline xmlUrl="https://b.example" url="https://x.example"/>"""


@pytest.mark.parametrize(
    ("written", "first_line", "note"),
    [
        ("<opml><body>{}</body></opml>", 1, ""),
        ("<outlines>\n{}</outlines>", 2, ""),
        ('<o:opml xmlns:o="x">{}</o:opml>', 1, ""),
        ("<OPML>{}</OPML>", 1, ""),
        ("{}", 1, "The XML is broken at line 2: junk after document element."),
        ("<html><opml>{}</opml></html>", 1, "Ignored text outside the list: <html>"),
        ("```xml\n<opml>{}</opml>\n```\n", 2, "Ignored text outside the list: ```xml"),
        ("<br />\n<b>Warning</b>: x\n<opml>{}</opml>", 3,
         "Ignored text outside the list: <br /> <b>Warning</b>: x"),
        ('?xml version="1.0"?>\n\n<opml>{}</opml>', 3,
         'Ignored text outside the list: ?xml version="1.0"?>'),
    ],
)  # fmt: skip
def test_outlines_are_read_whatever_stands_around_them(written, first_line, note):
    prefix = "o:" if "<o:" in written else ""
    outlines = OUTLINES.replace("<outline", f"<{prefix}outline")
    found = read_feed_list(written.format(f"{outlines}<!-- {outlines} -->").encode())
    assert found.feeds == [
        ListedFeed(first_line, "https://a.example", None),
        ListedFeed(first_line + 1, "https://b.example", None),
    ]
    assert [str(one)[: len(note)] for one in found.notes][:1] == ([note] if note else [])


def test_web_bookmarks_with_feeds_are_read():
    data = """<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>
<DT><A FEEDURL="https://a.example" HREF="https://x.example">A</A>
<DT><A FEEDURL="https://b.example" HREF="https://x.example">B</A></DL>"""
    assert read_feed_list(data.encode()).feeds == [
        ListedFeed(2, "https://a.example", None),
        ListedFeed(3, "https://b.example", None),
    ]


@pytest.mark.parametrize(
    ("attributes", "url"),
    [
        ('xmlUrl="" url="https://a.example"', "https://a.example"),
        ('feedUrl="https://a.example"', "https://a.example"),
        ('type="link" URL="https://a.example"', "https://a.example"),
        ('type="audio" xmlUrl="https://a.example"', "https://a.example"),
        ('type="audio" url="https://a.example/1.mp3"', ""),
        ('type="include" url="https://a.example/other.opml"', ""),
        ('type="rss" text="A"', ""),
        ('xmlUrl=" "', ""),
        ('htmlUrl="https://a.example"', ""),
        ('text="A folder"', None),
    ],
)
def test_an_outline_has_the_address_of_a_feed_or_says_that_it_has_none(attributes, url):
    for end in ("</opml>", ""):  # and in a file that is broken
        found = read_feed_list(f"<opml>\n<outline {attributes}/><outline url='b'/>{end}".encode())
        places = [(feed.number, feed.feed_url) for feed in found.feeds[:-1]]
        assert places == ([] if url is None else [(2, url)])
        assert bool(found.notes) is not bool(end)


def test_from_xml_that_real_apps_break_every_feed_is_read_with_a_note():
    data = """<?xml version='1.0' encoding='UTF-8' ?>
<opml version="1.0"><body>
<outline description="By <a href="https://x.example">us</a>." xmlUrl="https://a.example/?x=1&y=2" />
<outline description=""'A' that is." - The &lt;B" xmlUrl='https://b.example/?x=1&amp;&#121;=2'/>
<outline text="C" XMLURL = "https://c.example" podcast:guid="some guid"/>
<!-- <outline xmlUrl="https://x.example"/>
--><outline xmlUrl=https://d.example/feed /><outline xmlUrl=https://e.example/>
<outline xmlUrl="https://f.example/feed htmlUrl="https://x.example/"/>
<outline type=”rss” xmlUrl=”https://g.example”/>
<outline xmlUrl="https://i.example/my feed"/><outline text="<3" xmlUrl="https://j.example/>
<!-- never ends <outline xmlUrl="https://k.example"/>
</body></opml>"""
    found = read_feed_list(data.encode())
    assert found.feeds == [
        ListedFeed(3, "https://a.example/?x=1&y=2", None),
        ListedFeed(4, "https://b.example/?x=1&y=2", None),
        ListedFeed(5, "https://c.example", "some guid", title="C"),
        ListedFeed(7, "https://d.example/feed", None),
        ListedFeed(7, "https://e.example", None),
        ListedFeed(8, "https://f.example/feed", None),
        ListedFeed(9, "https://g.example", None),
        ListedFeed(10, "https://i.example/my feed", None),
        ListedFeed(10, "https://j.example", None, title="<3"),
        ListedFeed(11, "https://k.example", None),
    ]
    assert [str(note) for note in found.notes] == [
        "The XML is broken at line 3: not well-formed (invalid token)."
        " All that could be read was used; check the titles and folders."
    ]


@pytest.mark.parametrize("cut", ["", "xmlUr", "xmlUrl=", 'xmlUrl="', 'xmlUrl="https://b.exam'])
def test_of_a_file_that_was_cut_off_no_address_is_taken_that_may_go_on(cut):
    data = f'<opml><body><outline xmlUrl="https://a.example"/><outline {cut}'
    found = read_feed_list(data.encode())
    assert [feed.feed_url for feed in found.feeds] == ["https://a.example"]
    assert [str(note)[:17] for note in found.notes] == ["The XML is broken"]


def test_a_file_that_is_read_whole_has_no_note():
    found = read_feed_list(NESTED.format(version="2.0", encoding="utf-8").encode())
    assert list(found.notes) == []


def test_a_feed_tells_where_it_stands_in_its_file():
    lines, items = b"https://a.example", b'{"subscriptions": [{"feed_url": "https://a.example"}]}'
    assert [str(feed.place) for feed in read_feed_list(lines).feeds] == ["line 1"]
    assert [str(feed.place) for feed in read_feed_list(items).feeds] == ["item 1"]
