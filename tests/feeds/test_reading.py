"""What a feed says of itself is read from whatever the wild has, or it is refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_of_feeds import URL, Example, examples

from feedkeep.errors import NotAFeed
from feedkeep.feeds.json_feeds import MAX_OBJECTS
from feedkeep.feeds.plain_text import plain_text
from feedkeep.feeds.reading import MAX_BYTES, MAX_URL, read_feed
from feedkeep.feeds.xml_feeds import MAX_ATTRIBUTES, MAX_TAGS
from feedkeep.model import FeedContent

EXAMPLES = examples()


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_what_a_document_of_the_corpus_says_is_read(example: Example) -> None:
    if isinstance(example.expected, FeedContent):
        assert read_feed(example.document, example.content_type, URL) == example.expected
    else:
        with pytest.raises(NotAFeed) as refusal:
            read_feed(example.document, example.content_type, URL)
        assert str(refusal.value) == example.expected


def test_every_document_of_the_corpus_is_in_the_table() -> None:
    names = {path.name for path in (Path(__file__).parent / "corpus").iterdir()}
    assert names == {example.name for example in EXAMPLES}


def read(inside: str | bytes, attributes: str = "") -> FeedContent:
    inside = inside.encode() if isinstance(inside, str) else inside
    return read_feed(f"<rss {attributes}><channel>".encode() + inside, "", URL)


def test_a_document_that_is_too_large_is_refused() -> None:
    with pytest.raises(NotAFeed, match="has more than 8,388,608 bytes"):
        read_feed(b" " * (MAX_BYTES + 1), "", URL)


def test_too_many_objects_of_json_are_refused() -> None:
    document = b'{"version": "https://jsonfeed.org/version/1", "title": "x", "items": ['
    assert read_feed(document + b"{}," * 9 + b"{}]}", "", URL).title == "x"
    with pytest.raises(NotAFeed, match="more than 50,000 objects"):
        read_feed(document + b"{}," * MAX_OBJECTS + b"{}]}", "", URL)


def test_too_many_tags_count_if_they_come_after_an_item() -> None:
    tags = "<a/>" * (MAX_TAGS + 1)
    assert read(f"<title>x</title><item><guid>a</guid></item>{tags}").title == "x"
    with pytest.raises(NotAFeed, match="too many tags in the XML before its first item"):
        read(f"<title>x</title>{tags}<item/></channel></rss>")


def test_a_tag_with_too_many_attributes_is_refused() -> None:
    attributes = " ".join(f"a{number}=''" for number in range(MAX_ATTRIBUTES + 1))
    with pytest.raises(NotAFeed, match="A tag in the XML has more than 50,000 attributes"):
        read(f"<title {attributes}>x</title><item/>")


def test_a_long_text_without_tags_is_no_tag() -> None:
    text = "a=b &lt;a href='x'&gt; " * 10_000
    assert (
        len(read(f"<title>x</title><description>{text}</description><item>").description) == 2_000
    )


def test_a_text_is_read_up_to_its_bound() -> None:
    parts = "<b>" + "x" * 15_000 + "</b>"
    content = read(f"<title>{parts * 3}</title><item>")
    assert content.title == "x" * 199 + "…"


def test_more_mistakes_than_are_mended_break_a_document_off() -> None:
    content = read("<title>x</title><item><guid>a</guid>" + "&nbsp;" * 300_001 + "</item>")
    assert content.title == "x"
    assert len(content.items) == 1


def test_html_that_was_not_escaped_ends_nothing_after_the_first_item() -> None:
    content = read("<title>x</title><item><guid>a</guid><br></item><item><guid>b</guid></item>")
    assert len(content.items) == 2


def test_what_breaks_off_within_a_comment_or_a_tag_counts_up_to_there() -> None:
    for end in ("<!-- a", "<it", "<item a='", "&", "&am", "<![CDATA[", "<?x"):
        assert len(read(f"<title>x</title><item><guid>a</guid></item>{end}").items) == 1, end


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("&amp;lt;b&amp;gt;x&amp;lt;/b&amp;gt;", "x"),
        ("<<b>b>x", "x"),
        ("&amp;amp;amp;amp;amp;lt;b&amp;amp;amp;amp;amp;gt;", "&amp;lt;b&amp;gt;"),
        ("&amp;amp;amp;lt;<b>b&amp;amp;amp;gt;", "b>"),
        ("a<!-- b -->c<style>d</style>e<script>f", "a c e"),
        ("a <3 b", "a <3 b"),
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
def test_of_markup_its_text_is_left(markup: str, text: str) -> None:
    assert plain_text(markup, 5 if "👩" in markup else 50) == text


def test_a_url_of_the_greatest_length_is_kept() -> None:
    url = "https://a.example/" + "x" * (MAX_URL - 18)
    assert read(f"<title>x</title><link>{url}</link><item>").site_url == url
    assert not read(f"<title>x</title><link>{url}x</link><item>").site_url


def test_marks_that_would_end_an_attribute_are_escaped_in_urls() -> None:
    content = read("<title>x</title><link>https://a.example/&quot;&gt;&lt;b&gt;'</link><item>")
    assert content.site_url == "https://a.example/%22%3E%3Cb%3E'"


def test_what_was_read_says_so_in_a_log_in_one_line() -> None:
    assert repr(read("<title>x</title><item>")).startswith("FeedContent(title='x', description=''")
