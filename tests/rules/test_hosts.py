"""Contract, section 3: which hosts a new feed URL may have, compared with AntennaPod's parser."""

import encodings.idna
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.feed_urls import is_for_apps, parse_feed_url, parse_new_feed_url

LABEL = "a" * 63

# The verdicts are those of OkHttp 4.12.0 (HttpUrl.get) with java.net.IDN of OpenJDK 17. Android's
# java.net.IDN is ICU's, of the same standard (IDNA 2003), which may differ for odd names: it throws
# on names of more than 255 characters, too.
BOTH_ACCEPT = [
    "feeds.example.org", "my_pod.example", "r3---sn.x.com", "-a.example", "a-.example", "*.example",
    "a<b.example", "a|b.example", "a`b.example", "$&'()*+,;=.example", "~!.example", "localhost",
    "EXAMPLE.org", "example.org.", "1.2.3.4", "999.1.1.1", "0x7f.1", "1.2.3.4.5", "a:1", "a:65535",
    "a:00443", "a.example:", "user:pw@a.example", "a@b@c.example", "i\u2764.ws",
    "\u2764\ufe0f.example", "bücher.example", "BÜCHER.example", "bu\u0308cher.example",
    "\u00df.example", "\u03c2.example", "\ufb01.example", "\u0130.example", "\u4e2d\u56fd.example",
    "\u0e01.example", "\u05d0.example", "\u0627\u0644.example", "\U00010400.example",
    "\u10a0.example", "a\u00adb.example", "a\u200db.example", "a\u3002b", "a\uff0eexample",
    "a\u2024b.example", "xn--bcher-kva.example", "xn--zzzzzz.example", "xn--.example",
    f"{LABEL}.example", "\u00e9" * 50, ".".join([LABEL] * 3 + ["a" * 61]), "[::1]", "[::1]:8080",
    "[::]", "[::ffff:1.2.3.4]", "[1:2:3:4:5:6:7::]", "[2001:DB8::1]",
]  # fmt: skip
BOTH_REFUSE = {
    "Invalid host: each part": [
        "feeds..example.org", ".example.org", "example.org..", "..", f"a{LABEL}.example", "%s",
        "exa%20mple.org", "%E2%84%80.example",
        "\u2100.example.org", "a\uff0f.example", "\u2047.example", "\u00a8.example",  # a/c / ?? " "
    ],
    "Invalid host: apps cannot encode": [
        "a\u3002\u3002b", "\u00ad.example", "\u200b.example", "xn--\u00fc.example", "\u00e9" * 63,
        "\u05d0a.example", "1\u05d0.example", "\u0627-.example",  # left to right and right to left
        "\ue000.example", "\u06dd.example",
        # Not in Unicode 3.2, which Python's codec does not check.
        "\U0001f3a7.example", "\u1e9e.example", "\u20bf.example", "\u2c00.example",
    ],
    "Invalid port": ["a.example:0", "a.example:00", "[::1]:0", "a:65536", "a:-1", "a:x", "a:443:4"],
    "IPv6 address with a zone": ["[fe80::1%25eth0]", "[fe80::1%eth0]"],
    "Malformed IPv6 address": ["[v1.a]", "[1:2:3]", "[::01.2.3.4]"],
    "Backslash": ["\ue000\\@a.example"],
    "No host": ["user@"],
}  # fmt: skip
# No server has these names, or OkHttp requests another server than other clients do.
ONLY_FEEDKEEP_REFUSES = {
    "Invalid host: each part": [
        ".", "a%41.example", "a.%62", "a\u2024\u2024b.example", "\u2488.example",
    ],
    "Host too long": [".".join([LABEL] * 3 + ["a" * 62])],
    "Backslash": ["a\\b.example", "a\\@b.example"],
}  # fmt: skip


# C3.1, C3.18
@pytest.mark.parametrize("host", BOTH_ACCEPT)
def test_host_that_okhttp_accepts_is_accepted(host):
    url = f"https://{host}/feed"
    assert parse_new_feed_url(url) == parse_feed_url(url)
    assert is_for_apps(url)


# C3.1
@pytest.mark.parametrize(
    ("host", "reason"),
    [
        (host, reason)
        for refused in (BOTH_REFUSE, ONLY_FEEDKEEP_REFUSES)
        for reason, hosts in refused.items()
        for host in hosts
    ],
)
def test_impossible_host_is_refused_with_its_reason(host, reason):
    with pytest.raises(InvalidFeedUrl) as refused:
        parse_new_feed_url(f"https://{host}/feed")
    assert str(refused.value).startswith(reason)
    assert str(refused.value).endswith(".")


# C3.18
@pytest.mark.parametrize(
    "host", ["feeds..example", "\u2100.example", "a.example:0", "[fe80::1%25eth0]", "a\\b.example"]
)
def test_stored_url_with_an_impossible_host_is_read_and_withheld(host):
    assert parse_feed_url(f"https://{host}/feed").text == f"https://{host}/feed"
    assert not is_for_apps(f"https://{host}/feed")


LETTERS = st.characters(min_codepoint=0x21, exclude_categories=["Cs", "Z", "Cc"])


@given(st.text(LETTERS, min_size=1, max_size=20).filter(lambda host: not set(host) & {*"/?#@:[]"}))
def test_accepted_host_encodes_to_labels_without_special_characters(host):
    try:
        parse_new_feed_url(f"https://{host}/feed")
    except InvalidFeedUrl:
        return
    encoded = host.encode("idna").decode("ascii")
    assert len(encoded) <= 254
    assert not set(encoded) & {*" #%/:?@[\\]"}
    assert encoded.isprintable()
    assert all(0 < len(label) <= 63 for label in encoded.removesuffix(".").split("."))


MARKS = "\u0301\u0316"
VARIED = "".join(chr(0x4E00 + 37 * number) for number in range(254))


@pytest.mark.parametrize(
    "host",
    [
        "\ufdfa" * 254,  # each becomes 18 characters
        ".".join(["\ufdfa" * 3] * 63),
        f"a{MARKS * 126}",
        f"a{MARKS * 4_000}",
        VARIED,
        ".".join(VARIED[start : start + 14] for start in range(0, 238, 14)),
        "\u4e2d" * 8_000,
        "a." * 4_000,
        "x" * 8_000,
    ],
)
def test_long_host_is_refused_without_encoding_a_long_label(host, monkeypatch):
    encode = Mock(wraps=encodings.idna.ToASCII)
    monkeypatch.setattr(encodings.idna, "ToASCII", encode)
    with pytest.raises(InvalidFeedUrl):
        parse_new_feed_url(f"https://{host}/feed")
    # Punycode takes quadratic time in the length of a label.
    sizes = [len(call.args[0]) for call in encode.call_args_list]
    assert max(sizes, default=0) <= 63
    assert sum(sizes) <= 254
