"""Titles and folders of an owner on the pages: from a file, typed, in lists and in exports."""

import re
from html import unescape

import pytest
from known_feeds import know
from page_client import PageClient, Shown, guid_of, place_of, signed_in

from feedkeep.formats.listed_feed import ListedFeed
from feedkeep.web.imports import _lines

KNOWN = "https://titled.example/known"
DEAD = "https://titled.example/dead"
LIST = f"""<opml><outline text="News / Talk"><outline text="Daily">
<outline text="Old name" xmlUrl="{KNOWN}"/><outline text="Täglich &amp; &lt;b&gt;" xmlUrl="{DEAD}"/>
</outline></outline></opml>"""
FOLDER = "News/Talk / Daily"


@pytest.fixture
def anna(feedkeep):
    know(feedkeep, KNOWN, "Of the feed")
    return signed_in(feedkeep)[0]


def sent(preview: Shown) -> dict[str, str]:
    """Return the hidden fields of a preview's form."""
    text = r'<textarea name="(\w+)" hidden>\n([^<]*)</textarea>'
    return {name: unescape(value) for name, value in re.findall(text, preview.reply.text)}


def imported(anna: PageClient) -> Shown:
    return anna.post("/import/carry-out", sent(anna.post("/import", {"text": LIST})))


def filled_in(anna: PageClient, url: str) -> list[str]:
    """Return the title and the folder that the page of a feed has in its form."""
    text = r'<input id="(?:title|folder)" name="\w+" value="([^"]*)"'
    return [unescape(value) for value in re.findall(text, anna.get(place_of(url)).reply.text)]


def test_an_import_keeps_titles_and_folders_and_all_that_names_feeds_has_them(anna):
    assert imported(anna).note.startswith("Added 2 feeds")
    assert anna.titles() == ["Of the feed", "Täglich & <b>"]
    assert filled_in(anna, KNOWN) == ["Of the feed", FOLDER]
    assert filled_in(anna, DEAD) == ["Täglich & <b>", FOLDER]
    exported = anna.get("/export/opml").reply.text
    assert '<outline text="News/Talk" title="News/Talk">' in exported
    assert 'text="Täglich &amp; &lt;b&gt;" title=' in exported
    assert 'text="Of the feed" title=' in exported
    assert "Täglich" in anna.get("/export/json").reply.text
    assert "Täglich" not in anna.get("/export/urls").reply.text
    assert anna.post(f"{place_of(DEAD)}/delete").note.startswith("Deleted Täglich & <b>")
    assert "Täglich &amp; &lt;b&gt;" in anna.get("/changes").reply.text
    assert anna.get(place_of(DEAD)).status == 410
    assert anna.post(f"{place_of(DEAD)}/label", {"title": "x"}).status == 410


def test_import_form_has_one_line_for_each_title_and_folder():
    feed = ListedFeed(1, KNOWN, None, title=f"A\n{DEAD}", folder=f"B\n{DEAD}\tC")
    assert _lines([feed]) == f"\tB {DEAD} C\n{KNOWN}\tA {DEAD}"


def test_a_typed_title_goes_before_the_feeds_and_no_import_replaces_it(anna):
    imported(anna)
    stamp = anna.get("/").reply.text.partition("data-stamp=")[2][:20]
    page = anna.post(f"{place_of(KNOWN)}/label", {"title": " Mine\n", "folder": "A /  B"})
    assert page.note == "Saved."
    assert anna.get("/").reply.text.partition("data-stamp=")[2][:20] == stamp
    assert filled_in(anna, KNOWN) == ["Mine", "A / B"]
    preview = anna.post("/import", {"text": LIST})
    assert "feeds in your list get" not in preview.reply.text
    assert sent(preview) == {}
    assert anna.titles() == ["Mine", "Täglich & <b>"]
    anna.post(f"{place_of(KNOWN)}/label", {"title": "", "folder": ""})
    assert filled_in(anna, KNOWN) == ["Of the feed", ""]


def test_feeds_of_the_list_get_titles_from_a_file_without_being_changed(anna):
    anna.add(KNOWN, DEAD)
    preview = anna.post("/import", {"text": LIST})
    assert "2 feeds in your list get their titles or folders from this file." in preview.text
    assert sent(preview)["list"] == ""
    before = anna.get("/changes").reply.text.count("<li")
    assert anna.post("/import/carry-out", sent(preview)).note == "Saved."
    assert anna.get("/changes").reply.text.count("<li") == before
    assert filled_in(anna, DEAD) == ["Täglich & <b>", FOLDER]


def test_what_a_form_sends_by_itself_is_bounded_too(anna):
    lines = f"\t{'f' * 999}\n{DEAD}\t{'t' * 999}\tx\n\t\n{KNOWN}\n"
    anna.post("/import/carry-out", {"list": lines})
    title, folder = filled_in(anna, DEAD)
    assert (len(title), len(folder)) == (200, 200)
    assert filled_in(anna, KNOWN) == ["Of the feed", ""]


def folders(anna: PageClient, path: str = "/") -> dict[str, list[str]]:
    """Return the titles of each group of a list."""
    groups = anna.get(path).reply.text.split('<details class="group" ')[1:]
    return {
        unescape(re.findall(r'data-folder="([^"]*)"', group)[0]): [
            unescape(title) for title in re.findall(r"<a id=f\d+ [^>]*>([^<]*)</a>", group)
        ]
        for group in groups
    }


def test_list_with_folders_is_grouped_and_filtered_by_them(anna):
    imported(anna)
    assert folders(anna) == {FOLDER: ["Of the feed", "Täglich & <b>"]}
    anna.add("https://titled.example/other")
    other = "titled.example/other"
    assert folders(anna) == {FOLDER: ["Of the feed", "Täglich & <b>"], "": [other]}
    assert folders(anna, "/?order=title") == {}  # and the browser remembers that
    assert folders(anna) == {}
    assert anna.titles() == ["Of the feed", "Täglich & <b>", other]
    assert "<option>News/Talk</option>" in anna.get("/").reply.text
    assert set(folders(anna, "/?folder=News/Talk&order=folder")) == {FOLDER}
    assert set(folders(anna, "/?folder=/")) == {""}
    assert "No feed is in this folder." in anna.get("/?folder=Music").text
    assert anna.titles("/?q=other") == [other]


def test_selected_feeds_move_to_a_folder_and_out_of_it(anna):
    imported(anna)
    both = [guid_of(KNOWN), guid_of(DEAD)]
    page = anna.post("/feeds/file", {"feed": both, "to": " New /  One\n", "order": "added"})
    assert page.note == "Moved 2 feeds to New / One."
    assert dict(page.reply.url.params) == {"order": "added"}
    assert filled_in(anna, DEAD)[1] == filled_in(anna, KNOWN)[1] == "New / One"
    assert "like that already" in anna.post("/feeds/file", {"feed": both, "to": "New / One"}).note
    assert "feeds in your list get" not in anna.post("/import", {"text": LIST}).reply.text
    assert anna.post("/feeds/file", {"feed": both[0]}).note == "Moved 1 feed out of its folder."
    assert set(folders(anna, "/?order=folder")) == {"", "New / One"}
    assert "Select at least one" in anna.post("/feeds/file", {"to": "New"}).note
    assert "like that already" in anna.post("/feeds/file", {"feed": ["x", ""], "to": "New"}).note


def test_folder_is_renamed_with_inner_ones_and_removed_without_its_feeds(anna):
    imported(anna)
    page = anna.post("/feeds/rename-folder", {"folder": "News/Talk", "name": "Spoken"})
    assert dict(page.reply.url.params) == {"folder": "Spoken"}
    assert set(folders(anna)) == {"Spoken / Daily"}
    for name, told in (("  ", "Type a name"), ("x" * 198, "too long for a folder")):
        page = anna.post("/feeds/rename-folder", {"folder": "Spoken", "name": name})
        assert page.status == 400
        assert told in page.problem("name")
        assert "<option selected>Spoken</option>" in page.reply.text
    page = anna.post("/feeds/remove-folder", {"folder": "Spoken"})
    assert page.note == "Removed the folder Spoken. Its feeds are still in your list."
    assert folders(anna) == {}
    assert anna.titles() == ["Of the feed", "Täglich & <b>"]
    assert "like that already" in anna.post("/feeds/remove-folder", {"folder": "Spoken"}).note
    assert "like that already" in anna.post("/feeds/remove-folder", {}).note


def test_each_look_of_the_list_is_remembered_by_the_browser(anna):
    imported(anna)
    grid = '<div id="feeds" class="grid">'
    assert grid not in anna.get("/").reply.text
    assert grid in anna.get("/?view=grid").reply.text
    assert grid in anna.get("/?order=added").reply.text
    again = anna.get("/").reply.text
    assert grid in again
    assert '<option value="added" selected>' in again
    assert grid not in anna.get("/?view=list").reply.text
    assert '<option value="added" selected>' in anna.get("/").reply.text
    anna.http.cookies.set("feedkeep_look", "x.y.z", domain="127.0.0.1")
    assert set(folders(anna)) == {FOLDER}
