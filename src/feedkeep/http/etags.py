"""ETags and conditional requests (RFC 9110, section 8.8)."""

from __future__ import annotations

import hashlib

CACHED_BY_ITS_OWNER = {
    "Cache-Control": "private, no-cache",
    "Vary": "Authorization, Accept-Encoding",
}
"""Headers of replies with an ETag (C1.17)."""


def digest_of(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:32]


def names(header: str, tag: str) -> bool:
    """Whether a conditional header contains a tag.

    Compressing proxies make a tag weak (nginx) or append to it (Apache). Such forms match, too: the
    tag is a digest of the content.
    """
    return tag in header or header.strip() == "*"
