"""ETags, and the conditions of requests that name them (RFC 9110, section 8.8)."""

from __future__ import annotations

import hashlib

CACHED_BY_ITS_OWNER = {
    "Cache-Control": "private, no-cache",
    "Vary": "Authorization, Accept-Encoding",
}
"""The headers of replies that have an ETag (C1.17)."""


def digest_of(body: bytes) -> str:
    """Return the tag of a body."""
    return hashlib.sha256(body).hexdigest()[:32]


def names(header: str, tag: str) -> bool:
    """Whether a header of a condition names a tag.

    A proxy that compresses makes the tag weak, as nginx does, or adds to it, as Apache does. It is
    a digest of all that is shown, so that it means the same in these forms.
    """
    return tag in header or header.strip() == "*"
