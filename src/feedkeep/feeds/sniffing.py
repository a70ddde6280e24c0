"""Recognise feeds by the beginning of a document. Pure."""

from __future__ import annotations

import re

from feedkeep.formats.decoding import utf8

_BEFORE = b" \t\r\n\x0b\x0c\0" + "\ufeff".encode()
"""White space and byte order marks, also as single bytes of UTF-16."""

_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Bytes absent from text in any encoding; ISO-2022 uses the escape character."""


def may_be_feed(head: bytes, content_type: str) -> bool:
    """Whether a document with this beginning can be XML, JSON or a web page.

    Text may precede the first element, such as a warning of the publisher's program. Of the header
    `content_type`, only the charset counts.
    """
    text = utf8(head, content_type).lstrip(_BEFORE)
    if text.startswith((b"<", b"{", b"[")):
        return True
    return b"<" in text and not _CONTROLS.search(text)
