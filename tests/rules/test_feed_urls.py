"""Contract, section 3: which texts are feed URLs and guids, and which URLs name the same feed."""

import sys
import uuid
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model.errors import InvalidFeedUrl, InvalidInput
from feedkeep.rules import feed_urls as rules
from feedkeep.rules.feed_urls import as_linked, as_typed, parse_feed_url
from feedkeep.rules.guids import parse_guid


def guid(url: str) -> str:
    return parse_feed_url(url).guid


# C3.4
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://podnews.net/rss", "9b024349-ccf0-5f69-a609-6b82873eab3c"),
        ("https://mp3s.nashownotes.com/pc20rss.xml", "917393e3-1b1e-5cef-ace4-edaa54e1f810"),
    ],
)
def test_derived_guid_has_the_published_check_values(url, expected):
    assert guid(url) == expected


SAME = [
    "http://example.com/Feed", "HTTPS://example.com/Feed", "https://EXAMPLE.com/Feed",
    "https://example.com/Feed/", "https://example.com/Feed///", "https://example.com/Feed#top",
    "https://example.com/Feed/#top", "https://example.com/Feed#a#b/",
    "https://example.com:443/Feed", "https://example.com:0443/Feed", "http://example.com:80/Feed",
    "https://example.com:/Feed", " \t\r\n\f\vhttps://example.com/Feed\n",
    "\u00a0\u2003https://example.com/Feed\u3000\ufeff",
]  # fmt: skip
OTHERS = [
    "https://example.com/feed", "https://example.com/Feed?", "https://example.com/Feed?page=1",
    "https://example.com/%46eed", "https://www.example.com/Feed", "https://user@example.com/Feed",
    "https://example.com:80/Feed", "http://example.com:443/Feed", "https://example.com:8443/Feed",
    "https://example.com//Feed",
]  # fmt: skip


# C3.4
@pytest.mark.parametrize(
    ("url", "is_same"), [*((url, True) for url in SAME), *((url, False) for url in OTHERS)]
)
def test_spellings_name_the_same_feed_or_another(url, is_same):
    assert (guid(url) == guid("https://example.com/Feed")) is is_same


def test_only_the_host_is_lowered_not_the_user_information():
    assert guid("https://Bob:Pw@EXAMPLE.com/") == guid("http://Bob:Pw@example.com")
    assert guid("https://Bob:Pw@example.com") != guid("https://bob:pw@example.com")


AS_SENT = [
    "https://user:p%40ss@example.com/feed?token=a%20b&x=[1]", "http://[::1]:8080/feed",
    "http://example.com:0/feed", "http://example.com:65535/feed", "https://bücher.example/ünï",
    "https://a@b@example.com/", "http://localhost", "https://example.com/" + "a" * (8_192 - 20),
]  # fmt: skip


# C3.1, C3.2
@pytest.mark.parametrize("url", AS_SENT)
def test_url_is_stored_as_it_was_sent(url):
    assert parse_feed_url(f"  {url} ").text == url


REFUSED = {
    "No protocol present": [
        "", "example.com/feed", "//example.com/feed", "http:/example.com", "://example.com",
        "1http://example.com", "http:example.com", "example.com:8080/feed", "localhost:8000",
        "localhost:8000?feed", "example.com:feed",
    ],
    'Unsupported protocol "ftp"': ["ftp://example.com/feed"],
    'Unsupported protocol "mailto"': ["mailto:a@b.example"],
    'Unsupported protocol "tel"': ["tel:+4930123456", "tel:4930123456"],
    'Unsupported protocol "javascript"': ["javascript:alert(1)"],
    'Unsupported protocol "urn"': ["urn:uuid:9b024349-ccf0-5f69-a609-6b82873eab3c"],
    'Unsupported protocol "feed"': ["feed:https://example.com/feed"],
    'Unsupported protocol "file"': ["file:/feed.xml"],
    'Unsupported protocol "Feed"': ["Feed://example.com/feed"],
    "No host present": [
        "http://", "http:///feed", "http://user@/feed", "http://:80/feed", "http://?a", "http://#a",
    ],
    "Invalid port": [
        "http://example.com:65536/", "http://example.com:99999/",
        "http://example.com:" + "9" * 5_000, "http://example.com:-1/",
        "http://example.com:\uff18\uff10/", "http://example.com:a/", "http://a:b:1/",
    ],
    "Malformed brackets": [
        "http://[::1", "http://exa]mple/", "http://a[::1]/", "http://[::1]a/",
        "http://[us@er]@example.com/",
    ],
    "Malformed IPv6 address": ["http://[zzz]/", "http://[]/"],
    "White space": [
        "http://[not an address]/", "http://exa mple.com/", "http://example.com/a\nb",
        "http://example.com/a\u00a0b", "http://example.com/a\u0000b", "http://example.com/a\u007f",
        "http://example.com/a\u0085b",
    ],
    "URL too long": ["https://example.com/" + "a" * (8_193 - 20)],
}  # fmt: skip


# C3.1, C5.3
@pytest.mark.parametrize(
    ("url", "reason"), [(url, reason) for reason, urls in REFUSED.items() for url in urls]
)
def test_message_for_a_refused_url_starts_with_the_reason(url, reason):
    with pytest.raises(InvalidFeedUrl) as refused:
        parse_feed_url(url)
    assert str(refused.value).startswith(reason)
    assert str(refused.value).endswith(".")


HOSTS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,20}[A-Za-z0-9])?", fullmatch=True)
PATHS = st.from_regex(r"(/[A-Za-z0-9._~%?&=-]{0,10}){0,4}", fullmatch=True)


SCHEMES, PORTS = st.sampled_from(["http", "https", "HTTP"]), st.none() | st.integers(0, 65_535)


@given(SCHEMES, HOSTS, PORTS, PATHS)
def test_any_url_has_the_guid_that_its_parts_give(scheme, host, port, path):
    url = f"{scheme}://{host}{'' if port is None else f':{port}'}{path}"
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}[parts.scheme]
    name = parts.hostname or ""
    name += "" if parts.port in {None, default} else f":{parts.port}"
    name += parts.path + (f"?{parts.query}" if "?" in url else "")
    assert guid(url) == str(uuid.uuid5(rules.PODCAST_NAMESPACE, name.rstrip("/")))


@given(st.text(max_size=60) | st.text(max_size=60).map("http://".__add__))
def test_any_text_is_accepted_or_refused_with_a_reason(text):
    try:
        url = parse_feed_url(text)
    except InvalidFeedUrl as refused:
        assert str(refused)
    else:
        assert parse_feed_url(url.text) == url


def found(url: str) -> str:
    """Return the guid of a URL, or why it has none."""
    try:
        return guid(url)
    except InvalidFeedUrl as refused:
        return str(refused)


@given(st.text(alphabet='aA.-:@/?#%[]8"~! \n\x7f\u00e9\u3000', max_size=20))
def test_short_way_for_usual_urls_decides_as_the_long_one_does(rest):
    # A scheme in capital letters is not usual, and names the same feed.
    assert found(f"https://{rest}") == found(f"HTTPS://{rest}")
    assert found(f"http://a.b{rest}") == found(f"HTTP://a.b{rest}")


@pytest.mark.parametrize(
    ("url", "rests"),
    [
        ("https://a.example/feed", ["a.example/feed", "a.example/feed/"]),
        ("http://a.example/feed//", ["a.example/feed//", "a.example/feed", "a.example/feed/"]),
        ("https://a.example/?id=7", ["a.example/?id=7"]),
        ("https://me:secret@a.example/x#y", ["me:secret@a.example/x", "me:secret@a.example/x/"]),
        ("https://a.example:8443", ["a.example:8443", "a.example:8443/"]),
    ],
)
def test_url_has_usual_spellings(url, rests):
    found = rules.usual_spellings(url)
    assert found[0] == url
    assert {*found} == {url, *(f"{s}://{rest}" for s in ("http", "https") for rest in rests)}
    assert len({*found}) == len(found)


@given(SCHEMES, st.text(alphabet="aA.-:@/?#[]8\u00e9", max_size=20))
def test_usual_spellings_name_the_same_feed_and_no_other(scheme, rest):
    try:
        named = parse_feed_url(f"{scheme}://{rest}")
    except InvalidFeedUrl:
        return
    assert {parse_feed_url(one).guid for one in rules.usual_spellings(named.text)} == {named.guid}


def test_longest_url_has_spellings_that_are_urls():
    url = f"http://a.example/{'x' * (rules.MAX_CHARACTERS - 17)}"
    assert rules.usual_spellings(url) == [url]  # with a slash, or with https, it would be too long


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("podnews.net/rss", "https://podnews.net/rss"),
        (" a.example:8080/feed?x=1#y ", "https://a.example:8080/feed?x=1#y"),
        ("bücher.example", "https://bücher.example"),
        ("feed:https://a.example/feed", "https://a.example/feed"),
        ("feed:http://a.example/feed", "http://a.example/feed"),
        ("feed://a.example/feed", "https://a.example/feed"),
        ("PCAST://a.example/feed", "https://a.example/feed"),
        ("itpc://a.example/feed", "https://a.example/feed"),
        ("podcast://a.example/feed", "https://a.example/feed"),
        ("http://a.example/feed", "http://a.example/feed"),
        ("ftp://a.example/feed", "ftp://a.example/feed"),
        ("anna@a.example", "anna@a.example"),
        ("no address", "no address"),
        ("feedkeep", "feedkeep"),
        ("1.2", "1.2"),
        ("feed:8080/rss", "8080/rss"),
        ("192.0.2.7:8080/feed", "https://192.0.2.7:8080/feed"),
        ("localhost:8080/feed", "https://localhost:8080/feed"),
        ("//a.example/feed", "https://a.example/feed"),
        ("a.example./feed", "https://a.example./feed"),
        ("a.example/two words", "https://a.example/two words"),
        ("", ""),
        ("a." * 5_000 + "example", "a." * 5_000 + "example"),  # no address is that long
    ],
)
def test_what_a_person_types_is_taken_for_the_address_that_they_mean(typed, meant):
    assert as_typed(typed) == meant


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("https://antennapod.org/deeplink/subscribe?url=https%3A%2F%2Fa.example%2Fx&title=A",
         "https://a.example/x"),
        ("gpodder.example/subscribe?x=1&url=feed%3A%2F%2Fa.example%2Fx%3Fa%3D1#end",
         "https://a.example/x?a=1"),
        ("https://b.example/subscribe?url=nothing", "https://b.example/subscribe?url=nothing"),
        ("https://b.example/subscribe?curl=https://a.example",
         "https://b.example/subscribe?curl=https://a.example"),
        ("https://a.example/my feed", "https://a.example/my feed"),
        ("https://a.example https://b.example", "https://a.example https://b.example"),
        ("Lage der Nation", "Lage der Nation"),
        ("", ""),
        ("x" * (rules.MAX_CHARACTERS + 1), "x" * (rules.MAX_CHARACTERS + 1)),
    ],
)  # fmt: skip
def test_what_a_person_pastes_is_the_feed_that_it_carries(pasted, meant):
    assert rules.as_pasted(pasted) == meant


LONG_PAGE = f"https://podcasts.google.com/feed/aHR0cHM6Ly9hLmV4YW1wbGUv{'YWFh' * 8_192}"


@pytest.mark.parametrize(
    ("page", "feed"),
    [
        ("https://www.youtube.com/playlist?list=PLx0sYbCqOb8TBPRdmBHs5Iftvv9TPboYG",
         "https://www.youtube.com/feeds/videos.xml?playlist_id=PLx0sYbCqOb8TBPRdmBHs5Iftvv9TPboYG"),
        ("m.youtube.com/playlist?si=1&list=UUBJycsmduvYEL83R_U4JriQ&x=1",
         "https://www.youtube.com/feeds/videos.xml?playlist_id=UUBJycsmduvYEL83R_U4JriQ"),
        ("https://www.youtube.com/playlist?list=WL", "https://www.youtube.com/playlist?list=WL"),
        ("https://podcasts.google.com/feed/aHR0cHM6Ly9hLmV4YW1wbGUvcnNz", "https://a.example/rss"),
        ("https://podcasts.google.com/feed/aHR0cHM6Ly9hLmV4YW1wbGUvcg/episode/x?sa=X",
         "https://a.example/r"),
        ("https://podcasts.google.com/feed/zzz", "https://podcasts.google.com/feed/zzz"),
        (LONG_PAGE, LONG_PAGE),
    ],
)  # fmt: skip
def test_page_that_contains_the_address_of_its_feed_becomes_it(page, feed):
    assert rules.as_feed_url(page) == feed


@given(
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x2FF, exclude_categories=["Z", "C"]))
)
def test_any_feed_url_comes_out_of_a_link_as_it_was_put_in(rest):
    url = f"https://a.example/{rest}"
    link = f"https://apps.example/subscribe?url={quote(url, safe='')}&title=A%20show"
    assert rules.as_pasted(link) == url


@pytest.mark.parametrize("scheme", ["feed", "itpc", "pcast", "podcast", "antennapod-subscribe"])
def test_link_to_subscribe_is_understood_with_each_of_its_protocols(scheme):
    for begin in (f"{scheme}:", f"{scheme.upper()}://"):
        for as_meant in (as_linked, as_typed):
            assert as_meant(f" {begin}a.example/feed\n") == "https://a.example/feed"
            assert as_meant(f"{begin}http://a.example/feed") == "http://a.example/feed"


@pytest.mark.parametrize(
    "text",
    ["feeds.opml", "a.example/feed", "//a.example/feed", " https://a.example/feed ",
     "http://https://a.example/feed", "feeds:a.example/feed", "feed", "", f"feed:{'a.' * 5_000}a"],
)  # fmt: skip
def test_what_is_no_link_to_subscribe_stays_as_it_is(text):
    assert as_linked(text) == text


# C3.2
@pytest.mark.parametrize("scheme", ["https", "HTTPS"])
def test_white_space_around_a_url_is_removed(scheme):
    url = f"{scheme}://a.example/feed"
    around = [character for character in map(chr, range(sys.maxunicode)) if character.isspace()]
    for character in [*around, "\ufeff", " \ufeff\u3000"]:
        assert rules.parse_new_feed_url(f"{character}{url}{character}").text == url
        assert as_typed(f"{character}{url}{character}") == url
        assert as_linked(f"{character}feed:{url}{character}") == url


# C3.1
@pytest.mark.parametrize(
    "url",
    ["http://https://a.example/x", "http://https//a.example/x", " https://HTTP:/a.example ", "HTTP://feed://a.example",
     as_typed("feed://http://https://a.example/x")],
)  # fmt: skip
def test_second_protocol_is_refused_for_what_is_new_only(url):
    with pytest.raises(InvalidFeedUrl, match="Two protocols present"):
        rules.parse_new_feed_url(url)
    assert parse_feed_url(url).guid  # lists from before have some


@pytest.mark.parametrize(
    "url", ["https://http/feed", "http://https:8080//x", "https://a.example:/feed", "http://feed"]
)
def test_host_may_be_called_like_a_protocol(url):
    assert rules.parse_new_feed_url(url) == parse_feed_url(url)


# C3.5
@given(st.uuids())
def test_any_version_in_any_case_is_given_back_in_lower_case(value):
    assert parse_guid(str(value).upper()) == str(value)
    assert parse_guid(str(value)) == str(value)


CUT = "9b024349-ccf0-5f69-a609-6b82873eab3"
NO_GUIDS = [
    "", "x", "9b024349ccf05f69a6096b82873eab3c", f"{{{CUT}c}}", f"urn:uuid:{CUT}c", CUT,
    f"{CUT}c\n", f" {CUT}c", f"{CUT}g", f"{CUT}\uff11", "9b02-4349-ccf05f69-a609-6b82873eab3c",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_GUIDS)
def test_any_other_text_is_not_a_guid(text):
    with pytest.raises(InvalidInput, match="Not a guid"):
        parse_guid(text)
