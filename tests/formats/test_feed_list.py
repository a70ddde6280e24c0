"""Feed lists as files: which format a file is in, what it lists, and what is refused."""

import json

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
from feedkeep.formats.feed_table import _SAMPLE_ROWS
from feedkeep.formats.listed_feed import ListedFeed
from feedkeep.model import FeedContent, FeedLabel, Subscription, replace
from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules.feed_labels import Labels
from feedkeep.rules.feed_names import Card, card_of
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Refused

A, B = AB = ["https://a.example", "https://b.example"]
GUID = "00000000-0000-4000-8000-000000000001"


def read(data, *limit):
    return read_feed_list(data.encode() if isinstance(data, str) else data, *limit)


def urls(data):
    return [feed.feed_url for feed in read(data).feeds]


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
    ListedFeed(7, B, None, title="B", folder="News / Deeper"),
    ListedFeed(9, "https://c.example", "some guid", title="C"),
    ListedFeed(10, "", None, title="not a feed"),
]


@pytest.mark.parametrize(
    ("version", "encoding"),
    [("1.0", "UTF-8"), ("1.1", "UTF-8"), ("2.0", "utf-8"), ("2.0", "utf-8-sig"), ("2.0", "utf-16"),
     ("2.0", "utf-16-le"), ("2.0", "utf-16-be"), ("2.0", "utf-32"), ("2.0", "iso-8859-1"),
     ("2.0", "windows-1252"), ("2.0", "macintosh"), ("2.0", "iso-8859-15")],
)  # fmt: skip
def test_opml_of_any_version_and_encoding_is_read_from_all_its_folders(version, encoding):
    found = read(NESTED.format(version=version, encoding=encoding).encode(encoding))
    assert (found.feeds, list(found.notes)) == (FEEDS, [])


MIXED = """<opml><body><outline text="Füße" xmlUrl="https://a.example"/>
<outline xmlUrl="https://b.example"/></body></opml>"""
AMPERSANDS = """<opml><body><outline text="Q & A &nbsp; &lt;"
xmlUrl="https://a.example/?x=1&y=2&copy=3"/>
<outline text="&#38;&#x26;" xmlUrl="https://b.example/?x=1&amp;y=2"/></body></opml>"""
DECLARED = '<?xml version="1.0" encoding=\'{}\'?>\n<opml><outline xmlUrl="http://{}"/></opml>'
UNUSED = ["punycode", "idna", "utf-7", "rot13", "hex", "zip", "unicode_escape", "raw", "cp437"]
UNUSED.append("utf-16")  # which a declaration that can be read is not in
DEPTH = 50_000
DEEP = "<opml>" + "<outline>" * DEPTH + "<outline xmlUrl='x'/>" + "</outline>" * DEPTH + "</opml>"
LISTS = [
    (MIXED.encode("latin-1"), AB),
    (f'<?xml version="1.0" encoding="UTF-8"?>{MIXED}'.encode("cp1252"), AB),
    (f'<?xml version="1.0" encoding="klingon"?>{MIXED}', AB),
    (f'<?xml version="1.0" encoding="utf8mb4"?>{MIXED}', AB),
    (f"\ufeff\ufeff\n{MIXED}", AB),
    (f"\ufeff\ufeff{A}\n{B}", AB),
    (f"<outline xmlUrl='{A}'/><opml><outline url='{B}'/></opml>", AB),
    (f"{MIXED}<!-- ü".encode()[:-1], AB),
    (f"# Füße\n{A}\n{B}".encode("latin-1"), AB),
    (f'["{A}", {{"url": "{B}", "title": "Füße"}}]'.encode("latin-1"), AB),
    *(
        (DECLARED.format(encoding, "日本").encode(encoding), ["http://日本"])
        for encoding in ("shift_jis", "euc-jp", "gb18030", "big5")
    ),
    *((DECLARED.format(unused, "a-ü"), ["http://a-ü"]) for unused in UNUSED),
    (DECLARED.format("koi8-r", "Новости").encode("koi8-r"), ["http://Новости"]),
    ('\n <opml><body><outline xmlUrl="https://ü.example"/></body></opml>', ["https://ü.example"]),
    (AMPERSANDS, [f"{A}/?x=1&y=2&copy=3", f"{B}/?x=1&y=2"]),
    ('<!DOCTYPE opml SYSTEM "http://127.0.0.1:9/a.dtd"><opml><outline xmlUrl="x"/></opml>', ["x"]),
    (DEEP, ["x"]),
    ("<opml><body></outline></outline><outline text='A' xmlUrl='https://a.example'>", [A]),
    (f"<{A}>\n{B}\n", AB),  # which is no XML
    (f"<a.example/feed>\n{B}\n", [f"{A}/feed", B]),
    (f"<feed:a.example>\n{B}\n", AB),
    (
        f"""<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>
<DT><A FEEDURL="{A}" HREF="https://x.example">A</A>
<DT><A FEEDURL="{B}" HREF="https://x.example">B</A></DL>""",
        AB,
    ),
    ("", []),
    (b"\xef\xbb\xbf", []),
    (f"{A},\n{B};\n", AB),  # what separates lines is not of their URLs
    (f"{A},\n{B}\n", AB),
    (f"{A},\n{B}, Title", AB),
    (f"{A},\n- {B};\n", AB),
    (f"{A}/api.php?action=feed|x\n{B}/?cat=1|2\n", [f"{A}/api.php?action=feed|x", f"{B}/?cat=1|2"]),
    (f"{A}/b;\n{B}/b\n{A}/c\n", [f"{A}/b;", f"{B}/b", f"{A}/c"]),
    (f"{A}/b\n{B}/b,\n", [f"{A}/b", f"{B}/b,"]),
    ("url,title\nhttps://a.example\n" + "," * 100_001, ["", A]),  # no table, but lines of text
]


@pytest.mark.parametrize(("data", "listed"), LISTS, ids=range(len(LISTS)))
def test_file_in_any_format_and_encoding_lists_its_addresses(data, listed):
    assert urls(data) == listed


BOMB = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
HOSTILE = [
    f'<!ENTITY l0 "lol">{BOMB}',
    '<!ENTITY x SYSTEM "file:///etc/passwd">',
    '<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;',
    f'<!ATTLIST outline xmlUrl CDATA "https://x/{"a" * 100_000}">',
    "",
]
OF_ITS_OWN = "declares entities or attributes of its own"
OUTLINES = '<outline xmlUrl="&l9;&x;"/><outline/>' * 1_000
ROWS = "".join(f"A,https://a.example/{number}\n" for number in range(_SAMPLE_ROWS))
NO_LIST = [
    *("<html><body></body></html>", "<html><head><title>x</title></head></html>", "<"),
    "<meta content='0; url=https://a.example' type='rss'><br>",
    '<!doctype html><a b href="https://a.example">',
    *(b"PK\x03\x04\0\0", b"\x89PNG\r\n\0", b"\xff\xfb\x90\0 https://x"),
    "Dear Ann,\n\nthis is a letter.\nYours\nBen",
    f"Dear Ann,\nI often listen to {A}/rss these days.\nYours\nBen",
    "<!doctype html><title>x</title><p>Hello",
    "<html><body><p>Hello<br></body></html>",
    f"{{\\rtf1\\ansi\n\\f0 {A}/rss\\\n}}",
    json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [{"url": f"{A}/rss"}]}),
    'url,title\nhttps://a.example,"' + "x\n" * 70_000,
    f'title,url\n{ROWS}"' + "a\n" * 70_000,
]
BROKEN_JSON = ["{", b'{"x": "\xff', '["a",', '{"x": ' + "[" * 100_000]
OTHER_JSON = ["{}", '{"subscriptions": 1}', b'{"x": "\xff"}']
OTHER_JSON.append(json.dumps({"shows": [A], "episodes": [{"url": B}]}))
REFUSED = [
    *((data, "not a list of feeds") for data in NO_LIST),
    *((f"<!DOCTYPE opml [{one}]><opml>{OUTLINES}</opml>", OF_ITS_OWN) for one in HOSTILE),
    ("<opml><body>", "The XML is broken at line 1"),
    ("\n\n<opml><outline></opml>", "The XML is broken at line 3"),
    ("<opml><!-- <outline xmlUrl='https://a.example'/> --><body>", "The XML is broken"),
    ("<opml>" + "<o a='a&a&a&'/>" * 40_000, "More than 100,000 ampersands are not escaped"),
    ("<opml>" + "<o/>" * 400_001, "more than 400,000 tags"),
    (f"<opml><outline text='{'x' * 200_001}'/>", "more than 200,000 characters"),
    ("[" * 65 + "]" * 65, "deeper than 64"),  # the bounds of JSON in requests
    ("[null" + ",0" * 400_000, "parts"),
    *((data, "The JSON (cannot be read|is nested)") for data in BROKEN_JSON),
    *((data, "The JSON has no list of feeds") for data in OTHER_JSON),
]


@pytest.mark.parametrize(("data", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_list_or_beyond_a_bound_is_refused_with_a_reason(data, reason):
    with pytest.raises(InvalidInput, match=reason):
        read(data)


CHANNEL = "https://www.youtube.com/channel/UCBJycsmduvYEL83R_U4JriQ"
CHANNEL_FEED = "https://www.youtube.com/feeds/videos.xml?channel_id=UCBJycsmduvYEL83R_U4JriQ"
TEXT = "# feeds\r\n\r\nhttps://a.example\r\n\t https://ü.example \nnonsense\n"
NEWPIPE = {"service_id": 0, "name": "One", "url": CHANNEL}


@pytest.mark.parametrize(
    ("data", "feeds"),
    [
        *(
            (TEXT.encode(encoding), [
                ListedFeed(3, A, None), ListedFeed(4, "https://ü.example", None),
                ListedFeed(5, "", None, title="nonsense"),
            ]) for encoding in ("utf-8", "utf-8-sig", "utf-16")
        ),
        (f"Title,Feed URL\nA\u2028b,{A}/1\n", [ListedFeed(2, f"{A}/1", None, title="A b")]),
        (f"title,site url,feed url\nOne,https://one.example,{A}/1\n",
         [ListedFeed(2, f"{A}/1", None, title="One")]),
        ('\ufeff {"subscriptions": [{"feed_url": "a"}, {"feed_url": "b", "guid": "c"}]}',
         [ListedFeed(1, "a", None, is_item=True), ListedFeed(2, "b", "c", is_item=True)]),
        (json.dumps({"app_version": "0.27.2", "subscriptions": [NEWPIPE]}),
         [ListedFeed(1, CHANNEL_FEED, None, is_item=True, title="One")]),
        (f'[{{"url": "{A}", "title": "The A"}}, {{"url": "{B}"}}]',  # for gpodder.net's API
         [ListedFeed(1, A, None, is_item=True, title="The A"),
          ListedFeed(2, B, None, is_item=True)]),
        ("""<opml version="2.0"><body><outline text="News">
    <outline text="One < Two, <3 & \x0bup" xmlUrl="https://a.example"/></outline></body></opml>""",
         [ListedFeed(2, A, None, title="One < Two, <3 & up", folder="News")]),
    ],
    ids=range(9),
)  # fmt: skip
def test_file_lists_feeds_with_their_places_titles_and_guids(data, feeds):
    found = read(data)
    assert (found.feeds, list(found.notes)) == (feeds, [])


def test_title_of_a_feed_is_its_title_or_else_its_text_but_not_its_address():
    data = b"""<opml><outline title="Folder"><outline text=" "><outline title="A" text="About A"
    xmlUrl="https://a.example"/></outline><outline title="" text="&lt;B&gt;&#10; b"
    xmlUrl="https://b.example"><outline text="no folder, but an episode"/></outline></outline>
    <outline text="https://c.example" xmlUrl="https://c.example"/>
    <outline text="ALONG" title="D" xmlUrl="https://d.example"/></opml>""".replace(
        b"ALONG", b"x" * 100_000
    )
    assert [(feed.title, feed.folder) for feed in read(data).feeds] == [
        ("A", "Folder"), ("<B> b", "Folder"), ("", ""), ("D", ""),
    ]  # fmt: skip


def test_whole_list_of_an_app_is_read_exactly_or_not_at_all():
    assert decoded_exactly("https://ü.example".encode("utf-16")) == "https://ü.example"
    with pytest.raises(InvalidInput, match="The text is not UTF-8"):
        decoded_exactly("https://ü.example".encode("latin-1"))
    with pytest.raises(InvalidInput, match="its first element is <rss>"):
        opml.read_whole("<rss/>", 10)


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
    assert urls(written.format("feed:https://a.example", "ITPC://b.example")) == AB
    found = read(written.format("a.example/x", "//b.example"))
    assert [feed.feed_url for feed in found.feeds] == [f"{A}/x", B]
    assert str(found.notes[-1]) == (
        "Addresses completed with “https://”: 2, such as https://a.example/x, https://b.example."
    )


# C3.2
def test_white_space_around_an_address_is_not_taken_for_a_missing_protocol():
    found = read('["\ufeffmailto:a@b.example\u3000"]')
    assert ([feed.feed_url for feed in found.feeds], found.notes) == (["mailto:a@b.example"], ())


def repeated(unit, count):
    if unit.endswith(","):
        return f"[{(unit * count)[:-1]}]"
    before = {"<outline": "<opml>", "https://a.example,A\n": "url,title\n"}
    return before.get(unit.split(" ")[0], "") + unit * count


@pytest.mark.parametrize(
    "unit",
    ["feed:x ", "a.example/x\n", "https://a.example title\n", "x.yz\u2028", "<x.yz>\n", "null,",
     '"a",', '{"url": "a"},', "<outline xmlUrl='a'/>", "<outline type='rss'/>",
     "<outline xmlUrl=a>", "https://a.example,A\n"],
)  # fmt: skip
def test_list_in_any_format_has_no_more_feeds_than_are_taken(unit):
    assert len(read(repeated(unit, 20), 20).feeds) == 20
    with pytest.raises(InvalidInput, match="At most 20 feeds fit in one list; split it"):
        read(repeated(unit, 21), 20)


@pytest.mark.parametrize("unit", ["feed:x ", "a.example/x\n", '"a",', "<outline xmlUrl='a'/>"])
def test_nothing_is_made_of_the_feeds_of_a_list_that_has_too_many(unit, monkeypatch):
    made = []
    for module in (feed_list, opml):
        monkeypatch.setattr(module, "ListedFeed", lambda *_, **__: made.append(0) or FEEDS[0])
    with pytest.raises(InvalidInput, match="At most 20 feeds"):
        read(repeated(unit, 300_000).removeprefix("<opml>"), 20)
    assert len(made) <= 22  # what is not well-formed is read as far as it is, and then salvaged


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\v", "\u2028"])
def test_lines_that_name_nothing_are_bounded_before_they_are_read_as_a_table(end, monkeypatch):
    assert read(f"{end * (MAX_LINES - 1)}{A}").feeds != []
    monkeypatch.setattr(feed_list.feed_table, "read", lambda *_: pytest.fail("it was read"))
    for text in (f"{end * (MAX_LINES + 1)}{A}", end * (MAX_LINES + 1)):
        with pytest.raises(InvalidInput, match="more than 400,000 lines"):
            read(text)


@pytest.mark.parametrize(
    "heading",
    [
        "Channel Id,Channel Url,Channel Title",
        "Kanal-ID,Kanal-URL,Kanaltitel",
        "ID;URL;Nombre del canal, título",
        '"id"\t"Feed"\t"Name"',
    ],
)
def test_table_of_a_takeout_or_a_spreadsheet_has_a_feed_in_each_row(heading):
    comma = max(",;\t", key=heading.count)
    page = CHANNEL.replace("https", "http")
    rows = [heading, f'1{comma}{page}{comma}"One, or; so"', "", f"2{comma}{comma}Two"]
    found = read("\r\n".join(rows).encode("utf-8-sig"))
    assert found.feeds == [
        ListedFeed(2, CHANNEL_FEED, None, title="One, or; so"),
        ListedFeed(4, "", None, title="Two"),
    ]
    assert found.notes == ()


@pytest.mark.parametrize(
    "heading", ["My feeds, with url", "# Newsboat urls, 2026", "url, feed", "name,url"]
)
def test_text_whose_first_line_only_looks_like_a_heading_is_no_table(heading):
    listed = urls(f"{heading}\n{A}/1 tech\n{B}/2\n")
    assert [url for url in listed if "://" in url] == [f"{A}/1", f"{B}/2"]


@pytest.mark.parametrize("is_first", [True, False])
def test_guid_that_several_feeds_of_a_file_have_is_that_of_none(is_first):
    def guids(*items):
        return [feed.guid for feed in read(f"[{', '.join(items)}]").feeds]

    derived = parse_feed_url(A).guid
    for guid in (derived, GUID):
        items = [f'{{"feed_url": "{url}", "guid": "{guid}"}}' for url in AB]
        assert guids(*(items if is_first else items[::-1])) == [None, None]
    moved = f'{{"feed_url": "{B}", "guid": "{derived}"}}'
    assert guids(moved, f'"{A}"') == [None, None]
    assert guids(moved) == [derived]


def test_item_of_json_that_names_no_feed_costs_no_other():
    data = f'[ null, "{A}", {{"title": "x"}}, [], {{"url": "{B}", "guid": 7}}]'
    assert urls(data) == ["", A, "", "", B]
    refused = read(data).feeds[0].wanted()
    assert refused == Refused("", Sentence("No feed address was found here."))


def test_feed_tells_where_it_stands_in_its_file():
    assert [str(feed.place) for feed in read(A).feeds] == ["line 1"]
    items = read(f'{{"subscriptions": [{{"feed_url": "{A}"}}]}}').feeds
    assert [str(feed.place) for feed in items] == ["item 1"]


# Writing


def subscription(url, guid=None):
    return Subscription(guid or parse_feed_url(url).guid, url, True, 1)


@pytest.mark.parametrize("kind", list(Format))
def test_what_is_written_is_read_back(kind):
    listed = [
        subscription("https://a.example/?x=1&y='2'\"<>"),
        subscription("https://user:pw@ünï.example/"),
        subscription("https://b.example", GUID),
    ]
    read_back = read(write_feed_list(listed, kind, {})).feeds
    assert [feed.feed_url for feed in read_back] == [item.feed_url for item in listed]
    if kind is not Format.URLS:
        assert read_back[2].guid == GUID


# With a capital letter after a separator, or another address, it may be a table or several URLs.
ENDS = st.text("abc01,;|&=?/%#'\"<>()[]{}:@!~*+-_.", max_size=12)


@given(
    st.lists(ENDS.map(f"{A}/{{}}".format), min_size=1).filter(
        lambda urls: not all(url.endswith((",", ";")) for url in urls[:-1] or urls)
    )
)
def test_urls_that_are_written_are_read_back_as_they_were(listed):
    assert urls(write_feed_list([subscription(url) for url in listed], Format.URLS, {})) == listed


def test_folders_are_written_around_their_feeds_and_read_back():
    listed = [f"https://{letter}.example" for letter in "abcde"]
    folders = ["News / Daily", "", "News", "TV/Radio & <more>", "News / Daily"]
    labels = Labels(
        {
            url: FeedLabel(parse_feed_url(url).guid, f"Title of {url}", folder)
            for url, folder in zip(listed, folders, strict=True)
        }
    )
    written = write_feed_list([subscription(url) for url in listed], Format.OPML, {}, labels)
    assert {feed.feed_url: (feed.title, feed.folder) for feed in read(written).feeds} == {
        url: (labels.title(url), folder) for url, folder in zip(listed, folders, strict=True)
    }
    assert written.count(b'<outline text="News"') == 1


CARD = Card('Q & A: "1 < 2"', "What's new?", "https://a.example/?x=1&y=2", "", "Anna")


def opml_of(card):
    return write_feed_list([subscription(A)], Format.OPML, {A: card}).decode()


def test_opml_has_titles_as_podcast_apps_read_them_and_no_guid_that_a_url_gives():
    listed = [subscription(A), subscription(B)]
    written = write_feed_list(listed, Format.OPML, {A: CARD}).decode()
    assert (
        """<outline type="rss" text='Q &amp; A: "1 &lt; 2"' title='Q &amp; A: "1 &lt; 2"'"""
        """ htmlUrl="https://a.example/?x=1&amp;y=2" description="What's new?" xmlUrl="https"""
    ) in written
    assert '<outline type="rss" text="https://b.example" xmlUrl="https://b.example"/>' in written
    assert "podcast:guid" not in written
    assert urls(written) == AB


def test_opml_has_no_attribute_for_what_a_feed_does_not_say():
    written = opml_of(replace(CARD, site_url="", description=""))
    assert "htmlUrl" not in written
    assert "description" not in written
    assert ' title="' not in opml_of(replace(CARD, title=""))


@given(st.text())
def test_opml_can_be_read_back_whatever_a_feed_calls_itself(text):
    card = card_of(FeedContent(text, text, f"https://a.example/{text}", "", "", text))
    assert [feed.feed_url for feed in opml.read_whole(opml_of(card), MAX_ITEMS)] == [A]


def test_json_has_titles_and_folders_and_text_has_only_urls():
    labels = Labels({A: FeedLabel(parse_feed_url(A).guid, "Titled", "News / Daily")})
    listed, cards = [subscription(A), subscription(B)], {B: CARD}
    written = write_feed_list(listed, Format.JSON, cards, labels)
    assert [(feed.title, feed.folder) for feed in read(written).feeds] == [
        ("Titled", "News / Daily"), (CARD.title, ""),
    ]  # fmt: skip
    assert b"What" not in written
    assert write_feed_list(listed, Format.URLS, cards, labels) == f"{A}\n{B}\n".encode()


def test_opml_percent_encodes_characters_of_urls_that_xml_does_not_allow():
    odd = subscription("https://a.example/\uffff")
    written = write_feed_list([odd], Format.OPML, {})
    (found,) = read(written).feeds
    assert (found.feed_url, found.guid) == ("https://a.example/%EF%BF%BF", odd.guid)
    again = write_feed_list([subscription(found.feed_url, found.guid)], Format.OPML, {})
    assert again == written
    of_site = opml_of(replace(CARD, site_url="https://a.example/\ufffe"))
    assert 'htmlUrl="https://a.example/%EF%BF%BE"' in of_site
    assert [feed.feed_url for feed in opml.read_whole(of_site, MAX_ITEMS)] == [A]


# XML as apps and people break it


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
    outline = "<o:outline" if "<o:" in written else "<outline"
    outlines = f'{outline} type="rss" url="{A}"/>\n{outline} xmlUrl="{B}" url="https://x.example"/>'
    found = read(written.format(f"{outlines}<!-- {outlines} -->"))
    assert found.feeds == [
        ListedFeed(first_line, A, None), ListedFeed(first_line + 1, B, None)
    ]  # fmt: skip
    assert [str(one)[: len(note)] for one in found.notes][:1] == ([note] if note else [])


@pytest.mark.parametrize(
    ("attributes", "url"),
    [
        ('xmlUrl="" url="https://a.example"', A),
        ('feedUrl="https://a.example"', A),
        ('type="link" URL="https://a.example"', A),
        ('type="audio" xmlUrl="https://a.example"', A),
        ('type="audio" url="https://a.example/1.mp3"', ""),
        ('type="include" url="https://a.example/other.opml"', ""),
        ('type="rss" text="A"', ""),
        ('xmlUrl=" "', ""),
        ('htmlUrl="https://a.example"', ""),
        ('text="A folder"', None),
    ],
)
def test_outline_has_the_address_of_a_feed_or_says_that_it_has_none(attributes, url):
    for end in ("</opml>", ""):  # and in a file that is broken
        found = read(f"<opml>\n<outline {attributes}/><outline url='b'/>{end}")
        places = [(feed.number, feed.feed_url) for feed in found.feeds[:-1]]
        assert places == ([] if url is None else [(2, url)])
        assert bool(found.notes) is not bool(end)


def test_from_xml_that_real_apps_break_every_feed_is_read_with_a_note():
    found = read("""<?xml version='1.0' encoding='UTF-8' ?>
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
</body></opml>""")
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
    found = read(f'<opml><body><outline xmlUrl="https://a.example"/><outline {cut}')
    assert [feed.feed_url for feed in found.feeds] == [A]
    assert [str(note)[:17] for note in found.notes] == ["The XML is broken"]
