"""Convert documents in any encoding to UTF-8.

Declared encodings are often wrong, so the bytes themselves take precedence.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator

from feedkeep.formats.encodings import SHOWN_BY_BEGINNING, codec_of

_HEAD_BYTES = 1_024
_PIECE_BYTES = 65_536
"""Size of a decoded piece: a decoded character can take four bytes of memory."""

_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w.:-]{1,40})["']""")
_CHARSET = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.IGNORECASE)

_SEVEN_BITS = {"iso2022_jp"}
_AS_BROWSERS_READ_IT = {"latin-1": "cp1252", "utf-8-sig": "utf-8"}
_COMMON = {
    "gb18030": "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于"
    "着下自之年过发后作里用道行所然家事成方多经去法学都同现当没动面起看定天分还进好小",
    "big5hkscs": "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於"
    "著下自之年過發後作裡用道行所然家事成方多經去法學都同現當沒動面起看定天分還進好小",
    "cp932": "のにはをたがでとしるていンースルトイ",
    "euc_jp": "のにはをたがでとしるていンースルトイ",
    "cp949": "이다는에의가을를하고은한",
}
"""Common characters of languages whose encodings are recognized without a declaration."""

_LEAST_SHARE = 1 / 20
"""Share of common characters beyond ASCII; few texts in these languages have less than twice it."""

_CP1252_OF_STRAY_BYTES = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", errors="replace") for byte in range(0x80, 0x100)
}


def utf8(document: bytes, content_type: str) -> bytes:
    """Convert a document to UTF-8 without a byte order mark; never fails.

    A byte order mark determines the encoding. Valid UTF-8 is UTF-8: text in another encoding hardly
    ever is valid by accident. Otherwise the first encoding that decodes the whole document wins, of
    those declared by the XML or the header Content-Type. In declared UTF-8, stray bytes are decoded
    as Windows-1252, as in feeds assembled from parts. Undeclared encodings of Chinese, Japanese
    and Korean are recognized by common characters.
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
    shares = {_share_of_common(document, codec): codec for codec in _COMMON}
    if max(shares) > _LEAST_SHARE:
        return _decoded(document, shares[max(shares)], "strict")
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


def _share_of_common(document: bytes, codec: str) -> float:
    """Return the share of common characters beyond ASCII; 0 if the document has not two of them."""
    total = 0
    counts: Counter[str] = Counter()
    try:
        for piece in _pieces(document, codec, "strict"):
            total += len(piece) - len(piece.encode("ascii", "ignore"))
            counts.update({common: piece.count(common) for common in _COMMON[codec]})
    except UnicodeError:
        return 0.0
    return counts.total() / total if len(+counts) > 1 else 0.0


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
