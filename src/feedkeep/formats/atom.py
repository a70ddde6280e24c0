"""Writer of Atom feeds (RFC 4287) with short entries, for feed readers and podcast apps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from feedkeep.model import Stamp, Value
from feedkeep.model.stamps import write_stamp

ATOM = "application/atom+xml; charset=utf-8"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids (XML 1.0, section 2.2), but names of feeds and apps may contain."""

_NAMESPACE = "http://www.w3.org/2005/Atom"


class AtomEntry(Value, frozen=True):
    """Entry of a feed.

    Attributes:
        id: Permanent IRI of this entry.
        title: A sentence.
        link: URL of the linked page.
        updated: Time of the event.
    """

    id: str
    title: str
    link: str
    updated: Stamp


def write_atom(
    feed_id: str, title: str, language: str, link: str, entries: Sequence[AtomEntry]
) -> bytes:
    """Write a feed with at least one entry, newest first."""
    feed = Element("feed", {"xmlns": _NAMESPACE, "xml:lang": language})
    author = SubElement(feed, "author")
    _add(author, "name", "feedkeep")
    _add(feed, "id", feed_id)
    _add(feed, "title", title)
    SubElement(feed, "link", {"href": link})
    _add(feed, "updated", write_stamp(entries[0].updated))
    for one in entries:
        entry = SubElement(feed, "entry")
        _add(entry, "id", one.id)
        _add(entry, "title", one.title)
        SubElement(entry, "link", {"href": one.link})
        _add(entry, "updated", write_stamp(one.updated))
        _add(entry, "summary", one.title)
    written: bytes = tostring(feed, "utf-8", xml_declaration=True)
    return written


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = _NOT_IN_XML.sub("", text)
