"""Detection of personal feed URLs. Pure.

Such a URL is a secret: feeds for members have a key in their URL. With `fetch = public`, they are
not fetched unless a subscriber permits it. Some hosts give every feed a random id, also public
ones, so patterns of host and path tell where an id is public. A host alone does not: the same hosts
serve feeds for members.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote

from feedkeep.model import Fetch
from feedkeep.rules.feed_urls import authority_of, host_of

_LEAST_CHARACTERS = 20
_CHANGES_IN_A_CHARACTER = 0.25
"""Rate of changes between digits, small letters and capitals in keys; words rarely have as many."""

# A capital before a small letter begins a word, as in "TheNews".
_CHANGE = re.compile(r"[0-9](?=[A-Za-z])|[a-z](?=[0-9A-Z])|[A-Z](?=[0-9])")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]")

_ID = r"[0-9A-Za-z_-]+"
_HEX = r"[0-9a-f]{24,32}"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PUBLIC = re.compile(
    "|".join(
        (
            rf"(?:(?:www\.)?omnycontent\.com|(?:www\.|traffic\.)?omny\.fm)/d/playlist/{_ID}/{_ID}/{_ID}/podcast\.rss",
            rf"(?:feeds\.acast\.com|feed\.pippa\.io)/public/(?:shows|streams)/{_ID}",
            rf"access\.acast\.com/rss/{_ID}(?:/default)?",  # other last segments are tokens
            rf"feeds\.redcircle\.com/{_UUID}",
            rf"serve\.podhome\.fm/rss/{_UUID}",
            rf"wavlake\.com/feed/(?:music/|artist/)?{_UUID}",
            rf"(?:www\.)?listennotes\.com/c/r/{_HEX}",
            rf"fetchrss\.com/(?:rss|feed)/{_ID}\.(?:xml|atom)",
            rf"feeds\.audiomeans\.fr/feed/{_UUID}\.xml",
            rf"feeds\.soundon\.fm/podcasts/{_UUID}\.xml",
            rf"(?:feed|open)\.firstory\.me/rss/user/{_ID}",
            rf"rss\.castbox\.fm/everest/{_HEX}\.xml",
            rf"feeds\.hubhopper\.com/{_HEX}\.rss",
            rf"feeds\.360\.audion\.fm/{_ID}",
            rf"rss\.hosting\.thisisdax\.com/{_UUID}",
            rf"letscast\.fm/podcasts/{_ID}/feed",
            rf"open\.spotify\.com/show/{_ID}",
            rf"radiofrance-podcast\.net/podcast\d+/(?:{_UUID}/)?(?:podcast|rss)_{_ID}\.xml",
        )
    ),
    re.IGNORECASE,
)
"""Host and path of feeds whose ids look random and are public."""

_YOUTUBE_CHANNEL = re.compile(r"UC[0-9A-Za-z_-]{21}[AQgw]")
"""The id of a YouTube channel, which is public everywhere: RSSHub and Invidious use it, too.

Its last letter has four of six bits, since an id has 16 bytes; few keys match.
"""

_PUBLIC_FIELDS = {
    r"(?:www\.|m\.)?youtube\.com/feeds/videos\.xml": {"channel_id", "playlist_id"},
    r"us\d+\.campaign-archive\d?\.com/feed": {"id", "u"},
}
"""Query fields whose values look random and are public, by patterns of host and path."""

_MEMBERSHIP_HOSTS = (
    "buymeacoffee.com",
    "floatplane.com",
    "glow.fm",
    "helloaudio.fm",
    "memberful.com",
    "passport.online",
    "patreon.com",
    "patreonusercontent.com",
    "pico.link",
    "private.captivate.fm",
    "steady.page",
    "steadyhq.com",
    "subscribers.transistor.fm",
    "supercast.com",
    "supercast.tech",
    "supportingcast.fm",
)
"""Hosts that serve feeds only to paying members; their subdomains count, too."""

_PRIVATE_FIELD = re.compile(
    r"(?:.*[_-])?(?:auth|(?:api|auth|member|pass|rss|wpm)?key|pass|passwd|password|pwd|secret|sig"
    r"|signature|(?:access)?token)",
    re.IGNORECASE,
)
"""Query fields whose value is a secret, however short, such as `user_key`."""

_DOUBTFUL_FIELDS = {"hash", "session", "sid"}
"""Query fields whose value is a secret if it looks random; others number a section or a topic."""
_LEAST_DOUBTFUL_CHARACTERS = 8

_PRIVATE_FOLDER = "private"


def may_look_at(url: str, fetch: Fetch, *, is_permitted: bool = False) -> bool:
    """Whether the setting `fetch` permits fetching a feed.

    `is_permitted` tells whether a subscriber has permitted it although the URL looks personal.
    """
    return fetch is Fetch.ALL or (
        fetch is Fetch.PUBLIC and (is_permitted or not looks_personal(url))
    )


def looks_personal(url: str) -> bool:
    """Whether a URL has user info, a token, a membership host or a random-looking part.

    Unlike `urlsplit`, it takes linear time in the length of a stranger's URL.
    """
    host, authority = host_of(url).rstrip("."), authority_of(url)
    if not host or "@" in authority or _is_of_members(host):
        return True
    rest = url.partition("://")[2][len(authority) :].partition("#")[0]
    path, _, query = rest.partition("?")
    fields = parse_qsl(query, keep_blank_values=True)
    if any(value and _PRIVATE_FIELD.fullmatch(name) for name, value in fields):
        return True
    doubtful = [value for name, value in fields if name.lower() in _DOUBTFUL_FIELDS]
    if any(_looks_random(value, _LEAST_DOUBTFUL_CHARACTERS) for value in doubtful):
        return True
    place = host + path.rstrip("/")
    for pattern, public in _PUBLIC_FIELDS.items():
        if re.fullmatch(pattern, place, re.IGNORECASE):
            fields = [(name, value) for name, value in fields if name not in public]
    pieces = () if _PUBLIC.fullmatch(place) else unquote(path).split("/")
    if _PRIVATE_FOLDER in pieces:
        return True
    texts = [text for field in fields for text in field]  # a query may be a key without a name
    return any(map(_looks_random, (*pieces, *texts)))


def _is_of_members(host: str) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in _MEMBERSHIP_HOSTS)


def _looks_random(text: str, least_characters: int = _LEAST_CHARACTERS) -> bool:
    """Whether a text looks like a key: a guid does, a title with a year does not."""
    characters = _SEPARATORS.sub("", text)
    if len(characters) < least_characters or _YOUTUBE_CHANNEL.fullmatch(text):
        return False
    changes = len(_CHANGE.findall(characters))
    return changes >= _CHANGES_IN_A_CHARACTER * len(characters)
