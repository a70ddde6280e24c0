"""The history on the pages: what changed, taking it back, restoring the list; over HTTP."""

import re

import pytest
from feedkeep_process import FeedkeepProcess
from page_client import PageClient, Shown, app_of, guid_of, plain, signed_in

URLS = [f"https://{number}.example/feed" for number in range(12)]
GUIDS = [guid_of(url) for url in URLS]
NAMES = [f"{number}.example/feed" for number in range(12)]
NEW, ANOTHER = "https://new.example/feed", "https://another.example/feed"
YOU = "You, in a browser"
WIPED = "Bring them back"


class Phone:
    """An app that syncs whole lists."""

    def __init__(self, anna: PageClient) -> None:
        self.name = anna.name
        self.http = app_of(anna.process, anna.name, "AntennaPod/3.4.0")

    def has(self, *urls: str) -> None:
        reply = self.http.put(f"/subscriptions/{self.name}/pixel.json", json=list(urls))
        assert reply.status_code == 200

    def is_called(self, caption: str) -> None:
        path = f"/api/2/devices/{self.name}/pixel.json"
        assert self.http.post(path, json={"caption": caption}).status_code == 200


@pytest.fixture
def phone(anna):
    return Phone(anna)


def unsubscribe(anna: PageClient, *numbers: int) -> Shown:
    return anna.post("/feeds/unsubscribe", {"feed": [GUIDS[number] for number in numbers]})


def lines(page: Shown) -> list[str]:
    """Return the text of each line: the change and its author."""
    found = re.findall(r'<div class="did">(.*?)</div>', page.reply.text, re.DOTALL)
    return [re.sub(r" · (just now|\d+ \w+ ago)$", "", plain(one)) for one in found]


def rescue(anna: PageClient, wiped: Shown) -> Shown:
    """Press "Bring them back"."""
    return anna.post("/changes/rescue", {n: wiped.values(n)[0] for n in ("stamps", "back")})


def test_each_change_is_a_line_with_what_and_who_newest_first(anna, phone):
    anna.add(*URLS[:3])
    anna.post(f"/feeds/{GUIDS[0]}/move", {"new_url": NEW})
    anna.post(f"/feeds/{GUIDS[0]}/move", {"new_url": NEW, "tell_apps": "1"})
    page = anna.get("/changes")
    assert lines(page)[0] == f"Internal change {YOU}"
    assert "Undone: 1 feed is as it was." in anna.undo(page).note
    anna.post(f"/feeds/{GUIDS[1]}/merge", {"other_url": URLS[2]})
    unsubscribe(anna, 0)
    anna.post("/feeds/subscribe", {"only": GUIDS[0]})
    phone.is_called("Pixel")
    phone.has(URLS[5])
    anna.post(f"/feeds/{GUIDS[5]}/delete")
    assert lines(anna.get("/changes")) == [
        f"Deleted {NAMES[5]} {YOU}",
        "Added 1 feed · Unsubscribed from 2 feeds AntennaPod on Pixel",
        f"Subscribed to new.example/feed again {YOU}",
        f"Unsubscribed from new.example/feed {YOU}",
        f"Merged {NAMES[1]} with {NAMES[2]} {YOU}",
        *[f"Internal change {YOU}"] * 2,  # which only apps are told
        f"Moved {NAMES[0]} to new.example/feed {YOU}",
        f"Added 3 feeds {YOU}",
    ]


def test_a_line_is_taken_back_whole_or_for_one_feed_and_that_is_a_line_again(anna):
    anna.add(*URLS[:3])
    unsubscribe(anna, 0, 1)
    page = anna.undo(anna.get("/changes"))
    assert page.path == "/changes"
    assert "2 feeds are back." in page.note
    assert anna.listed() == set(GUIDS[:3])
    assert lines(page)[0].startswith("Subscribed to 2 feeds again")
    anna.undo(anna.get("/changes"))
    assert anna.listed() == {GUIDS[2]}
    page = anna.get("/changes")
    assert {GUIDS[0], GUIDS[1]} <= set(page.values("guid"))
    assert "1 feed is back." in anna.undo(page, guid=GUIDS[1]).note
    assert anna.listed() == {GUIDS[1], GUIDS[2]}


@pytest.mark.parametrize(("choice", "rest"), [("leave", GUIDS[1:3]), ("overwrite", GUIDS[:3])])
def test_what_was_changed_since_is_told_and_left_or_taken_back_as_is_chosen(
    anna, phone, choice, rest
):
    anna.add(*URLS[:3])
    unsubscribed = unsubscribe(anna, 0, 1)
    phone.has(URLS[0], URLS[2])  # subscribes to one of them again
    unsubscribe(anna, 0)
    asked = anna.undo(unsubscribed)
    assert asked.status == 409
    assert "Nothing is undone yet: 1 feed was changed again" in asked.text
    assert "1 other feed was not changed since" in asked.text
    assert lines(asked) == [
        f"Unsubscribed from {NAMES[0]} {YOU}",
        f"Subscribed to {NAMES[0]} again AntennaPod on pixel",
    ]
    assert anna.listed() == {GUIDS[2]}
    done = anna.undo(asked, when=choice)
    assert done.path == "/"
    assert ("1 feed was changed again since, and stays" in done.note) == (choice == "leave")
    assert anna.listed() == set(rest)
    anna.undo(done)
    assert anna.listed() == {GUIDS[2]}


def test_a_feed_that_alone_was_changed_since_is_asked_about_without_talk_of_others(anna):
    anna.add(*URLS[:2])
    unsubscribed = unsubscribe(anna, 0)
    anna.post("/feeds/subscribe", {"only": GUIDS[0]})
    anna.post(f"/feeds/{GUIDS[0]}/delete")
    asked = anna.undo(unsubscribed)
    assert "Undo anyway" in asked.text
    assert "other feed" not in asked.text
    anna.undo(asked, when="overwrite")
    assert anna.listed() == set(GUIDS[:2])


def test_a_change_that_is_not_there_is_told(anna):
    anna.add(URLS[0])
    for data in ({}, {"stamps": "x"}, {"stamps": "1,2"}, {"stamps": "9" * 18}):
        page = anna.post("/changes/undo", data)
        assert "no longer, in the history" in page.note or "does not go back that far" in page.text
    page = anna.undo(anna.get("/changes"), guid=GUIDS[9])
    assert "no longer, in the history" in page.note
    assert anna.listed() == {GUIDS[0]}


def test_after_taking_back_a_page_of_ours_is_shown(anna):
    anna.add(URLS[0])
    for back, path in (
        ("/", "/"),
        ("/changes", "/changes"),
        (f"/feeds/{GUIDS[0]}", f"/feeds/{GUIDS[0]}"),
        (f"/feeds/{GUIDS[1]}", "/"),
        ("/?order=added&page=2&q=a+b&x=y", "/?order=added&q=a+b&page=2"),
        ("/?order=evil&page=x", "/"),
        ("https://evil.example", "/"),
        ("//evil.example", "/"),
        ("", "/"),
    ):
        unsubscribe(anna, 0)
        shown = anna.undo(anna.get("/changes"), back=back).reply.url.raw_path.decode()
        assert shown == path, back


def test_the_history_is_read_page_by_page_without_holes(anna):
    assert "Nothing has changed yet." in anna.get("/changes").text
    anna.add(*URLS)
    for number in range(60):
        anna.post(f"/feeds/{'unsubscribe' if number % 2 == 0 else 'subscribe'}", {"only": GUIDS[0]})
    page, stamps = anna.get("/changes"), []
    while True:
        stamps += page.values("stamps")
        earlier = re.search(r'href="(/changes\?before=\d+)"', page.reply.text)
        if not earlier:
            break
        assert "The history goes back to when your account was created" not in page.text
        page = anna.get(earlier[1])
    assert len(set(stamps)) == len(stamps) == 61
    assert stamps == sorted(stamps, reverse=True)
    assert "The history goes back to when your account was created" in page.text
    assert "Nothing was changed before that." in anna.get("/changes?before=1").text


def test_the_steps_of_a_long_import_are_one_line_and_are_taken_back_together(anna):
    many = [f"https://many.example/{number}" for number in range(5_003)]
    imported = anna.post("/import/carry-out", {"list": "\n".join(many)})
    assert "Added 5,003 feeds." in imported.note
    page = anna.get("/changes")
    assert lines(page) == [f"Added 5,003 feeds {YOU}"]
    assert page.values("stamps")[0].count(",") == 1
    assert "And 4,803 more." in page.text
    assert len(page.values("guid")) == 200
    assert "5,003 feeds are as they were" in anna.undo(page).note
    assert anna.listed() == set()


def test_a_feed_s_page_shows_what_happened_to_it_under_any_guid_and_undoes_that_alone(anna):
    anna.add(*URLS[:3])
    unsubscribe(anna, 0, 1)
    page = anna.get(f"/feeds/{GUIDS[0]}")
    assert lines(page) == [f"Unsubscribed from {NAMES[0]} {YOU}", f"Added {NAMES[0]} {YOU}"]
    done = anna.undo(page, guid=page.values("guid")[0])
    assert done.path == f"/feeds/{GUIDS[0]}"
    assert anna.listed() == {GUIDS[0], GUIDS[2]}
    merged = anna.post(f"/feeds/{GUIDS[0]}/merge", {"other_url": URLS[2]})
    assert merged.path == f"/feeds/{GUIDS[2]}"
    assert lines(merged)[0] == f"Merged {NAMES[0]} with {NAMES[2]} {YOU}"
    assert f"Unsubscribed from {NAMES[0]} {YOU}" in lines(merged)
    guids = set(merged.values("guid"))
    assert guids == {GUIDS[0], GUIDS[2]}
    anna.post("/changes/undo", {"stamps": merged.values("stamps")[0], "guid": list(guids)})
    assert anna.listed() == {GUIDS[0], GUIDS[2]}


def test_the_list_is_restored_as_it_was_before_a_change_after_a_preview(anna):
    anna.add(*URLS[:3])
    unsubscribe(anna, 0)
    anna.add(URLS[5])
    page = anna.get("/changes")
    link = re.findall(r'href="(/changes/restore\?at=\d+)"', page.reply.text)[1]
    page = anna.get(link)
    assert "1 feed comes back." in page.text
    assert anna.listed() == {GUIDS[1], GUIDS[2], GUIDS[5]}
    assert "1 feed comes back. 1 feed is removed." in anna.get(f"{link}&keep=0").text
    at = page.values("at")[0]
    done = anna.post("/changes/restore", {"at": at, "keep": "1"})
    assert re.search(r"Your list is as it was on .*: 1 feed was changed", done.note)
    assert anna.listed() == {*GUIDS[:3], GUIDS[5]}
    assert anna.undo(done).note
    assert anna.listed() == {GUIDS[1], GUIDS[2], GUIDS[5]}
    anna.post("/changes/restore", {"at": at, "keep": "0"})
    assert anna.listed() == set(GUIDS[:3])
    assert "Nothing would change" in anna.get(f"{link}&keep=0").text
    again = anna.post("/changes/restore", {"at": at, "keep": "0"})
    assert "Your list was like that already" in again.note


def test_a_moment_is_chosen_in_the_time_zone_of_the_person_and_may_be_one_to_come(anna):
    anna.add(URLS[0])
    anna.post("/account/preferences", {"time_zone": "Asia/Kolkata"})
    form = anna.get("/changes/restore")
    assert "Asia/Kolkata" in form.text
    (latest,) = re.findall(r'max="([^"]+)"', form.reply.text)
    page = anna.get("/changes/restore", params={"moment": latest})
    hour, minute = latest[11:13], latest[14:16]
    assert re.search(rf"as it was on .* {int(hour) % 12 or 12}:{minute}", page.text)
    for query in ({"moment": "9999-12-31T23:59"}, {"at": "9" * 18}):
        assert "Nothing would change" in anna.get("/changes/restore", params=query).text


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"moment": "x"}, "Choose a day and a time."),
        ({"moment": "2026-02-31T00:00"}, "Choose a day and a time."),
        ({"moment": "0001-01-01T00:00"}, "does not go back that far"),
        ({"moment": "1999-01-01T00:00"}, "does not go back that far"),
        ({"at": "0"}, "does not go back that far"),
        ({"at": "x"}, "does not go back that far"),
    ],
)
def test_a_moment_that_is_none_or_not_known_is_told_beside_the_field(anna, query, told):
    anna.add(URLS[0])
    pages = [anna.get("/changes/restore", params=query)]
    if "at" in query:
        pages.append(anna.post("/changes/restore", query))
    for page in pages:
        assert page.status == 400
        assert told in page.problem("moment")


def test_a_moment_since_the_database_was_restored_is_said_to_be_unsure(anna):
    async def now(service):
        return service.now()

    anna.add(URLS[0])
    before = anna.process.use(now)
    anna.process.use(lambda service: service.accounts.note_restored())
    anna.add(URLS[1])
    query = {"at": anna.process.use(now), "keep": "0"}
    page = anna.get("/changes/restore", params=query)
    assert re.search("1 feed is removed. The clock of your list is ahead until .*undone", page.text)
    page = anna.get("/changes/restore", params={**query, "at": before})
    assert "1 feed is removed." in page.text
    assert "is ahead" not in page.text


def test_a_wipe_is_shown_on_top_and_brought_back_with_one_click_each_time(anna, phone):
    phone.is_called("AntennaPod on Pixel")
    assert WIPED not in anna.add(*URLS).text
    for kept, count in (([URLS[0], NEW], 11), ([], 13), ([], 13)):
        phone.has(*kept)
        for path in ("/", "/changes"):
            told = f"AntennaPod on Pixel removed {count} feeds just now"
            assert told in anna.get(path).text
        done = rescue(anna, anna.get("/"))
        assert f"{count} feeds are back." in done.note
        assert anna.listed() == {*GUIDS, guid_of(NEW)}  # what the app has added stays
        assert WIPED not in done.text


def test_what_an_owner_does_while_a_list_is_wiped_keeps_no_feed_from_coming_back(anna, phone):
    anna.add(*URLS)
    phone.has(*URLS[6:])
    anna.add(NEW, ANOTHER)
    anna.post("/feeds/subscribe", {"only": GUIDS[5]})
    anna.post(f"/feeds/{GUIDS[5]}/delete")  # by its owner, and so it stays
    phone.has(URLS[6])
    wiped = anna.get("/")
    assert wiped.values("stamps")[0].count(",") == 1
    assert "12 feeds are back." in rescue(anna, wiped).note
    assert anna.listed() == {*GUIDS, guid_of(NEW), guid_of(ANOTHER)} - {GUIDS[5]}


def test_a_wiped_list_that_has_no_room_any_more_says_so(tmp_path):
    process = FeedkeepProcess(tmp_path, max_subscriptions="12", trusted_proxies="127.0.0.1")
    with process:
        anna, _ = signed_in(process)
        phone = Phone(anna)
        anna.add(*URLS)
        phone.has()
        wiped = anna.get("/")
        anna.add(NEW)
        page = rescue(anna, wiped)
        assert page.status == 400
        assert "maximum" in page.text
        assert len(anna.listed()) == 1


def test_what_one_removes_in_a_browser_is_no_wipe(anna, phone):
    undone = anna.undo(anna.add(*URLS))
    assert "12 feeds are as they were" in undone.note
    assert WIPED not in undone.text
    anna.add(*URLS)
    assert WIPED not in unsubscribe(anna, *range(12)).text
    anna.add(*URLS)
    phone.has()
    assert "removed 12 feeds" in anna.get("/").text


def test_a_wipe_that_was_meant_is_asked_about_no_more_but_the_next_one_is(anna, phone):
    anna.add(*URLS)
    phone.has(*URLS[:2], *URLS[6:])
    phone.has(*URLS[:2])
    stamps = anna.get("/").values("stamps")[0]
    assert stamps.count(",") == 1
    anna.post("/account/preferences", {"language": "en", "theme": "dark"})
    page = anna.post("/changes/meant", {"stamps": stamps, "back": "/changes"})
    assert page.path == "/changes"
    assert "All right." in page.note
    anna.post("/account/preferences", {"language": "en"})
    phone.has(URLS[0])  # alone, that would be no wipe
    for path in ("/", "/changes"):
        assert WIPED not in anna.get(path).text
    phone.has(*URLS)
    phone.has(URLS[1])
    assert "removed 11 feeds" in anna.get("/").text
    assert anna.post("/changes/meant").path == "/"


def test_where_no_history_is_kept_the_page_says_so_and_nothing_is_offered(tmp_path):
    with FeedkeepProcess(tmp_path, history_days="0", trusted_proxies="127.0.0.1") as process:
        anna, _ = signed_in(process)
        page = anna.add(*URLS)
        assert "Added 12 feeds." in page.note
        assert page.values("stamps") == []
        page = unsubscribe(anna, *range(11))
        assert page.values("stamps") == []
        assert WIPED not in page.text
        for path in ("/changes", "/changes/restore"):
            assert "No history is kept here" in anna.get(path).text
        for path, data in (("undo", {"stamps": "1"}), ("restore", {"at": "1"})):
            page = anna.post(f"/changes/{path}", data)
            assert page.status == 400
            assert "No history is kept here" in page.text
        assert "History of this feed" not in anna.get(f"/feeds/{GUIDS[0]}").text
