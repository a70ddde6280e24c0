"""Convert documents in any encoding to UTF-8.

Declared encodings are often wrong, so the bytes themselves take precedence.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from feedkeep.formats.encodings import SHOWN_BY_BEGINNING, codec_of

_HEAD_BYTES = 1_024
_PIECE_BYTES = 65_536
"""Size of a decoded piece: a decoded character can take four bytes of memory."""

_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w.:-]{1,40})["']""")
_CHARSET = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.IGNORECASE)

_SEVEN_BITS = {"iso2022_jp"}
_AS_BROWSERS_READ_IT = {"latin-1": "cp1252", "utf-8-sig": "utf-8"}
_CP1252_OF_STRAY_BYTES = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", errors="replace") for byte in range(0x80, 0x100)
}


def utf8(document: bytes, content_type: str) -> bytes:
    """Convert a document to UTF-8 without a byte order mark; never fails.

    A byte order mark determines the encoding. Valid UTF-8 is UTF-8: text in another encoding hardly
    ever is valid by accident. Otherwise the first encoding that decodes the whole document wins, of
    those declared by the XML or the header Content-Type. In declared UTF-8, stray bytes are decoded
    as Windows-1252, as in feeds assembled from parts.
    """
    shown = next((c for mark, c in SHOWN_BY_BEGINNING.items() if document.startswith(mark)), None)
    if shown == "utf-8-sig":
        document, shown = document.removeprefix(codecs.BOM_UTF8), None
    if shown is not None:
        return _decoded(document, shown, "replace")
    declared = _declared(document, content_type)
    if not _SEVEN_BITS.intersection(declared) and _is_in(document, "utf-8"):
        return document
    others = [codec for codec in declared if codec != "utf-8"]
    for codec in others:
        if _is_in(document, codec):
            return _decoded(document, codec, "strict")
    if "utf-8" in declared or not others:
        return _decoded(document, "utf-8", "surrogateescape")
    return _decoded(document, others[0], "replace")


def _declared(document: bytes, content_type: str) -> list[str]:
    in_xml, in_header = _DECLARED.search(document[:_HEAD_BYTES]), _CHARSET.search(content_type)
    labels = [in_xml[1].decode("latin-1")] if in_xml else []
    labels += [in_header[1]] if in_header else []
    known = [codec for label in labels if (codec := codec_of(label))]
    return [_AS_BROWSERS_READ_IT.get(codec, codec) for codec in known]


def _is_in(document: bytes, codec: str) -> bool:
    try:
        for _ in _pieces(document, codec, "strict"):
            pass
    except UnicodeError:
        return False
    return True


def _decoded(document: bytes, codec: str, errors: str) -> bytes:
    pieces = _pieces(document, codec, errors)
    if errors == "surrogateescape":
        pieces = (piece.translate(_CP1252_OF_STRAY_BYTES) for piece in pieces)
    # Unpaired surrogates of UTF-16 cannot be encoded.
    return b"".join(piece.encode("utf-8", "replace") for piece in pieces)


def _pieces(document: bytes, codec: str, errors: str) -> Iterator[str]:
    """Decode a document; a truncated last character is not an error."""
    decoder = codecs.getincrementaldecoder(codec)(errors)
    for start in range(0, len(document), _PIECE_BYTES):
        yield decoder.decode(document[start : start + _PIECE_BYTES])
