"""Limits on depth and size of JSON from clients, checked before decoding. Pure."""

from __future__ import annotations

from itertools import accumulate

from feedkeep.model.errors import InvalidInput

MAX_JSON_DEPTH = 64
MAX_JSON_PARTS = 400_000
"""Maximum number of brackets, braces, commas and colons outside of strings.

Ten thousand episode actions have half of that. Decoding takes far more time and memory than the
text, and blocks the process.
"""

_AT_ONCE_BYTES = 65_536
_OTHER_BYTES = bytes(set(range(256)) - set(b"[]{},:"))
_STEPS = bytes(1 if byte in b"[{" else 255 if byte in b"]}" else 0 for byte in range(256))
"""Effect of each byte on the depth, as a signed byte."""


def check_json(data: bytes) -> None:
    """Check the depth and size of JSON (C1.11), but not its validity.

    Raises:
        InvalidInput: The JSON is too deep or too large.
    """
    if len(data) <= MAX_JSON_PARTS and data.count(b"[") + data.count(b"{") <= MAX_JSON_DEPTH:
        return
    plain = data.replace(rb"\\", b"").replace(rb"\"", b"")  # now each quote starts or ends a string
    is_in_text, depth, parts = False, 0, 0
    for start in range(0, len(plain), _AT_ONCE_BYTES):
        pieces = plain[start : start + _AT_ONCE_BYTES].split(b'"')
        outside = b"".join(pieces[is_in_text::2]).translate(None, _OTHER_BYTES)
        is_in_text ^= len(pieces) % 2 == 0
        depths = list(accumulate(memoryview(outside.translate(_STEPS)).cast("b"), initial=depth))
        depth, parts = depths[-1], parts + len(outside)
        if max(depths) > MAX_JSON_DEPTH:
            raise InvalidInput("The JSON is nested deeper than {max} levels.", max=MAX_JSON_DEPTH)
        if parts > MAX_JSON_PARTS:
            raise InvalidInput(
                "The JSON has more than {max} parts; split it into several.",
                max=MAX_JSON_PARTS,
            )
