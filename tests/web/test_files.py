"""Files that are no list, broken, hostile or too large: an error beside the field says so."""

import re
import time

import pytest
from forms import first_of, in_the_long_form
from playwright.sync_api import expect
from visitor import Visitor

from feedkeep.web.rows import ROWS_ON_A_PAGE

REFUSED = {
    "not a list of feeds": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(128, 256)),
    "This file is empty": b"",
    "JSON cannot be read": b'{"name": ',
    "declar": b"<!DOCTYPE opml [<!ENTITY a 'b'>]><opml><body/></opml>",
}
"""Rejected files, by a part of the error message: tests/formats has more."""


@pytest.fixture
def anna(service, visit, name):
    anna = visit(service, expected={400}).is_let_in(name)
    anna.follow("Import")
    return anna


def chosen(anna: Visitor, data: bytes) -> None:
    anna.chosen_file({"name": "feeds.opml", "mimeType": "text/x-opml", "buffer": data})


def test_what_is_no_list_is_refused_beside_the_field_and_changes_nothing(anna):
    for why, data in REFUSED.items():
        anna.open("/import")
        chosen(anna, data)
        expect(anna.field("File"), why).to_have_accessible_description(re.compile(why))
        expect(anna.field("File"), why).to_be_focused()
    anna.open("/")
    anna.sees_heading("Your list is empty")


def test_a_list_that_is_broken_in_places_is_read_and_one_that_was_pasted_can_be_mended(anna):
    chosen(anna, b"<opml><body><outline text='Q & A <b>' xmlUrl='https://a.example/'></body>")
    anna.sees_many("%(number)s new feed", "%(number)s new feeds", 1)
    anna.follow("Import")
    anna.page.locator("summary").click()
    anna.type("List", '{"subscriptions": [')
    anna.press("Preview changes")
    expect(anna.field("List")).to_have_value('{"subscriptions": [')
    anna.type("List", '{"subscriptions": [{"feed_url": "https://a.example/"}]}')
    anna.press("Preview changes")
    anna.sees_many("%(number)s new feed", "%(number)s new feeds", 1)


@pytest.fixture
def large(tmp_path):
    """A file of 100 megabytes."""
    large = tmp_path / "large.opml"
    with large.open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    return large


def test_a_file_that_is_too_large_is_not_even_sent(anna, large):
    small = large.with_name("small.opml")
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
def test_without_a_script_a_large_file_is_refused_with_a_sentence(service, visit, name, large):
    anna = visit(service, has_script=False, expected={413}).is_let_in(name)
    anna.follow("Import")
    anna.field("File").set_input_files(large)
    began = time.monotonic()
    anna.press("Preview changes")
    expect(anna.field("File")).to_have_accessible_description(re.compile("too large"))
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("has_script", first_of(False, True))
def test_a_long_list_is_imported_and_shown_in_pages(service, visit, name, has_script):
    anna = visit(service, has_script=has_script).is_let_in(name)
    anna.follow("Import")
    urls = [f"https://{number:04}.example/feed" for number in range(1_200)]
    chosen(anna, "\n".join(urls).encode())
    anna.sees_many("And %(number)s more.", "And %(number)s more.", 700)
    anna.page.get_by_role("button", name="Import these feeds").click()
    anna.sees("1,200 feeds")
    anna.follow("Next")
    anna.has_feeds([f"{number:04}.example/feed" for number in range(ROWS_ON_A_PAGE, 1_200)])
