"""Feeds found in the wild are read, or rejected with a reason."""

from pathlib import Path
from urllib.parse import urljoin
from uuid import UUID
from xml.parsers import expat

import pytest
from corpus_of_feeds import URL, examples, hashed

from feedkeep.feeds import xml_feeds
from feedkeep.feeds.found import MAX_OFFERS, MAX_URL
from feedkeep.feeds.plain_text import plain_text
from feedkeep.feeds.reading import MAX_BYTES, MAX_OBJECTS, read_with_episodes
from feedkeep.feeds.xml_feeds import MAX_ATTRIBUTES, MAX_BASES, MAX_TAGS
from feedkeep.feeds.xml_tags import MAX_OPEN, MAX_PARTS
from feedkeep.model import FeedContent
from feedkeep.model.errors import NotAFeed

EXAMPLES = examples()
LAST = 253_370_764_800_000_000
"""Start of the year 9999."""


def read_feed(document, content_type="", until=LAST):
    content, _ = read_with_episodes(document, content_type, URL, until, 0)
    return content


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_what_a_document_of_the_corpus_says_is_read(example):
    if isinstance(example.expected, FeedContent):
        assert read_feed(example.document, example.content_type) == example.expected
    else:
        with pytest.raises(NotAFeed) as refusal:
            read_feed(example.document, example.content_type)
        assert str(refusal.value) == example.expected


def test_every_document_of_the_corpus_is_in_the_table():
    names = {path.name for path in (Path(__file__).parent / "corpus").iterdir()}
    assert names == {example.name for example in EXAMPLES}


def read(inside, attributes=""):
    return read_feed(f"<rss {attributes}><channel>{inside}".encode())


def test_what_is_beyond_the_bound_is_not_read():
    before = b"<rss><channel><title>x</title><item><guid>a</guid></item>"
    item = b"<item><guid>b</guid></item>"
    document = before + b" " * (MAX_BYTES - len(before + item)) + item
    assert len(read_feed(document + item + b"</channel></rss>").items) == 2


def test_the_newest_date_is_that_of_an_item_which_is_not_still_to_come():
    dates = (
        "Sun, 01 Mar 2026 10:00:00 GMT",
        "2026-11-30T00:00:00Z",
        "soon",
        "1 Jan 2026 10:00 -0100",
    )
    items = "".join(f"<item><pubDate>{date}</pubDate></item>" for date in dates)
    document = f"<rss><channel><title>x</title>{items}</channel></rss>".encode()
    march = 1_772_359_200_000_000
    for until, newest in (
        (march + 1, march), (march - 1, 1_767_265_200_000_000), (0, None),
        (LAST, 1_795_996_800_000_000),
    ):  # fmt: skip
        assert read_feed(document, until=until).newest == newest


@pytest.mark.parametrize(
    "end", [b"", b'{"id": "c', b'{"id": "c", "attachments": [{"url": "x"}, {"u', b"]}"]
)
def test_a_json_feed_beyond_the_bound_is_read_as_far_as_that(end):
    begin = b'{"version": "https://jsonfeed.org/version/1.1", "title": "x", "items": [{"id": "a"},'
    item = b'{"id": "b"}' + b"," * (end[:1] == b"{")
    document = begin + b" " * (MAX_BYTES - len(begin + item + end)) + item + end
    found = read_feed(document + b', {"id": "d"}]}')
    assert (found.title, len(found.items)) == ("x", 2)


def test_a_json_feed_that_is_cut_without_a_whole_item_is_refused():
    begin = b'{"version": "https://jsonfeed.org/version/1.1", "items": ["' + b"}" * 99
    with pytest.raises(NotAFeed):
        read_feed(begin + b"x" * MAX_BYTES)


AROUND = {
    "an element that never ends": "<a:b x='y'>",
    "one within one": "<a:b x='y'><a:b x='z'/>",
    "a text that never ends": "<copyright>by me",
    "a text that ends by another name": "<copyright>by me</copyrigth>",
    "a text that ends in other case": "<copyright>by me</CopyRight>",
    "an end of nothing": "</copyright>",
    "elements that cross": "<itunes:owner><itunes:name>N</itunes:owner></itunes:name>",
    "an end without its last mark": "<copyright>by me</copyright",
    "a tag without its last mark": "<a:b x='y'",
    "a quote that never ends": '<a:b x="y/>',
    "a quote that never begins": '<a:b x=y"/>',
    "no quotes": "<a:b x=y z=w/>",
    "curly quotes": "<a:b x=”y”/>",
    "no value": "<a:b x/>",
    "no space": "<a:b x='y'z='w'/>",
    "a value twice": "<a:b x='y' x='z'/>",
    "a namespace twice": "<a:b xmlns:x='y' xmlns:x='y'/>",
    "a tag within a value": "<a:b x='1 < 2'/>",
    "HTML that never ends": "<copyright>by<br>me<p></copyright>",
    "a declaration": "<!ELEMENT a>",
    "a name that is none": "<1a:b>",
}


@pytest.mark.parametrize("mistake", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("kind", ["rss", "atom"])
def test_what_is_before_around_and_after_a_mistake_is_read(mistake, kind):
    shapes = {
        "rss": "<rss><channel><title>x</title>{}<link>https://a.example/</link>{}"
        "<item>{}<guid>a</guid>{}</item><item><guid>b</guid></item>{}</channel></rss>",
        "atom": "<feed><title>x</title>{}<link href='https://a.example/'/>{}"
        "<entry>{}<id>a</id>{}</entry><entry><id>b</id></entry>{}</feed>",
    }
    shape = shapes[kind]
    for place in range(5):
        holes = [mistake if number == place else "" for number in range(5)]
        content = read_feed(shape.format(*holes).encode())
        read_of_it = (content.title, content.site_url, content.items)
        assert read_of_it == ("x", "https://a.example/", (hashed("a"), hashed("b"))), place


X, ITEM, A = "<title>x</title>", "<item><guid>a</guid></item>", "https://a.example/"
LINK = f"<link>{A}</link>"
LONG = A + "x" * (MAX_URL - 18)
GOOD = f"<image><url>{A}good.png</url></image>"
GUID = "9b024349-ccf0-5f69-a609-6b82873eab3c"
IS, LOCKED = "<podcast:guid>{}</podcast:guid>", "<podcast:locked>{}</podcast:locked>"
NEW = "<itunes:new-feed-url>{}</itunes:new-feed-url>"
FIELDS = [
    # Of a mistake itself, what there is is read.
    (f"<title>x</titel>{LINK}", {"title": "x", "site_url": A}),
    (f"<title>x<link>{A}<description>y", {"title": "x", "site_url": A}),
    (f"<title>x<b>y</title>{LINK}</b>", {"title": "xy", "site_url": A}),
    (f"{X}<atom:link href={A}?b='c rel=alternate>", {"title": "x", "site_url": f"{A}?b="}),
    (f'<title a="b>x</title>{LINK}', {"title": "x", "site_url": A}),
    # A value that is none hides no other of its field.
    (f"{X}<itunes:image>A logo</itunes:image>{GOOD}", {"picture_url": f"{A}good.png"}),
    (f"{X}<itunes:image>logo</itunes:image>{GOOD}", {"picture_url": f"{A}good.png"}),
    (f"{X}<itunes:image href='null'/>{GOOD}", {"picture_url": f"{A}good.png"}),
    (f"{X}<itunes:image href='file:///a.png'/>{GOOD}", {"picture_url": f"{A}good.png"}),
    (f"{X}<itunes:image href='https://'/>{GOOD}", {"picture_url": f"{A}good.png"}),
    (f"{X}<itunes:image href='a.png'/>{GOOD}", {"picture_url": f"{A}good.png"}),
    (f"{X}<itunes:image href='null'/>", {"picture_url": ""}),
    (f"{X}<itunes:image href='//b.example/a'/>{GOOD}", {"picture_url": "https://b.example/a"}),
    (f"{X}<itunes:image href='a.png'/>", {"picture_url": "https://feeds.example/shows/a.png"}),
    (f"{X}<itunes:image url='{A}a.png'/>", {"picture_url": f"{A}a.png"}),
    (f"{X}<itunes:image href='' url='{A}a.png'/>", {"picture_url": f"{A}a.png"}),
    ("<title>&lt;br&gt;</title><itunes:title>x</itunes:title>", {"title": "x"}),
    (f"{X}<language>none of them</language><dc:language>de</dc:language>", {"language": "de"}),
    (f"{X}<link>javascript:alert(1)</link>{LINK}", {"site_url": A}),
    (X + NEW.format("TODO") + NEW.format(A), {"new_feed_url": A}),
    (X + LOCKED.format("?") + LOCKED.format("yes"), {"is_locked": True}),
    (X + IS.format("x") + IS.format(UUID(int=0)) + IS.format(GUID), {"podcast_guid": GUID}),
    # Of very many values, some are judged.
    (X + IS.format("x") * (MAX_OFFERS - 1) + IS.format(GUID), {"podcast_guid": GUID}),
    (X + IS.format("x") * MAX_OFFERS + IS.format(GUID), {"podcast_guid": ""}),
    (f"{X}<link>{LONG}</link>", {"site_url": LONG}),
    (f"{X}<link>{LONG}x</link>", {"site_url": ""}),
    # Characters that would end an attribute are escaped.
    (f"{X}<link>{A}&quot;&gt;&lt;b&gt;'</link>", {"site_url": f"{A}%22%3E%3Cb%3E'"}),
]  # fmt: skip


@pytest.mark.parametrize(("inside", "fields"), FIELDS, ids=range(len(FIELDS)))
def test_of_values_and_mistakes_what_is_valid_is_read(inside, fields):
    content = read(f"{inside}{ITEM}</channel></rss>")
    assert {name: getattr(content, name) for name in fields} == fields
    assert content.items == (hashed("a"),)


def test_the_type_of_a_web_page_before_a_feed_makes_none_of_it():
    feed = b"<rss><channel><title>x</title></channel></rss>"
    assert read_feed(b"<!DOCTYPE html>" + feed).title == "x"
    for page in (b"<!DOCTYPE html><title>x</title>", b"<!DOCTYPE html><body>" + feed):
        with pytest.raises(NotAFeed, match="This is a web page"):
            read_feed(page)


@pytest.mark.parametrize("codec", ["utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"])
def test_wide_letters_without_a_mark_are_read(codec):
    feed = '<?xml version="1.0"?><rss><channel><title>Müller</title></channel></rss>'
    assert read_feed(feed.encode(codec)).title == "Müller"


def test_too_many_objects_of_json_are_refused():
    document = b'{"version": "https://jsonfeed.org/version/1", "title": "x", "items": ['
    assert read_feed(document + b"{}," * 9 + b"{}]}").title == "x"
    with pytest.raises(NotAFeed, match="more than 50,000 objects"):
        read_feed(document + b"{}," * MAX_OBJECTS + b"{}]}")


MANY_TAGS, MANY_MISTAKES = "<a/>" * (MAX_TAGS + 1), "&nbsp;" * 300_001
ATTRIBUTES = " ".join(f"a{number}=''" for number in range(MAX_ATTRIBUTES + 1))


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        (MANY_TAGS, "too many tags in the XML before its first item"),
        (f"<y {ATTRIBUTES}/>", "A tag in the XML has more than 50,000 attributes"),
        (MANY_MISTAKES, "The XML is broken before its first item: undefined entity"),
        ("</c>" + "<y>" * (MAX_OPEN + 1), "too many tags in the XML before its first item"),
        (
            "</c>" + f"<y {'b=c ' * 40_000}/>" * (MAX_PARTS // 40_000 + 1),
            "The document ends before its first item",
        ),
    ],
    ids=["tags", "attributes", "mistakes", "open tags", "attributes after a mistake"],
)
def test_too_much_of_anything_before_the_first_item_is_refused(inside, reason):
    with pytest.raises(NotAFeed, match=reason):
        read(f"<title>x</title>{inside}<item/></channel></rss>")


@pytest.mark.parametrize(
    ("inside", "items"),
    [
        (f"{ITEM}{MANY_TAGS}", "a"),
        (f"<item><guid>a</guid>{MANY_MISTAKES}</item>", "a"),
        (f"</a>{ITEM * (MAX_PARTS // 4 + 1)}<item><guid>b</guid></item>", "a" * 50),
        ("<item><guid>a</guid><br></item><item><guid>b</guid></item>", "ab"),
        ("<image><a><item><guid>a</guid><title>y<item><guid>b</guid></item>", "ab"),
        *((ITEM + end, "a") for end in ("<!-- a", "<it", "<item a='", "&", "&am")),
        *((ITEM + end, "a") for end in ("<![CDATA[", "<?x")),
    ],
    ids=range(12),
)
def test_too_much_or_a_mistake_after_the_first_item_costs_what_follows_at_most(inside, items):
    content = read(f"<title>x</title>{inside}")
    assert (content.title, content.items) == ("x", tuple(map(hashed, items)))


def test_texts_are_read_up_to_their_bounds():
    text = "a=b &lt;a href='x'&gt; " * 10_000  # which is no tag
    content = read(f"<title>x</title><description>{text}</description><item>")
    assert len(content.description) == 2_000
    parts = "<b>" + "x" * 15_000 + "</b>"
    assert read(f"<title>{parts * 3}</title><item>").title == "x" * 199 + "…"


# C10.5
@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("&amp;lt;b&amp;gt;x&amp;lt;/b&amp;gt;", "x"),
        ("<<b>b>x", "x"),
        ("&amp;amp;amp;amp;amp;lt;b&amp;amp;amp;amp;amp;gt;", "&amp;lt;b&amp;gt;"),
        ("&amp;amp;amp;lt;<b>b&amp;amp;amp;gt;", "b>"),
        ("a<!-- b -->c<style>d</style>e<script>f", "a c e"),
        ("a <3 b", "a <3 b"),
        ("a<b and c>d", "a<b and c>d"),
        ("a<b>c</b> <i class='d'>e</i> <b/> <a\nhref=f>g</a>", "ac e g"),
        ("<p align>x<br clear>y", "<p align>x y"),
        ("<!DOCTYPE html PUBLIC 'x'><p>a</p>", "a"),
        ("x<br>y<b>z</b>", "x yz"),
        ("&copy &copy; &notanything;", "&copy © &notanything;"),
        ("a\ud800b", "ab"),
        ("<\u202ei>a<\x81/i> <&#x202e;i>b", "a b"),
        ("&amp;amp;amp;#x202e;a", "a"),
        ("\ue000 private", "\ue000 private"),
        ("👨\u200d👩" * 3, "👨\u200d👩👨…"),
    ],
)
def test_of_markup_its_text_is_left(markup, text):
    assert plain_text(markup, 5 if "👩" in markup else 50) == text


def test_marks_that_no_language_has_so_many_of_are_left_out():
    assert len(plain_text("a" + "\u0301\u0323" * 9_000, 200)) < 40


def test_bases_that_are_too_long_or_too_many_are_ignored():
    many = "<channel xml:base='b/'>" * MAX_BASES + "<title>x</title><link>y</link><item>"
    found = read(many, f"xml:base='https://a.example/{'/' * MAX_URL}'")
    assert found.site_url == urljoin(URL, "b/" * (MAX_BASES - 1) + "y")


def test_what_was_read_says_so_in_a_log_in_one_line():
    assert repr(read("<title>x</title><item>")).startswith("FeedContent(title='x', description=''")


def test_a_lack_of_memory_is_no_fault_of_a_document():
    error = expat.ExpatError()
    error.code = xml_feeds._OUT_OF_MEMORY
    with pytest.raises(MemoryError):
        xml_feeds._as_refusal(error)
