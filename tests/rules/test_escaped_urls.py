from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.escaped_urls import MAX_CHARACTERS, EscapedUrls, without_escapes
from feedkeep.rules.feed_urls import parse_feed_url, trimmed

HOST = "https://a.example/"


def others(sent: str, *stored: str) -> list[str]:
    return [url.text for url in EscapedUrls(stored).others(sent)]


@given(st.text(alphabet="aé:/?&=#~@ ", min_size=1, max_size=12), st.data())
def test_a_url_is_found_however_it_was_escaped(path, data):
    """Each character may have been escaped or not, as the author of the URL did it."""
    may_be_left = [character not in "# é" and data.draw(st.booleans()) for character in path]
    stored = HOST + "".join(
        character if is_left else quote(character, safe="")
        for character, is_left in zip(path, may_be_left, strict=True)
    )
    sent = HOST + path.replace("#", "%23")
    assume(sent == trimmed(sent) and parse_feed_url(stored).guid != guid_of(sent))
    assert stored in others(sent, stored)


def guid_of(text: str) -> str:
    try:
        return parse_feed_url(text).guid
    except InvalidFeedUrl:
        return ""


@pytest.mark.parametrize(
    "stored",
    [
        "https://a.example/users%3A1",
        "https://a.example/users%3a1/",
        "http://a.example/users%3A1#top",
        "https://a.example/%75sers:1",
    ],
)
def test_a_url_is_found_by_any_usual_spelling_without_its_escapes(stored):
    assert others("feed:https://a.example/users:1", stored) == [stored]
    assert others("\ufeffhttps://a.example/users:1\ufeff", stored) == [stored]


def test_a_url_that_an_app_has_escaped_is_the_one_without_escapes():
    assert others("https://a.example/users%3A1") == ["https://a.example/users:1"]


@pytest.mark.parametrize(
    "sent",
    ["https://a.example", "https://a.example/b:c", "a.example/b c", "https://a.example/%C3", ""],
)
def test_what_no_url_is_once_decoded_has_no_others(sent):
    stored = [sent, "https://a.example/%62%63", f"https://a.example/{'%41' * MAX_CHARACTERS}"]
    assert [url for url in others(sent, *stored) if "\ufffd" not in url] == []


def test_of_many_urls_that_are_the_same_once_decoded_none_is_meant():
    stored = [HOST + "".join(("a", "%61")[n >> bit & 1] for bit in range(4)) for n in range(1, 10)]
    assert len(others(HOST + "aaaa", *stored[:8])) == 8
    assert others(HOST + "aaaa", *stored) == []


def test_a_text_with_white_space_is_the_only_url_that_it_can_be():
    spaces, tabs = HOST + "a%20b", HOST + "%61%20b"
    assert EscapedUrls([spaces]).parsed(HOST + "a b").text == spaces
    for known in ([], [spaces, tabs]):
        with pytest.raises(InvalidFeedUrl):
            EscapedUrls(known).parsed(HOST + "a b")


def test_what_is_left_without_escapes_has_no_protocol_fragment_or_slash_at_its_end():
    assert without_escapes("https://a.example/%7Ex/%2F#b") == "a.example/~x"
