"""Titles and folders of an owner on the pages: from a file, typed, in lists and in exports."""

from __future__ import annotations

import re
from html import unescape

import pytest
from feedkeep_process import FeedkeepProcess
from known_feeds import know
from page_client import PageClient, Shown, signed_in

from feedkeep.formats.listed_feed import ListedFeed
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.web.imports import _lines

KNOWN = "https://titled.example/known"
DEAD = "https://titled.example/dead"
LIST = f"""<opml><outline text="News / Talk"><outline text="Daily">
<outline text="Old name" xmlUrl="{KNOWN}"/><outline text="Täglich &amp; &lt;b&gt;" xmlUrl="{DEAD}"/>
</outline></outline></opml>"""
FOLDER = "News/Talk / Daily"


@pytest.fixture
def anna(feedkeep: FeedkeepProcess) -> PageClient:
    know(feedkeep, KNOWN, "Of the feed")
    return signed_in(feedkeep)[0]


def sent(preview: Shown) -> dict[str, str]:
    """Return what the form of a preview sends."""
    text = r'<textarea name="(\w+)" hidden>\n([^<]*)</textarea>'
    return {name: unescape(value) for name, value in re.findall(text, preview.reply.text)}


def imported(anna: PageClient, text: str = LIST) -> Shown:
    return anna.post("/import/carry-out", sent(anna.post("/import", {"text": text})))


def place(url: str) -> str:
    return f"/feeds/{parse_feed_url(url).guid}"


def filled_in(anna: PageClient, url: str) -> list[str]:
    """Return the title and the folder that the page of a feed has in its form."""
    text = r'<input id="(?:title|folder)" name="\w+" value="([^"]*)"'
    return [unescape(value) for value in re.findall(text, anna.get(place(url)).reply.text)]


def titles(anna: PageClient) -> list[str]:
    found = re.findall(r"<a id=f\d+ [^>]*>([^<]*)</a>", anna.get("/").reply.text)
    return [unescape(title) for title in found]


def test_an_import_keeps_titles_and_folders_and_an_export_has_them(anna: PageClient) -> None:
    assert imported(anna).note.startswith("Added 2 feeds")
    assert titles(anna) == ["Of the feed", "Täglich & <b>"]
    assert filled_in(anna, KNOWN) == ["Of the feed", FOLDER]
    assert filled_in(anna, DEAD) == ["Täglich & <b>", FOLDER]
    exported = anna.get("/export/opml").reply.text
    assert '<outline text="News/Talk" title="News/Talk">' in exported
    assert 'text="Täglich &amp; &lt;b&gt;" title=' in exported
    assert 'text="Of the feed" title=' in exported
    assert "Täglich" in anna.get("/export/json").reply.text
    assert "Täglich" not in anna.get("/export/urls").reply.text


def test_import_form_has_one_line_for_each_title_and_folder() -> None:
    feed = ListedFeed(1, KNOWN, None, title=f"A\n{DEAD}", folder=f"B\n{DEAD}\tC")
    assert _lines([feed]) == f"\tB {DEAD} C\n{KNOWN}\tA {DEAD}"


def test_a_typed_title_goes_before_the_feeds_and_no_import_replaces_it(anna: PageClient) -> None:
    imported(anna)
    stamp = anna.get("/").reply.text.partition("data-stamp=")[2][:20]
    page = anna.post(f"{place(KNOWN)}/label", {"title": " Mine\n", "folder": "A /  B"})
    assert page.note == "Saved."
    assert anna.get("/").reply.text.partition("data-stamp=")[2][:20] == stamp
    assert filled_in(anna, KNOWN) == ["Mine", "A / B"]
    preview = anna.post("/import", {"text": LIST})
    assert "feeds in your list get" not in preview.reply.text
    assert sent(preview) == {}
    assert titles(anna) == ["Mine", "Täglich & <b>"]
    anna.post(f"{place(KNOWN)}/label", {"title": "", "folder": ""})
    assert filled_in(anna, KNOWN) == ["Of the feed", ""]


def test_feeds_of_the_list_get_titles_from_a_file_without_being_changed(anna: PageClient) -> None:
    anna.post("/feeds/add", {"urls": f"{KNOWN}\n{DEAD}"})
    preview = anna.post("/import", {"text": LIST})
    assert "2 feeds in your list get their titles or folders from this file." in preview.text
    assert sent(preview)["list"] == ""
    before = anna.get("/changes").reply.text.count("<li")
    assert anna.post("/import/carry-out", sent(preview)).note == "Saved."
    assert anna.get("/changes").reply.text.count("<li") == before
    assert filled_in(anna, DEAD) == ["Täglich & <b>", FOLDER]


def test_what_a_form_sends_by_itself_is_bounded_too(anna: PageClient) -> None:
    lines = f"\t{'f' * 999}\n{DEAD}\t{'t' * 999}\tx\n\t\n{KNOWN}\n"
    anna.post("/import/carry-out", {"list": lines})
    title, folder = filled_in(anna, DEAD)
    assert (len(title), len(folder)) == (200, 200)
    assert filled_in(anna, KNOWN) == ["Of the feed", ""]


def test_an_undo_and_the_history_call_a_feed_by_its_title(anna: PageClient) -> None:
    imported(anna)
    assert anna.post(f"{place(DEAD)}/delete").note.startswith("Deleted Täglich & <b>")
    assert "Täglich &amp; &lt;b&gt;" in anna.get("/changes").reply.text
    assert anna.get(place(DEAD)).status == 410
    assert anna.post(f"{place(DEAD)}/label", {"title": "x"}).status == 410
