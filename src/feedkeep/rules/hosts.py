"""Hosts that podcast apps can request (C3.1). Pure.

AntennaPod's parser (OkHttp 4.12, with java.net.IDN) throws on other hosts, and AntennaPod then
stops syncing that account.
"""

from __future__ import annotations

import re
import stringprep
import unicodedata

from feedkeep.model.errors import InvalidFeedUrl

MAX_HOST_CHARACTERS = 253
"""Maximum length of a host in ASCII, without a dot at its end (RFC 1035)."""

_MAX_LABEL_CHARACTERS = 63
_DOTS = re.compile("[.\u3002\uff0e\uff61]")
_LABEL = rf"[^\x00-\x20\x7f#%/:?@\[\\\].]{{1,{_MAX_LABEL_CHARACTERS}}}"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")


def check_host(host: str) -> None:
    """Check the host of a feed URL that `parse_feed_url` accepts.

    Raises:
        InvalidFeedUrl: An app cannot request it.
    """
    if host.startswith("["):
        if "%" in host:
            raise InvalidFeedUrl("IPv6 address with a zone: remove the zone.")
        return
    name = host if host.isascii() else _encoded(host)
    name = name.removesuffix(".")
    if len(name) > MAX_HOST_CHARACTERS:
        raise InvalidFeedUrl(
            "Host too long: it can have at most {max} characters.", max=MAX_HOST_CHARACTERS
        )
    if not _NAME.fullmatch(name):
        raise InvalidFeedUrl(
            "Invalid host: each part between dots must have 1 to 63 characters, and no percent sign"
            " or other special character."
        )


def _encoded(host: str) -> str:
    """Encode a host in ASCII, by IDNA 2003.

    The codec is slow, and punycode takes quadratic time in the length of a label. So a host that is
    too long is returned unchanged, or rejected, before that; after normalizing it, since one
    character can become 18.
    """
    if len(host) > MAX_HOST_CHARACTERS + 1:
        return host
    labels = _DOTS.split(unicodedata.normalize("NFKC", host))
    is_short = all(len(label) <= _MAX_LABEL_CHARACTERS for label in labels)
    # The codec encodes characters that Unicode 3.2 lacks, such as most emoji; java.net.IDN throws.
    if is_short and not any(map(stringprep.in_table_a1, host)):
        try:
            return host.encode("idna").decode()
        except UnicodeError:
            pass
    raise InvalidFeedUrl(
        'Invalid host: apps cannot encode one of its characters. Write its ASCII form ("xn--...").'
    )
