"""Validation and equality of feed URLs and their hosts (contract, section 3). Pure."""

from __future__ import annotations

import ipaddress
import re
import stringprep
import unicodedata
import uuid
from base64 import urlsafe_b64decode
from contextlib import suppress
from functools import lru_cache
from urllib.parse import unquote

from feedkeep.model import Guid, Value
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.guids import derived_guid

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


PODCAST_NAMESPACE = uuid.UUID("ead4c236-bf58-58c6-a2c6-a6b28d128cb6")
"""The namespace of feed guids: the Podcasting 2.0 namespace specification, element guid."""

MAX_CHARACTERS = 8_192
DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_PORT = 65_535

LINK_SCHEMES = ("feed", "itpc", "pcast", "podcast", "antennapod-subscribe")
"""The protocols of subscribe links, which open a podcast app; no feed URL has one (C3.3)."""

_NAMESPACE_BYTES = PODCAST_NAMESPACE.bytes

# Nearly all feed URLs: normalizing only strips trailing slashes.
_USUAL = re.compile(r"https?://([a-z0-9.-]+(?:[/?][!\"$-~]*)?)")

# Nearly all hosts: two to four short parts, which need no further check.
_USUAL_HOST = re.compile(r"https?://(?:[a-z0-9-]{1,60}\.){1,3}[a-z0-9-]{1,60}(?=[/?])").match

# What str.strip() removes, and U+FEFF, with which many files begin.
_WHITE_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_ONLY_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_FORBIDDEN = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# As in "mailto:a@b.example", but not in "localhost:8000" and "a.example:8000/feed".
_SCHEME_ALONE = re.compile(r"([A-Za-z][A-Za-z0-9+-]*):(?![0-9]{1,5}(?:[/?#]|\Z))")
_SECOND_SCHEME = re.compile(r"[A-Za-z]+://(?:[A-Za-z][A-Za-z0-9+-]*:/|https?//)", re.IGNORECASE)
_SUBSCRIBE_LINK = re.compile(rf"(?:{'|'.join(LINK_SCHEMES)}):(?://)?", re.IGNORECASE)
_LINK_WITH_A_FEED = re.compile(
    r"[^?#\s]*/subscribe/?\?(?:[^#\s]*&)?url=([^&#\s]+)\S*", re.IGNORECASE
)
# A name with a dot whose last part contains a letter, or four numbers. File names such as
# "feeds.opml" match, too: there is no list of all top-level domains.
_WITHOUT_SCHEME = re.compile(
    r"(?://)?(?:(?:[\w-]+\.)+[^\W\d_][\w-]+\.?|(?:[0-9]{1,3}\.){3}[0-9]{1,3}|localhost)"
    r"(?::[0-9]+)?(?:[/?].*)?"
)
_YOUTUBE_CHANNEL = re.compile(
    r"https?://(?:www\.|m\.)?youtube\.com/channel/(UC[0-9A-Za-z_-]{22})(?:[/?#]\S*)?", re.IGNORECASE
)
_YOUTUBE_PLAYLIST = re.compile(
    r"https?://(?:www\.|m\.|music\.)?youtube\.com/playlist\?(?:[^#\s]*&)?"
    r"list=((?:PL|UU|FL|OLAK)[0-9A-Za-z_-]{10,})(?:[&#]\S*)?",
    re.IGNORECASE,
)
_YOUTUBE_FEED = "https://www.youtube.com/feeds/videos.xml"
_GOOGLE_PODCAST = re.compile(
    r"https?://podcasts\.google\.com/(?:\?feed=|feed/)([0-9A-Za-z_-]+)=*(?:[/?&#%]\S*)?",
    re.IGNORECASE,
)
_AUTHORITY_END = re.compile(r"[/?#]")
_HOST_AND_PORT = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]*)(?::(.*))?")
_PORT = re.compile(r"0*([0-9]{1,5})")


class FeedUrl(Value, frozen=True):
    """An accepted feed URL.

    Attributes:
        text: The URL as it was sent, without surrounding white space (C3.2).
        guid: The guid derived from it; two URLs with the same guid name the same feed.
    """

    text: str
    guid: Guid


def parse_feed_url(text: str) -> FeedUrl:
    """Parse a feed URL.

    Older lists have URLs that `parse_new_feed_url` rejects; this still accepts them.

    The derived guid is a UUIDv5 over the URL without scheme, fragment and trailing slashes, with
    the host in lower case and without the scheme's default port. Nothing else is normalized (C3.4).

    Raises:
        InvalidFeedUrl: With a message that starts with the reason.
    """
    if (usual := _USUAL.fullmatch(text)) and len(text) <= MAX_CHARACTERS:
        return FeedUrl(text, derived_guid(_NAMESPACE_BYTES, usual[1].rstrip("/")))
    return _parse_any(text)


def guid_of(url: str) -> Guid:
    """Return the derived guid of a valid feed URL."""
    return parse_feed_url(url).guid


def parse_new_feed_url(text: str) -> FeedUrl:
    """Parse the URL of a feed that is added, or the new URL of a feed (C3.1).

    A second protocol, as in `http://https://host/feed`, is a mistake of the app or person:
    literally, `https` is the host.

    Raises:
        InvalidFeedUrl: With a message that starts with the reason.
    """
    url = parse_feed_url(text)
    if _SECOND_SCHEME.match(url.text):
        raise InvalidFeedUrl("Two protocols present: remove the first one.")
    if not _USUAL_HOST(url.text):
        _check_authority(authority_of(url.text))
    return url


def is_for_apps(feed_url: str) -> bool:
    """Whether a stored URL is sent to apps that identify feeds by URL (C3.18)."""
    if _USUAL_HOST(feed_url):
        return True
    try:
        _check_authority(authority_of(feed_url))
    except InvalidFeedUrl:
        return False
    return True


def trimmed(text: str) -> str:
    """Remove surrounding white space (C3.2)."""
    return text.strip(_WHITE_SPACE)


def as_linked(text: str) -> str:
    """Return the feed URL in a subscribe link; other texts unchanged.

    Such links have a protocol that opens a podcast app, instead of `https:` or before it.
    """
    stripped = trimmed(text)
    if len(stripped) > MAX_CHARACTERS or not (link := _SUBSCRIBE_LINK.match(stripped)):
        return text
    return _with_scheme(stripped[link.end() :])


def as_typed(text: str) -> str:
    """Return the feed URL that a person typed, copied or pasted; other texts unchanged.

    Browsers hide the protocol, and so do our own lists.
    """
    text = trimmed(as_linked(text))
    return text if len(text) > MAX_CHARACTERS else _with_scheme(text)


def as_feed_url(text: str) -> str:
    """As `as_typed`, for a feed to add: replaces the page of a YouTube channel by its feed.

    The pages of channels and playlists of YouTube, and those of Google Podcasts, contain the
    address of the feed.
    """
    text = as_typed(text)
    if len(text) > MAX_CHARACTERS:
        return text
    if channel := _YOUTUBE_CHANNEL.fullmatch(text):
        return f"{_YOUTUBE_FEED}?channel_id={channel[1]}"
    if playlist := _YOUTUBE_PLAYLIST.fullmatch(text):
        return f"{_YOUTUBE_FEED}?playlist_id={playlist[1]}"
    if podcast := _GOOGLE_PODCAST.fullmatch(text):
        with suppress(ValueError):
            found = urlsafe_b64decode(podcast[1] + "=" * (-len(podcast[1]) % 4)).decode()
            return found if _ONLY_URL.fullmatch(found) else text
    return text


def as_pasted(text: str) -> str:
    """As `as_feed_url`, also for a web link to subscribe that contains a feed URL.

    An example is antennapod.org/deeplink/subscribe?url=... Use it only for text that one person
    pastes: a list may have a feed at such an address.
    """
    if len(text) > MAX_CHARACTERS:
        return text
    # With white space in it, the pattern would be tried again at each of its characters.
    link = _LINK_WITH_A_FEED.fullmatch(text.strip()) if len(text.split()) == 1 else None
    carried = as_typed(unquote(link[1])) if link else ""
    return carried if "://" in carried else as_feed_url(text)


def _with_scheme(text: str) -> str:
    return f"https://{text.removeprefix('//')}" if _WITHOUT_SCHEME.fullmatch(text) else text


def authority_of(url: str) -> str:
    """Return user info, host and port of a feed URL as written.

    Python refuses to split some valid feed URLs, such as one with "\u2100" in its host.
    """
    start = url.find("://") + len("://")
    end = match.start() if (match := _AUTHORITY_END.search(url, start)) else len(url)
    return url[start:end]


def host_of(url: str) -> str:
    """Return the host of a feed URL in lower case, an IPv6 address with its brackets."""
    return _host_and_port_of(authority_of(url))[0].lower()


def _host_and_port_of(authority: str) -> tuple[str, str]:
    match = _HOST_AND_PORT.fullmatch(authority.rpartition("@")[2])
    return (match[1], match[2] or "") if match else ("", "")


@lru_cache(maxsize=512)  # 4 MB with the longest ones; asked for each feed and action of a sync
def _check_authority(authority: str) -> None:
    if "\\" in authority:  # browsers and apps take it for "/": the host ends there
        raise InvalidFeedUrl('Backslash in the host: write "/" instead.')
    host, port = _host_and_port_of(authority)
    check_host(host)
    if port and not int(port):
        raise _invalid_port()


def is_https(url: str) -> bool:
    return url[: len("https:")].lower() == "https:"


def is_safer(url: str, other: str) -> bool:
    """Whether only the first URL is an HTTPS URL."""
    return is_https(url) and not is_https(other)


def usual_spellings(url: str) -> list[str]:
    """Return a feed URL, and the common other spellings that name the same feed.

    These are with HTTPS and with HTTP, and with and without a slash at the end of the path.

    Raises:
        InvalidFeedUrl: `url` is not a feed URL.
    """
    guid = parse_feed_url(url).guid
    rest = url.partition("://")[2].partition("#")[0]
    without = rest.rstrip("/")
    rests = [rest, without] if "?" in rest else [rest, without, f"{without}/"]
    others = [f"{scheme}://{one}" for scheme in ("https", "http") for one in rests]
    # With another scheme's port, a URL names another feed.
    fitting = [
        one for one in others if len(one) <= MAX_CHARACTERS and parse_feed_url(one).guid == guid
    ]
    return list(dict.fromkeys([url, *fitting]))


def _parse_any(text: str) -> FeedUrl:
    """Parse any URL, in twice the time."""
    url = trimmed(text)
    if len(url) > MAX_CHARACTERS:
        raise InvalidFeedUrl(
            "URL too long: it can have at most {max} characters.", max=MAX_CHARACTERS
        )
    if _FORBIDDEN.search(url):
        raise InvalidFeedUrl("White space or a control character inside the URL: remove it.")
    scheme = _scheme(url)
    authority = authority_of(url)
    end = len(scheme) + len("://") + len(authority)
    user_info, at, location = authority.rpartition("@")
    if "[" in user_info or "]" in user_info:
        raise InvalidFeedUrl("Malformed brackets: they belong around an IPv6 address only.")
    host, port = _host_and_port(location, scheme.lower())
    path_and_query = url[end:].partition("#")[0]
    name = f"{user_info}{at}{host.lower()}{port}{path_and_query}".rstrip("/")
    return FeedUrl(url, derived_guid(_NAMESPACE_BYTES, name))


def _scheme(url: str) -> str:
    match = _SCHEME.match(url)
    named = match or _SCHEME_ALONE.match(url)
    if named and named[1].lower() not in DEFAULT_PORTS:
        raise InvalidFeedUrl(
            'Unsupported protocol "{protocol}": use "https" or "http".', protocol=named[1]
        )
    if match is None:
        raise InvalidFeedUrl('No protocol present: start the URL with "https://" or "http://".')
    return match[1]


def _host_and_port(location: str, scheme: str) -> tuple[str, str]:
    """Return the host, and the port with its colon unless it is the scheme's default."""
    match = _HOST_AND_PORT.fullmatch(location)
    if match is None:
        raise InvalidFeedUrl("Malformed brackets: they belong around an IPv6 address only.")
    host, port = match.groups()
    if not host:
        raise InvalidFeedUrl('No host present: a name has to follow "://".')
    if host.startswith("["):
        _check_ipv6(host[1:-1])
    # An empty port is the default: RFC 3986, section 3.2.3.
    if not port or _port_number(port) == DEFAULT_PORTS[scheme]:
        return host, ""
    return host, f":{port}"


def _check_ipv6(address: str) -> None:
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        raise InvalidFeedUrl("Malformed IPv6 address between the brackets.") from None


def _port_number(text: str) -> int:
    match = _PORT.fullmatch(text)
    number = int(match.group(1)) if match else None
    if number is None or number > MAX_PORT:
        raise _invalid_port()
    return number


def _invalid_port() -> InvalidFeedUrl:
    return InvalidFeedUrl("Invalid port: a number from 1 to 65535 is expected after the host.")
