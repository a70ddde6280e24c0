"""Convert documents to UTF-8 from the encodings of browsers (WHATWG, Encoding, 4.2).

Declared encodings are often wrong, so the bytes themselves take precedence. Some of Python's
further codecs are dangerous: decoding `punycode` takes quadratic time.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator

SHOWN_BY_BEGINNING = {
    # UTF-32's mark starts with UTF-16's, so it comes first.
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    # Without a mark, the first "<" reveals the encoding.
    b"<\0\0\0": "utf-32-le",
    b"\0\0\0<": "utf-32-be",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
"""Codecs by the first bytes of a document, whatever it declares; the first match wins."""

_LABELS = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    # A declaration that is readable as single bytes cannot be in UTF-16: .NET declares "utf-16" in
    # files that it then saves as UTF-8.
    "utf-8-sig": "utf-16 utf-16le utf-16be utf-32 utf-32le utf-32be ucs-2 iso-10646-ucs-2 unicode",
    "latin-1": "iso-8859-1 iso8859-1 iso88591 iso_8859-1 iso-ir-100 csisolatin1 latin1 l1 ascii"
    " us-ascii cp819 ibm819",
    "iso8859-2": "iso-8859-2 iso8859-2 iso88592 iso_8859-2 iso-ir-101 csisolatin2 latin2 l2",
    "iso8859-3": "iso-8859-3 iso8859-3 iso88593 iso_8859-3 iso-ir-109 csisolatin3 latin3 l3",
    "iso8859-4": "iso-8859-4 iso8859-4 iso88594 iso_8859-4 iso-ir-110 csisolatin4 latin4 l4",
    "iso8859-5": "iso-8859-5 iso8859-5 iso88595 iso_8859-5 iso-ir-144 csisolatincyrillic cyrillic",
    "iso8859-6": "iso-8859-6 iso8859-6 iso88596 iso_8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127"
    " csiso88596e csiso88596i csisolatinarabic arabic asmo-708 ecma-114",
    "iso8859-7": "iso-8859-7 iso8859-7 iso88597 iso_8859-7 iso-ir-126 csisolatingreek greek greek8"
    " ecma-118 elot_928 sun_eu_greek",
    "iso8859-8": "iso-8859-8 iso8859-8 iso88598 iso_8859-8 iso-8859-8-e iso-8859-8-i iso-ir-138"
    " csiso88598e csiso88598i csisolatinhebrew hebrew logical visual",
    "iso8859-10": "iso-8859-10 iso8859-10 iso885910 iso-ir-157 csisolatin6 latin6 l6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "iso-8859-15 iso8859-15 iso885915 iso_8859-15 csisolatin9 l9",
    "iso8859-16": "iso-8859-16",
    "cp866": "ibm866 cp866 csibm866",
    "koi8-r": "koi8-r koi8 koi koi8_r cskoi8r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman csmacintosh",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "windows-874 iso-8859-11 iso8859-11 iso885911 tis-620 dos-874",
    "cp1250": "windows-1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 cp1251 x-cp1251",
    "cp1252": "windows-1252 cp1252 x-cp1252",
    "cp1253": "windows-1253 cp1253 x-cp1253",
    "cp1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 iso88599 iso_8859-9 iso-ir-148"
    " csisolatin5 latin5 l5",
    "cp1255": "windows-1255 cp1255 x-cp1255",
    "cp1256": "windows-1256 cp1256 x-cp1256",
    "cp1257": "windows-1257 cp1257 x-cp1257",
    "cp1258": "windows-1258 cp1258 x-cp1258",
    "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 csgb2312 csiso58gb231280 iso-ir-58"
    " chinese",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022_jp": "iso-2022-jp csiso2022jp",
    "cp932": "shift_jis shift-jis sjis x-sjis csshiftjis ms_kanji ms932 windows-31j",
    "cp949": "euc-kr cseuckr korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 csksc56011987"
    " iso-ir-149 windows-949",
}
_CODECS = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}


def codec_of(label: str) -> str | None:
    return _CODECS.get(label.strip().lower())


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
