"""Files that are no list, broken, hostile or too large: a sentence beside the field says why."""

import re
import time

import pytest
from forms import IS_LONG, in_the_long_form
from playwright.sync_api import expect
from visitor import Visitor

from feedkeep.web.rows import ROWS_ON_A_PAGE

PASSWORD = "a good passphrase"
MEGABYTES = 1024 * 1024
BOMB = (
    b"<!DOCTYPE opml ["
    + b"".join(
        b'<!ENTITY a%d "%s">' % (number, b"&a%d;" % (number - 1) * 10) for number in range(1, 10)
    )
    + b"]><opml><body><outline text='&a9;' xmlUrl='https://a.example/'/></body></opml>"
)
REFUSED = {
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(128, 256)), "not a list of feeds"),
    "words": (b"Dear reader,\n\nthis is a letter.\n", "not a list of feeds"),
    "nothing": (b"", "This file is empty"),
    "white space": (b" \r\n\t\n", "This file is empty"),
    "music": (b"ID3\x04\0\0\0\0\0\0" * 99, "not a list of feeds"),
    "JSON of something else": (b'{"name": "me"}', "JSON has no list"),
    "broken JSON": (b'{"name": ', "JSON cannot be read"),
    "a web page": (b"<!doctype html><title>x</title><p>Hello", "not a list of feeds"),
    "a bomb": (BOMB, "declar"),
}
READ = {
    "UTF-16": "<opml><body><outline text='Ü' xmlUrl='https://ü.example/ö'/></body></opml>".encode(
        "utf-16"
    ),
    "Latin-1": "<?xml version='1.0' encoding='ISO-8859-1'?><opml><body><outline text='Ü' xmlUrl='https://a.example/ü'/></body></opml>".encode(
        "latin-1"
    ),
    "Latin-1 without saying so": "# Überschrift\nhttps://a.example/\n".encode("latin-1"),
    "broken in places": b"<opml><body><outline text='Q & A <b>' xmlUrl='https://a.example/'></body>",
}


@pytest.fixture(scope="module")
def name(service):
    return service.new_account(PASSWORD)


@pytest.fixture
def anna(service, visit, name):
    anna = visit(service)
    anna.expected.add(400)
    anna.is_let_in(name, PASSWORD)
    anna.follow("Import")
    return anna


def chosen(anna: Visitor, data: bytes) -> None:
    anna.chosen_file({"name": "feeds.opml", "mimeType": "text/x-opml", "buffer": data})


def test_what_is_no_list_is_refused_beside_the_field_and_changes_nothing(anna):
    for what, (data, why) in list(REFUSED.items())[:: 1 if IS_LONG else 2]:
        anna.open("/import")
        chosen(anna, data)
        expect(anna.field("File"), what).to_have_accessible_description(re.compile(why))
        expect(anna.field("File"), what).to_be_focused()
    anna.open("/")
    anna.sees_heading("Your list is empty")


def test_other_encodings_and_what_is_broken_in_places_are_read(anna):
    for data in READ.values() if IS_LONG else [READ["broken in places"]]:
        anna.open("/import")
        chosen(anna, data)
        anna.sees_many("%(number)s new feed", "%(number)s new feeds", 1)


def test_a_broken_list_that_was_pasted_is_still_there_to_be_mended(anna):
    anna.page.locator("summary").click()
    anna.type("List", '{"subscriptions": [')
    anna.press("Preview changes")
    expect(anna.field("List")).to_have_value('{"subscriptions": [')
    anna.type("List", '{"subscriptions": [{"feed_url": "https://a.example/"}]}')
    anna.press("Preview changes")
    anna.sees_many("%(number)s new feed", "%(number)s new feeds", 1)


def test_a_file_that_is_too_large_is_not_even_sent(anna, tmp_path):
    large, small = tmp_path / "large.opml", tmp_path / "small.opml"
    with large.open("wb") as file:
        file.truncate(100 * MEGABYTES)
    small.write_bytes(b"https://a.example/\n")
    anna.press("Preview changes")
    anna.sees("Choose a file, or paste a list.")
    too_large = re.compile("This file is too large")
    anna.field("File").set_input_files(large)
    expect(anna.field("File")).to_have_accessible_description(too_large)
    expect(anna.field("File")).to_have_value("")
    anna.field("File").set_input_files(small)
    expect(anna.field("File")).not_to_have_accessible_description(too_large)
    anna.press("Preview changes")
    anna.sees_many("%(number)s new feed", "%(number)s new feeds", 1)


@in_the_long_form
def test_without_a_script_a_file_of_100_megabytes_is_refused_with_a_sentence(
    service, visit, name, tmp_path
):
    large = tmp_path / "large.opml"
    with large.open("wb") as file:
        file.truncate(100 * MEGABYTES)
    anna = visit(service, has_script=False)
    anna.expected.add(413)
    anna.is_let_in(name, PASSWORD)
    anna.follow("Import")
    anna.field("File").set_input_files(large)
    began = time.monotonic()
    anna.press("Preview changes")
    expect(anna.field("File")).to_have_accessible_description(re.compile("too large"))
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("has_script", [False, True] if IS_LONG else [False])
def test_a_long_list_is_imported_and_shown_in_pages(service, visit, has_script):
    anna = visit(service, has_script=has_script)
    anna.is_let_in(service.new_account(PASSWORD), PASSWORD)
    anna.follow("Import")
    urls = [f"https://{number:04}.example/feed" for number in range(1_200)]
    chosen(anna, "\n".join(urls).encode())
    anna.sees_many("And %(number)s more.", "And %(number)s more.", 700)
    anna.page.get_by_role("button", name="Import these feeds").click()
    anna.sees("1,200 feeds")
    anna.follow("Next")
    anna.has_feeds([f"{number:04}.example/feed" for number in range(ROWS_ON_A_PAGE, 1_200)])
