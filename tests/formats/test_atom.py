"""An Atom feed is well-formed, whatever its texts are."""

from xml.etree import ElementTree as ET

from hypothesis import example, given
from hypothesis import strategies as st

from feedkeep.model import Stamp
from feedkeep.web.news import AtomEntry, write_atom

ATOM = {"atom": "http://www.w3.org/2005/Atom"}


@given(st.text(st.characters(), max_size=40))
@example('a <b> & "c" \x00\x0b\ufffe\udc80 \U0001f399')
def test_a_feed_is_well_formed_whatever_a_title_is(title):
    entry = AtomEntry("urn:x", title, "https://feeds.example/news?a=1&b=2", Stamp(0))
    written = write_atom("urn:feed", title, "de-AT", "https://feeds.example", [entry, entry])
    feed = ET.fromstring(written)  # noqa: S314 - it is our own
    assert len(feed.findall("atom:entry", ATOM)) == 2
    assert feed.find("atom:updated", ATOM).text == "1970-01-01T00:00:00.000000Z"
    told = feed.find("atom:entry/atom:title", ATOM).text or ""
    assert set(told) <= {*title, "\n"}  # a reader takes each end of a line for this one
    assert feed.find("atom:entry/atom:link", ATOM).get("href") == entry.link
