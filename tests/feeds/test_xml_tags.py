"""Expat reads any document to its end once its tags are repaired."""

from xml.parsers import expat

from hypothesis import given
from hypothesis import strategies as st

from feedkeep.feeds.xml_tags import mended, with_tags_mended

PARTS = [
    *(b"<", b">", b"/", b"=", b'"', b"'", b" ", b"a", b"&", b"</", b"<!", b"<?", b"?>"),
    *(b"<![CDATA[", b"]]>", b"<!--", b"-->", b"\xc3\xa9", b"\xe2\x80\x9d", b"<a:b c='d'", b"<br>"),
    *(b"<item>", b"</item>", b"<title>", b"</title>", b"</channel>", b"<channel>", b"</rss>"),
    *(b"<link href=x/>", b"<Title", b"</titel>"),
]
CUT_OFF = {
    expat.errors.XML_ERROR_NO_ELEMENTS,
    expat.errors.XML_ERROR_UNCLOSED_TOKEN,
    expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
}


class _Whole(Exception):
    """The first element has ended; nothing is read of what follows."""


@given(st.lists(st.sampled_from(PARTS), max_size=40).map(b"".join))
def test_expat_reads_it_to_its_end(inside):
    is_open = []

    def end(name):
        assert is_open.pop() == name
        if not is_open:
            raise _Whole

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = lambda name, _: is_open.append(name)
    parser.EndElementHandler = end
    try:
        parser.Parse(with_tags_mended(mended(b"<rss>" + inside)), True)
    except _Whole:
        pass
    except expat.ExpatError as error:
        assert expat.ErrorString(error.code) in CUT_OFF


@given(st.lists(st.sampled_from([b"<item>", b"</item>", b"<t>", b"x", b"<![CDATA[<]]>"])))
def test_what_has_no_mistake_stays_as_it_is(inside):
    document, is_open = b"<rss>", False
    for part in inside:
        if part in {b"<item>", b"</item>"} and is_open == (part == b"<item>"):
            continue
        is_open = part == b"<item>" if part.endswith(b"item>") else is_open
        document += b"<t>y</t>" if part == b"<t>" else part
    assert with_tags_mended(document) == document
