"""URLs chosen by a stranger: each has one reading, and ambiguous ones are rejected."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.outbound import targets
from feedkeep.outbound.failures import Failure, RequestRefused
from feedkeep.outbound.targets import FetchTarget


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("http://a.example", "http://a.example/"),
        (" HTTPS://A.Example.:443/B?c=D#e\n", "https://a.example/B?c=D"),
        ("http://a.example:080?x", "http://a.example/?x"),
        ("http://a.example:", "http://a.example/"),
        ("http://a.example:8080/", "http://a.example:8080/"),
        ("http://a_b.example/ä b\\%20%zz", "http://a_b.example/%C3%A4%20b%5C%20%zz"),
        ("http://me:s ecret@a.example/", "http://me:s%20ecret@a.example/"),
        ("http://@a.example/", "http://@a.example/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://\u2603.example/", "http://xn--n3h.example/"),
        ("http://\uff21.example/", "http://a.example/"),
        ("http://8.8.8.8./", "http://8.8.8.8/"),
        ("http://8\u30028\uff0e8\uff618/", "http://8.8.8.8/"),
        ("http://\uff11\uff12\uff17.0.0.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0:0::1]:443/", "http://[2001:db8::1]:443/"),
        ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
        ("http://a.example/\udcff", "http://a.example/%FF"),
        ("http://a.example/@b.example:1/[x]", "http://a.example/@b.example:1/[x]"),
    ],
)
def test_a_url_has_one_spelling(text, spelling):
    assert FetchTarget.parse(text).text == spelling


@pytest.mark.parametrize(
    "text",
    ["", "a.example", "//a.example/", "http:a.example", "http:/a.example", "http:\\\\a.example",
     "ftp://a.example/", "file:///etc/passwd", "gopher://a.example/", "javascript:alert(1)",
     "data:,x", "unix:///run/x.sock", "http+unix://x/", "://a.example/",
     "http://", "http:///x", "http://?x", "http://:80/", "http://@/", "http://.", "http://a..b/",
     "http://a.example\\@b.example/", "http://a@b@c.example/", "http://a.example:80:80/",
     "http://a.example:x/", "http://a.example:-1/", "http://a.example:65536/",
     "http://a.example:000080/", "http://a.example :80/", "http://a.exa mple/",
     "http://a.example\t/", "http://a.exam\nple/", "http://a.example/\r\nHost: b", "http://a\x00/",
     "http://a.example/\x85",
     "http://127%2e0.0.1/", "http://%61.example/", "http://a.example%00.b/", "http://a.ex%25/",
     "http://127.1/", "http://127.0.1/", "http://2130706433/", "http://017700000001/",
     "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0x7f.1/", "http://0177.0.0.1/",
     "http://127.0.0.01/", "http://127.0.0.0x1/", "http://256.0.0.1/", "http://1.2.3.4.5/",
     "http://0/", "http://0x/", "http://a.0x7f/", "http://a.1/", "http://0x7f\u30021/",
     "http://\uff10\uff58\uff17f.1/",
     "http://[::1/", "http://::1/", "http://[]/", "http://[127.0.0.1]/", "http://[::1]x/",
     "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[::1%251]/", "http://[[::1]]/",
     "http://a[::1]/", "http://[v1.x]/", "http://[::ffff:127.1]/",
     "http://a\uff0fb.example/", "http://a\uff20b.example/", "http://a\uff03.example/",
     "http://a\uff1a80/", "http://\u2100.example/", "http://\ud800/", "http://a.example/\ud800",
     "http://" + "a" * 64 + ".example/", "http://" + "ä" * 999 + "/", "http://" + "a." * 127 + "a/",
     "http://a.example/" + "x" * 8_192],
)  # fmt: skip
def test_what_programs_read_in_different_ways_is_refused(text):
    with pytest.raises(RequestRefused) as raised:
        FetchTarget.parse(text)
    assert raised.value.kind is Failure.REFUSED
    assert str(raised.value).endswith(".")


@given(
    st.one_of(
        st.text(st.sampled_from("htps:/\\@[]%?#.ab01x:\t é\u3002"), max_size=40).map(
            lambda end: f"http://{end}"
        ),
        st.text(max_size=40).map(lambda end: f"https://{end}"),
    )
)
def test_what_is_judged_is_what_is_asked(text):
    with suppress(RequestRefused):
        target = FetchTarget.parse(text)
        url = target.url
        asked = (url.scheme, url.raw_host, url.port, url.raw_user, url.raw_fragment)
        assert asked == (target.scheme, target.host, target.port, None, "")
        assert url.raw_path_qs.rstrip("?") == target.path.rstrip("?")
        assert target.text.isascii()
        assert target.text.isprintable()
        assert FetchTarget.parse(target.text) == target


@pytest.mark.parametrize(
    ("location", "leads_to"),
    [
        ("", "http://me:x@a.example:8080/b/c?d"),
        ("e", "http://me:x@a.example:8080/b/e"),
        (" /e ", "http://me:x@a.example:8080/e"),
        ("?f", "http://me:x@a.example:8080/b/c?f"),
        ("//b.example/e", "http://b.example/e"),
        ("https://a.example/", "https://a.example/"),
        ("/\\b.example", "http://me:x@a.example:8080/%5Cb.example"),
        ("http:e", "http://me:x@a.example:8080/b/e"),
    ],
)
def test_a_redirect_leads_on_from_where_it_was_told(location, leads_to):
    here = FetchTarget.parse("http://me:x@a.example:8080/b/c?d")
    assert here.followed(location).text == leads_to


@pytest.mark.parametrize("location", ["http://[", "//[x", "ftp://b.example", "\x00", "//b\\@c/"])
def test_a_redirect_to_what_is_no_url_is_refused(location):
    with pytest.raises(RequestRefused):
        FetchTarget.parse("http://a.example/").followed(location)


def test_user_info_is_a_name_and_a_password_in_bytes():
    parsed = FetchTarget.parse
    assert parsed("http://a.example/").authorization is None
    assert parsed("http://me@a.example/").authorization == "Basic bWU6"
    assert parsed("http://m%65:%C3%BC:%0d@a.example/").authorization == "Basic bWU6w7w6DQ=="


def test_a_host_that_is_longer_than_any_name_is_refused_before_its_punycode_is_made(monkeypatch):
    def never(*_, **__):
        raise AssertionError("it takes ten seconds for 8,000 letters")

    monkeypatch.setattr(targets.URL, "build", never)
    with pytest.raises(RequestRefused, match="host"):
        FetchTarget.parse(f"http://{'é' * 254}/")
    with pytest.raises(RequestRefused, match="host"):
        FetchTarget.parse("http://a.example").followed(f"//{'é' * 254}/")
