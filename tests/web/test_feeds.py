"""My feeds: adding, unsubscribing from several, taking back, and one feed; over HTTP."""

import hmac
import re
from base64 import urlsafe_b64encode
from html import unescape

import pytest
from feedkeep_process import FeedkeepProcess
from page_client import PageClient, administrator, guid_of, place_of, signed_in

from feedkeep.web.imports import SHOWN

NEW = "https://new.example/feed"


def url(number: int) -> str:
    return f"https://{number}.example/feed"


def guid(number: int) -> str:
    return guid_of(url(number))


def place(number: int) -> str:
    return place_of(url(number))


def add(anna: PageClient, count: int) -> None:
    assert anna.add(*map(url, range(count))).note.startswith("Added")


def test_of_several_lines_each_is_added_or_says_why_not_and_stays_to_be_corrected(anna):
    page = anna.add(url(1), "feeds", "", url(2))
    assert page.status == 400
    assert "Added 2 feeds." in page.note
    assert page.problem("urls").startswith("feeds This is not an address.")
    assert ">feeds</textarea>" in page.reply.text
    assert anna.listed() == {guid(1), guid(2)}


def test_what_a_list_or_a_browser_shows_of_an_address_can_be_typed(anna):
    add(anna, 3)
    page = anna.add("0.example/feed", "feed://new.example/feed")
    assert "Added 1 feed" in page.note
    assert NEW in anna.exported()
    assert anna.post(f"{place(0)}/merge", {"other_url": "1.example/feed"}).status == 200
    assert anna.post(f"{place(0)}/move", {"new_url": "moved.example/feed"}).status == 200
    assert "https://moved.example/feed" in anna.exported()
    anna.add(f"- A show: {url(3)},", f"B <{url(4)}>")  # a pasted title is no part of the address
    page = anna.add(f"C {url(5)} {url(6)}")
    assert "several addresses" in page.problem("urls")
    assert {guid(3), guid(4)} < anna.listed()
    assert not {guid(5), guid(6)} & anna.listed()


def test_what_is_pasted_into_an_import_is_read_as_what_is_typed(anna):
    preview = anna.post("/import", {"text": "pasted.example/rss\nfeed:https://pasted.example/two"})
    assert "https://pasted.example/rss\nhttps://pasted.example/two" in preview.reply.text
    assert "completed with “https://”: 1, such as https://pasted.example/rss." in preview.text
    nothing = anna.post("/import", {"text": "# only a comment"})
    assert "There is no feed in this list." in nothing.text


def test_a_preview_shows_names_and_lets_single_feeds_be_left_out(anna):
    outlines = "".join(
        f'<outline type="rss" text="Show {number}" xmlUrl="{url(number)}"/>' for number in range(3)
    )
    opml = f"<opml version='2.0'><body>{outlines}<outline xmlUrl='{url(3)}'/></body></opml>"
    preview = anna.post("/import", {"text": opml})
    assert "Show 0 0.example" in preview.text
    assert "4 new feeds" in preview.text
    assert "3.example/feed" in preview.text
    form = {name: preview.values(name) for name in ("boxes", "take")}
    assert form == {"boxes": ["4"], "take": ["0", "1", "2", "3"]}
    lines = "\n".join(url(number) for number in range(5))  # more than there are boxes for
    none = anna.post("/import/carry-out", {"list": url(0), "boxes": "1"})
    assert (none.path, none.note) == ("/import", "Select at least one feed first.")
    anna.post("/import/carry-out", {"list": lines, "boxes": "4", "take": ["1", "3"]})
    assert anna.listed() == {guid(1), guid(3), guid(4)}
    refused = anna.post("/import/carry-out", {"list": "ftp://a.example", "boxes": "1", "take": "0"})
    assert refused.path == "/"
    assert refused.note.startswith("1 feed could not be added")
    preview = anna.post("/import", {"text": f"{url(1)}\nfile:///home/notes.xml"})
    assert "1 is in your list already." in preview.text
    assert "1 cannot be added." in preview.text
    assert "file:///home/notes.xml" in preview.text


def test_preview_asks_about_doubtful_feeds_and_says_what_it_dropped(anna):
    left = f'<outline text="Old" xmlUrl="{url(1)}" subscribed="0"/>'
    again = f'<outline text="Again" xmlUrl="{url(0)}/"/>'
    outlines = (
        f'<outline text="Show" xmlUrl="{url(0)}"/>{left}{again}<outline type="rss" text="Lost"/>'
    )
    preview = anna.post("/import", {"text": f"<opml><body>{outlines}</body></opml>"})
    assert preview.values("boxes") == ["2"]
    assert re.findall(r'name="take" value="(\d)" checked', preview.reply.text) == ["0"]
    assert "You had left this feed" in preview.text
    assert "more than once; the first one counts" in preview.text
    assert "<code>Lost</code>" in preview.reply.text
    lines = [f'<outline xmlUrl="{url(number)}" subscribed="0"/>' for number in range(SHOWN + 1)]
    preview = anna.post("/import", {"text": f"<opml>{''.join(lines)}</opml>"})
    assert preview.values("boxes") == [str(SHOWN)]
    assert url(SHOWN) not in preview.reply.text  # without a box, it is not added


def test_table_with_several_columns_of_addresses_is_asked_about(anna):
    table = f"name,link,podcast\nA,https://a.example,{url(0)}\nB,https://b.example,{url(1)}"
    page = anna.post("/import", {"text": table})
    assert "link, podcast" in page.problem("column")
    assert "<option>podcast</option>" in page.reply.text
    preview = anna.post("/import", {"text": table, "column": "podcast"})
    assert f"{url(0)}\tA\n{url(1)}\tB" in preview.reply.text


def test_account_download_is_imported(anna, feedkeep):
    add(anna, 2)
    anna.post(f"{place(0)}/label", {"title": "Mine", "folder": "A / B"})
    text = anna.get("/account/download").reply.text
    other = signed_in(feedkeep)[0]
    preview = other.post("/import", {"text": text})
    assert f"\tA / B\n{url(0)} {guid(0)}\tMine" in preview.reply.text
    assert preview.values("boxes") == ["2"]


def test_who_unsubscribes_goes_on_where_they_were(anna):
    add(anna, 3)
    shown = anna.get("/?order=added&q=example&page=1&x=1")
    names = ("order", "q", "page")
    view = {name: shown.values(name)[-1] for name in names}
    assert view == {"order": "added", "q": "example", "page": "1"}
    done = anna.post("/feeds/unsubscribe", {"only": guid(0), **view})
    assert str(done.reply.url).endswith("/?order=added&q=example&page=1")
    odd = anna.post("/feeds/unsubscribe", {"only": guid(1), "q": "ü&=\r\nx" + "y" * 999})
    assert odd.status == 200
    assert len(str(odd.reply.url)) < 500


@pytest.mark.parametrize(
    ("lines", "told", "kept"),
    [
        ([""], "address of a feed", ""),
        (["  ", " "], "address of a feed", ""),
        (["# only a comment"], "address of a feed", ""),
        ([url(number) for number in range(501)], "import", url(500)),
        (["#"] * 501 + [url(0)], "import", url(0)),
        ([""] * 20_000 + [url(0)], "import", url(0)),
    ],
)
def test_no_line_or_too_many_are_refused_and_kept_for_another_try(anna, lines, told, kept):
    page = anna.add(*lines)
    assert page.status == 400
    assert told in page.problem("urls")
    assert kept in page.reply.text
    assert anna.listed() == set()


def test_a_feed_that_is_there_already_is_no_news_nor_is_a_note_that_is_none(anna):
    add(anna, 2)
    assert not anna.get("/").note  # it was shown once
    assert anna.add(url(0)).note == "You already subscribe to 0.example/feed."
    assert anna.add(url(0), url(1)).note == "You already subscribe to all of these."
    assert "like that already" not in anna.add(url(0), "nothing here").text
    for text in ("x", "e30", "A" * 4_000, "eyJraW5kIjo1fQ", ".", "é"):
        reply = anna.http.get("/", headers={"Cookie": f"feedkeep_note={text}".encode()})
        assert reply.status_code < 500, text


@pytest.mark.parametrize(
    ("query", "filled_in"),
    [
        ("url=https%3A%2F%2Fa.example%2F%3Fa%3D1%26b", "https://a.example/?a=1&b"),
        ("title=A&text=A%0Ahttps%3A%2F%2Fa.example%2Ffeed+from+an+app", "https://a.example/feed"),
        ("text=a.example%2Ffeed", "a.example/feed"),
        ("url=%22%3E%3Cb%3E", '"><b>'),
        ("url=" + "x" * 9_000, "x" * 4_000),
    ],
)
def test_what_an_app_shares_is_filled_in_and_not_added(anna, query, filled_in):
    page = anna.get(f"/?{query}").reply.text
    field = re.search(r"<textarea[^>]*>([^<]*)</textarea>", page)
    assert field is not None
    assert unescape(field[1]) == filled_in
    assert "<b>" not in page
    assert anna.listed() == set()


def test_five_feeds_are_unsubscribed_at_once_and_taken_back(anna):
    add(anna, 7)
    five = [guid(number) for number in range(5)]
    page = anna.post("/feeds/unsubscribe", {"feed": five})
    assert "Unsubscribed from 5 feeds." in page.note
    assert anna.listed() == {guid(5), guid(6)}
    assert anna.listed("/?show=unsubscribed") == set(five)
    assert "5 feeds are back." in anna.undo(page).note
    assert anna.listed() == {guid(number) for number in range(7)}
    assert "nothing left to undo" in anna.undo(page).note


def test_adding_is_taken_back_and_leaves_nothing_among_the_unsubscribed(anna):
    page = anna.add(url(1))
    assert "Added 1.example/feed." in page.note
    page = anna.undo(page)
    assert "1 feed is as it was" in page.note
    assert "Your list is empty" in page.text
    assert "Import a list" in page.text
    assert anna.listed() == anna.listed("/?show=unsubscribed") == set()
    assert "1 feed is back." in anna.undo(page).note
    assert anna.listed() == {guid(1)}


def test_a_move_a_merge_a_deletion_and_an_import_are_told_and_taken_back(anna):
    add(anna, 2)
    both = {guid(0), guid(1)}
    page = anna.post(f"{place(0)}/move", {"new_url": NEW})
    assert "new address" in page.note
    assert NEW in page.text
    assert url(0) in page.text
    assert "1 feed is as it was" in anna.undo(page).note
    assert anna.get("/").text.count("0.example/feed") == 1
    page = anna.post(f"{place(0)}/merge", {"other_url": url(1)})
    assert "two feeds are merged" in page.note
    assert page.path == place(1)
    assert anna.listed() == {guid(1)}
    assert anna.get(place(0)).path == place(1)  # a link that was marked
    anna.undo(page)
    assert anna.listed() == both
    page = anna.post(f"{place(0)}/delete")
    assert "Deleted 0.example/feed" in page.note
    assert anna.listed("/?show=unsubscribed") == set()
    for form in ("", "/move", "/merge", "/delete"):
        gone = anna.post(f"{place(0)}{form}") if form else anna.get(place(0))
        assert gone.status == 410
        assert "This feed was deleted" in gone.text
    assert "1 feed is back." in anna.undo(page).note
    assert anna.listed() == both
    page = anna.post("/import/carry-out", {"list": f"{url(0)}\n{url(2)}\n{url(3)}"})
    assert "Added 2 feeds." in page.note
    anna.undo(page)
    assert anna.listed() == both


def test_one_feed_is_unsubscribed_by_its_own_button_whatever_is_chosen(anna):
    add(anna, 3)
    page = anna.post("/feeds/unsubscribe", {"feed": [guid(0)], "only": guid(1)})
    assert "Unsubscribed from 1.example/feed." in page.note
    assert anna.listed() == {guid(0), guid(2)}
    page = anna.post("/feeds/unsubscribe", {"feed": [guid(0), guid(1)]})
    assert "Unsubscribed from 1 feed." in page.note  # of two, no wrong one is named
    page = anna.post("/feeds/subscribe", {"only": guid(1), "show": "unsubscribed"})
    assert "Subscribed to 1.example/feed again." in page.note
    assert dict(page.reply.url.params) == {"show": "unsubscribed"}
    assert "Select at least one" in anna.post("/feeds/unsubscribe", {}).note
    assert "like that already" in anna.post("/feeds/subscribe", {"feed": [guid(1), "x"]}).note


EVIL = "correct-horse-of-an-attacker"
FORGED = [
    b"x", b"[]", b"{}", b'{"kind":5}', b'{"kind":"saved"}', b'{"kind":"merged","values":{}}',
    b'{"kind":"added","values":{"count":[],"name":"%s"}}',
    b'{"kind":"link","values":{"name":"%s","link":"%s"}}',
    b'{"kind":"link","values":{"link":"%s"}}',
    b'{"kind":"codes","values":{"codes":["%s"]}}', b'{"kind":"codes","values":{"codes":"%s"}}',
]  # fmt: skip
"""Forged values of the cookie, which an attacker may be able to set for this host."""


def cookie_of(note: bytes, session: str) -> tuple[str, str]:
    """Return the parts of a cookie with a note: its text, and the code of a session."""
    body = note.replace(b"%s", EVIL.encode())
    code = hmac.digest(session.encode(), body, "sha256")
    text, mac = (urlsafe_b64encode(part).decode().rstrip("=") for part in (body, code))
    return text, mac


@pytest.mark.parametrize("note", FORGED)
def test_a_note_that_an_attacker_wrote_is_passed_over_and_cleared(feedkeep, note):
    chief, stranger = administrator(feedkeep)[0], PageClient(feedkeep)
    pages = ("/", "/apps/connected", "/people/link", "/account/codes", "/sign-in")
    asked = [(chief, page, "") for page in pages]
    # The pages for anyone do not check the session.
    stranger.http.cookies.set("feedkeep", "fp_x", domain="127.0.0.1")
    asked += [(stranger, page, "fp_x") for page in ("/sign-in", "/sign-up", "/recover", "/reset")]
    for client, page, session in asked:
        text, mac = cookie_of(note, session)
        codes = ("", ".", f".{mac}", f".{mac[:-2]}", ".!")
        for forged in (*(text + code for code in codes), f".{mac}"):
            client.http.cookies.set("feedkeep_note", forged, domain="127.0.0.1")
            reply = client.http.get(page, follow_redirects=False)
            assert reply.status_code < 500
            assert EVIL not in reply.text
            is_cleared = "feedkeep_note=;" in reply.headers.get("set-cookie", "")
            assert is_cleared or reply.is_redirect
            client.http.cookies.delete("feedkeep_note", domain="127.0.0.1")


@pytest.mark.parametrize(
    "note",
    [
        *FORGED,
        b'{"kind":"restored","values":{"count":1,"moment":253402300799999999,"stamps":""}}',
        b'{"kind":"added","values":{"count":1,"name":"","stamps":"","refused":"%s"}}',
    ],
)
def test_a_note_of_a_session_that_another_person_began_is_an_error_on_no_page(feedkeep, note):
    chief, _ = administrator(feedkeep)
    # An attacker who signs a browser in to their own account knows its session.
    cookie = ".".join(cookie_of(note, chief.http.cookies["feedkeep"]))
    for page in ("/", "/changes", "/apps/connected", "/people/link", "/account/codes"):
        chief.http.cookies.set("feedkeep_note", cookie, domain="127.0.0.1")
        reply = chief.http.get(page)
        assert reply.status_code == 200
        assert "feedkeep_note=;" in reply.headers["set-cookie"]
        chief.http.cookies.delete("feedkeep_note", domain="127.0.0.1")


def test_the_list_is_ordered_and_searched(anna):
    for number in range(3):
        anna.add(url(number))
    for query, numbers in (
        ("", [0, 1, 2]),
        ("?q=2.EXAMPLE", [2]),
        ("?q=feed+1.", [1]),
        ("?page=99", [0, 1, 2]),
        ("?q=nothing", []),
        ("?order=nonsense&page=x", [0, 1, 2]),
        ("?order=added", [2, 1, 0]),
        ("?order=changed", [2, 1, 0]),
    ):
        found = anna.get(f"/{query}").values("feed")
        assert found == [guid(number) for number in numbers], query


def test_a_page_asks_whether_its_list_has_changed(anna):
    add(anna, 1)
    page = anna.get("/").reply.text
    stamp = page.split('data-stamp="')[1].split('"')[0]
    assert anna.get(f"/feeds/changed?since={stamp}").reply.json() == {"changed": False}
    anna.add(url(9))
    assert anna.get(f"/feeds/changed?since={stamp}").reply.json() == {"changed": True}
    assert anna.get("/feeds/changed?since=x").reply.json() == {"changed": True}


@pytest.mark.parametrize(
    ("form", "field", "typed", "told"),
    [
        ("move", "new_url", "new", "No protocol present"),
        ("move", "new_url", url(1), "belongs to another feed in your list"),
        ("merge", "other_url", "x", "No protocol present"),
        ("merge", "other_url", "https://unknown.example", "no other feed"),
        ("merge", "other_url", url(0), "no other feed"),
    ],
)
def test_a_move_or_merge_that_cannot_be_done_keeps_what_was_typed_and_says_why(
    anna, form, field, typed, told
):
    add(anna, 2)
    page = anna.post(f"{place(0)}/{form}", {field: typed})
    assert page.status == 400
    assert told in page.problem(field)
    assert page.values(field) == [typed]
    assert anna.listed() == {guid(0), guid(1)}


def test_an_address_is_text_on_every_page_and_none_of_no_feed_is_a_page(anna):
    evil = 'https://a.example/"><script>alert(1)</script>&x=<b>'
    assert "<script>alert" not in anna.add(evil).reply.text
    feed = anna.get(place_of(evil))
    assert "<script>alert" not in feed.reply.text
    assert evil in feed.text
    for address in ("x", "0" * 36, "%F0%9F%98%80"):
        assert anna.get(f"/feeds/{address}").status == 404


def test_a_full_list_says_so_and_keeps_what_it_has(tmp_path):
    with FeedkeepProcess(tmp_path, max_subscriptions="2", trusted_proxies="127.0.0.1") as process:
        anna, _ = signed_in(process)
        add(anna, 2)
        anna.post("/feeds/unsubscribe", {"feed": [guid(0)]})
        anna.add(url(5))
        page = anna.post("/feeds/subscribe", {"only": guid(0), "show": "unsubscribed"})
        assert page.status == 400
        assert "which is the maximum" in page.text
        assert anna.listed() == {guid(1), guid(5)}
        page = anna.post("/import/carry-out", {"list": f"{url(6)}\n{url(7)}"})
        assert page.note == "2 feeds could not be added: your list is full."
        anna.post("/feeds/unsubscribe", {"feed": [guid(5)]})
        page = anna.post("/import/carry-out", {"list": f"{url(6)}\n{url(7)}"})
        assert "Added 1 feed." in page.note
        assert "1 feed could not be added" in page.note
