"""Whether a document can be a feed, by its beginning. Pure."""

from __future__ import annotations

import re

from feedkeep.formats.decoding import utf8

_BEFORE = b" \t\r\n\x0b\x0c\0" + "\ufeff".encode()
"""White space, byte order marks, and the halves of both in UTF-16."""

_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Bytes that no text has, in any encoding; ISO-2022 has the escape character."""


def may_be_feed(head: bytes, content_type: str) -> bool:
    """Whether a document with this beginning can be XML, JSON or a web page.

    What stands before the first element, such as a warning of the publisher's program, is text.
    `content_type` is the header of that name, of which only the charset counts.
    """
    text = utf8(head, content_type).lstrip(_BEFORE)
    if text.startswith((b"<", b"{", b"[")):
        return True
    return b"<" in text and not _CONTROLS.search(text)
