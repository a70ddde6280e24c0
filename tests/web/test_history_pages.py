"""The history on the pages: what changed, taking it back, restoring the list; over HTTP."""

import re

import pytest
from feedkeep_process import FeedkeepProcess
from page_client import PASSWORD, PageClient, Shown, plain, signed_in

from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.service import Service

URLS = [f"https://{number}.example/feed" for number in range(12)]
GUIDS = [str(parse_feed_url(url).guid) for url in URLS]
NAMES = [f"{number}.example/feed" for number in range(12)]


@pytest.fixture
def anna_and_name(feedkeep):
    return signed_in(feedkeep)


@pytest.fixture
def anna(anna_and_name):
    return anna_and_name[0]


@pytest.fixture
def phone(feedkeep, anna_and_name):
    phone = Phone(feedkeep, anna_and_name[1])
    yield phone
    phone.http.close()


class Phone:
    """An app that syncs whole lists."""

    def __init__(self, feedkeep: FeedkeepProcess, name: str) -> None:
        self.name = name
        self.http = feedkeep.client(name)
        self.http.headers["User-Agent"] = "AntennaPod/3.4.0"
        self.http.auth = (name, PASSWORD)
        del self.http.headers["Authorization"]

    def has(self, *urls: str) -> None:
        reply = self.http.put(f"/subscriptions/{self.name}/pixel.json", json=list(urls))
        assert reply.status_code == 200

    def is_called(self, caption: str) -> None:
        path = f"/api/2/devices/{self.name}/pixel.json"
        assert self.http.post(path, json={"caption": caption}).status_code == 200


def add(anna: PageClient, *urls: str) -> Shown:
    return anna.post("/feeds/add", {"urls": "\r\n".join(urls)})


def unsubscribe(anna: PageClient, *numbers: int) -> Shown:
    return anna.post("/feeds/unsubscribe", {"feed": [GUIDS[number] for number in numbers]})


def listed(anna: PageClient, path: str = "/") -> set[str]:
    return set(anna.get(path).values("feed"))


def lines(page: Shown) -> list[str]:
    """Return what each line says: what, and by whom."""
    found = re.findall(r'<div class="did">(.*?)</div>', page.reply.text, re.DOTALL)
    return [re.sub(r" · (just now|\d+ \w+ ago)$", "", plain(one)) for one in found]


def rescue(anna: PageClient, wiped: Shown) -> Shown:
    """Press "Bring them back"."""
    return anna.post("/changes/rescue", {n: wiped.values(n)[0] for n in ("stamps", "back")})


def take_back(anna: PageClient, page: Shown, number: int = 0, **more: str) -> Shown:
    stamps = page.values("stamps")[number]
    back = page.values("back")[number]
    return anna.post("/changes/undo", {"stamps": stamps, "back": back, **more})


def test_each_change_is_a_line_with_what_and_who_newest_first(anna, phone):
    add(anna, *URLS[:3])
    anna.post(f"/feeds/{GUIDS[0]}/move", {"new_url": "https://new.example/feed"})
    anna.post(f"/feeds/{GUIDS[1]}/merge", {"other_url": URLS[2]})
    unsubscribe(anna, 0)
    anna.post("/feeds/subscribe", {"only": GUIDS[0]})
    phone.is_called("Pixel")
    phone.has(URLS[5])
    anna.post(f"/feeds/{GUIDS[5]}/delete")
    you = "You, in a browser"
    assert lines(anna.get("/changes")) == [
        f"Deleted {NAMES[5]} {you}",
        "Added 1 feed · Unsubscribed from 2 feeds AntennaPod on Pixel",
        f"Subscribed to new.example/feed again {you}",
        f"Unsubscribed from new.example/feed {you}",
        f"Merged {NAMES[1]} with {NAMES[2]} {you}",
        f"Moved {NAMES[0]} to new.example/feed {you}",
        f"Added 3 feeds {you}",
    ]


def test_what_only_apps_are_told_is_a_line_that_names_no_feed(anna):
    add(anna, URLS[0])
    moved = {"new_url": "https://new.example/feed"}
    anna.post(f"/feeds/{GUIDS[0]}/move", moved)
    anna.post(f"/feeds/{GUIDS[0]}/move", moved | {"tell_apps": "1"})
    page = anna.get("/changes")
    assert lines(page)[0] == "Internal change You, in a browser"
    assert "Undone: 1 feed is as it was." in take_back(anna, page).note


def test_a_line_is_taken_back_and_that_is_a_line_that_can_be_taken_back(anna):
    add(anna, *URLS[:3])
    unsubscribe(anna, 0, 1)
    page = take_back(anna, anna.get("/changes"))
    assert page.path == "/changes"
    assert "2 feeds are back." in page.note
    assert listed(anna) == set(GUIDS[:3])
    assert lines(page)[0].startswith("Subscribed to 2 feeds again")
    take_back(anna, anna.get("/changes"))
    assert listed(anna) == {GUIDS[2]}


def test_one_feed_of_a_change_is_taken_back_alone(anna):
    add(anna, *URLS[:3])
    unsubscribe(anna, 0, 1)
    page = anna.get("/changes")
    assert {GUIDS[0], GUIDS[1]} <= set(page.values("guid"))
    assert "1 feed is back." in take_back(anna, page, guid=GUIDS[1]).note
    assert listed(anna) == {GUIDS[1], GUIDS[2]}


@pytest.mark.parametrize(("choice", "rest"), [("leave", GUIDS[1:3]), ("overwrite", GUIDS[:3])])
def test_what_was_changed_since_is_told_and_left_or_taken_back_as_the_person_chooses(
    anna, phone, choice, rest
):
    add(anna, *URLS[:3])
    unsubscribed = unsubscribe(anna, 0, 1)
    phone.has(URLS[0], URLS[2])  # subscribes to one of them again
    unsubscribe(anna, 0)
    asked = take_back(anna, unsubscribed)
    assert asked.status == 409
    assert "Nothing is undone yet: 1 feed was changed again" in asked.text
    assert "1 other feed was not changed since" in asked.text
    assert lines(asked) == [
        f"Unsubscribed from {NAMES[0]} You, in a browser",
        f"Subscribed to {NAMES[0]} again AntennaPod on pixel",
    ]
    assert listed(anna) == {GUIDS[2]}
    done = take_back(anna, asked, when=choice)
    assert done.path == "/"
    assert ("1 feed was changed again since, and stays" in done.note) == (choice == "leave")
    assert listed(anna) == set(rest)
    take_back(anna, done)
    assert listed(anna) == {GUIDS[2]}


def test_a_feed_that_alone_was_changed_since_is_asked_about_without_talk_of_others(anna):
    add(anna, *URLS[:2])
    unsubscribed = unsubscribe(anna, 0)
    anna.post("/feeds/subscribe", {"only": GUIDS[0]})
    anna.post(f"/feeds/{GUIDS[0]}/delete")
    asked = take_back(anna, unsubscribed)
    assert "Undo anyway" in asked.text
    assert "other feed" not in asked.text
    take_back(anna, asked, when="overwrite")
    assert listed(anna) == set(GUIDS[:2])


def test_a_change_that_is_not_there_is_told(anna):
    add(anna, URLS[0])
    for data in ({}, {"stamps": "x"}, {"stamps": "1,2"}, {"stamps": "9" * 18}):
        page = anna.post("/changes/undo", data)
        assert "no longer, in the history" in page.note or "does not go back that far" in page.text
    page = take_back(anna, anna.get("/changes"), guid=GUIDS[9])
    assert "no longer, in the history" in page.note
    assert listed(anna) == {GUIDS[0]}


@pytest.mark.parametrize(
    ("back", "path"),
    [
        ("/", "/"),
        ("/changes", "/changes"),
        (f"/feeds/{GUIDS[0]}", f"/feeds/{GUIDS[0]}"),
        (f"/feeds/{GUIDS[1]}", "/"),
        ("/?order=added&page=2&q=a+b&x=y", "/?order=added&q=a+b&page=2"),
        ("/?order=evil&page=x", "/"),
        ("https://evil.example", "/"),
        ("//evil.example", "/"),
        ("", "/"),
    ],
)
def test_after_taking_back_a_page_of_ours_is_shown(anna, back, path):
    add(anna, URLS[0])
    unsubscribe(anna, 0)
    stamps = anna.get("/changes").values("stamps")[0]
    url = anna.post("/changes/undo", {"stamps": stamps, "back": back}).reply.url
    assert url.raw_path.decode() == path


def test_the_history_is_read_page_by_page_without_holes(anna):
    add(anna, *URLS)
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


def test_a_list_without_changes_says_so(anna):
    assert "Nothing has changed yet." in anna.get("/changes").text


def test_a_long_change_shows_the_first_of_its_feeds_and_counts_the_others(anna):
    many = [f"https://many.example/{number}" for number in range(205)]
    anna.post("/import/carry-out", {"list": "\n".join(many)})
    page = anna.get("/changes")
    assert "Added 205 feeds" in page.text
    assert "And 5 more." in page.text
    assert len(page.values("guid")) == 200


def test_the_steps_of_a_long_import_are_one_line_and_are_taken_back_together(anna):
    many = [f"https://many.example/{number}" for number in range(5_003)]
    imported = anna.post("/import/carry-out", {"list": "\n".join(many)})
    assert "Added 5,003 feeds." in imported.note
    page = anna.get("/changes")
    assert lines(page) == ["Added 5,003 feeds You, in a browser"]
    assert page.values("stamps")[0].count(",") == 1
    assert "5,003 feeds are as they were" in take_back(anna, page).note
    assert listed(anna) == set()


def test_a_feed_s_page_shows_what_happened_to_it_under_any_guid_and_takes_back_that_alone(anna):
    add(anna, *URLS[:3])
    unsubscribe(anna, 0, 1)
    page = anna.get(f"/feeds/{GUIDS[0]}")
    you = "You, in a browser"
    assert lines(page) == [f"Unsubscribed from {NAMES[0]} {you}", f"Added {NAMES[0]} {you}"]
    done = anna.post(
        "/changes/undo",
        {
            "stamps": page.values("stamps")[0],
            "guid": page.values("guid")[0],
            "back": page.values("back")[0],
        },
    )
    assert done.path == f"/feeds/{GUIDS[0]}"
    assert listed(anna) == {GUIDS[0], GUIDS[2]}
    merged = anna.post(f"/feeds/{GUIDS[0]}/merge", {"other_url": URLS[2]})
    assert merged.path == f"/feeds/{GUIDS[2]}"
    assert lines(merged)[0] == f"Merged {NAMES[0]} with {NAMES[2]} {you}"
    assert f"Unsubscribed from {NAMES[0]} {you}" in lines(merged)
    guids = set(merged.values("guid"))
    assert guids == {GUIDS[0], GUIDS[2]}
    anna.post("/changes/undo", {"stamps": merged.values("stamps")[0], "guid": list(guids)})
    assert listed(anna) == {GUIDS[0], GUIDS[2]}


def restore_link(page: Shown, number: int) -> str:
    return re.findall(r'href="(/changes/restore\?at=\d+)"', page.reply.text)[number]


def test_the_list_is_restored_as_it_was_before_a_change_after_a_preview(anna):
    add(anna, *URLS[:3])
    unsubscribe(anna, 0)
    add(anna, URLS[5])
    link = restore_link(anna.get("/changes"), 1)
    page = anna.get(link)
    assert "1 feed comes back." in page.text
    assert listed(anna) == {GUIDS[1], GUIDS[2], GUIDS[5]}
    drop = anna.get(f"{link}&keep=0")
    assert "1 feed comes back. 1 feed is removed." in drop.text
    at = page.values("at")[0]
    done = anna.post("/changes/restore", {"at": at, "keep": "1"})
    assert re.search(r"Your list is as it was on .*: 1 feed was changed", done.note)
    assert listed(anna) == {*GUIDS[:3], GUIDS[5]}
    undone = anna.post("/changes/undo", {"stamps": done.values("stamps")[0]})
    assert listed(anna) == {GUIDS[1], GUIDS[2], GUIDS[5]}
    assert undone.note
    anna.post("/changes/restore", {"at": at, "keep": "0"})
    assert listed(anna) == set(GUIDS[:3])
    assert "Nothing would change" in anna.get(f"{link}&keep=0").text
    again = anna.post("/changes/restore", {"at": at, "keep": "0"})
    assert "Your list was like that already" in again.note


def test_a_moment_is_chosen_in_the_time_zone_of_the_person(anna):
    add(anna, URLS[0])
    anna.post("/account/preferences", {"time_zone": "Asia/Kolkata"})
    form = anna.get("/changes/restore")
    assert "Asia/Kolkata" in form.text
    (latest,) = re.findall(r'max="([^"]+)"', form.reply.text)
    page = anna.get("/changes/restore", params={"moment": latest})
    hour, minute = latest[11:13], latest[14:16]
    assert re.search(rf"as it was on .* {int(hour) % 12 or 12}:{minute}", page.text)


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
    add(anna, URLS[0])
    page = anna.get("/changes/restore", params=query)
    assert page.status == 400
    assert told in page.problem("moment")
    if "at" in query:
        page = anna.post("/changes/restore", query)
        assert page.status == 400
        assert told in page.problem("moment")


def test_a_moment_since_the_database_was_restored_is_said_to_be_unsure(feedkeep, anna_and_name):
    anna, _ = anna_and_name
    add(anna, URLS[0])
    before = feedkeep.use(moment_of_now)

    async def restored(service):
        await service.accounts.note_restored()

    feedkeep.use(restored)
    add(anna, URLS[1])
    moment = feedkeep.use(moment_of_now)
    page = anna.get("/changes/restore", params={"at": moment, "keep": "0"})
    assert re.search("1 feed is removed. The clock of your list is ahead until .*undone", page.text)
    page = anna.get("/changes/restore", params={"at": before, "keep": "0"})
    assert "1 feed is removed." in page.text
    assert "is ahead" not in page.text


async def moment_of_now(service: Service) -> int:
    return service.now()


@pytest.mark.parametrize("query", [{"moment": "9999-12-31T23:59"}, {"at": "9" * 18}])
def test_at_a_moment_to_come_the_list_is_as_it_is(anna, query):
    add(anna, URLS[0])
    assert "Nothing would change" in anna.get("/changes/restore", params=query).text


def test_a_wipe_is_shown_on_top_and_brought_back_with_one_click(anna, phone):
    add(anna, *URLS)
    assert "Bring them back" not in anna.get("/").text
    phone.is_called("AntennaPod on Pixel")
    phone.has(URLS[0], "https://new.example/feed")
    for path in ("/", "/changes"):
        page = anna.get(path)
        assert "AntennaPod on Pixel removed 11 feeds just now" in page.text
    wiped = anna.get("/")
    done = rescue(anna, wiped)
    assert "11 feeds are back." in done.note
    assert len(listed(anna)) == 13  # what the app has added stays
    assert listed(anna) > set(GUIDS)
    assert "Bring them back" not in done.text


def test_what_an_owner_does_while_a_list_is_wiped_keeps_no_feed_from_coming_back(anna, phone):
    add(anna, *URLS)
    phone.has(*URLS[6:])
    add(anna, "https://new.example/feed", "https://another.example/feed")
    phone.has(URLS[0])
    wiped = anna.get("/")
    assert wiped.values("stamps")[0].count(",") == 1
    assert "13 feeds are back." in rescue(anna, wiped).note
    assert len(listed(anna)) == 14


def test_a_wiped_list_that_has_no_room_any_more_says_so(tmp_path):
    process = FeedkeepProcess(tmp_path, max_subscriptions="12", trusted_proxies="127.0.0.1")
    with process:
        anna, name = signed_in(process)
        phone = Phone(process, name)
        add(anna, *URLS)
        phone.has()
        wiped = anna.get("/")
        add(anna, "https://new.example/feed")
        page = rescue(anna, wiped)
        phone.http.close()
        assert page.status == 400
        assert "maximum" in page.text
        assert len(listed(anna)) == 1


def test_an_app_that_wipes_the_list_once_more_loses_to_the_same_click(anna, phone):
    add(anna, *URLS)
    for _ in range(3):
        phone.has()
        wiped = anna.get("/")
        assert "removed 12 feeds" in wiped.text
        done = rescue(anna, wiped)
        assert "12 feeds are back." in done.note
        assert listed(anna) == set(GUIDS)
        assert "Bring them back" not in done.text


def test_what_one_removes_in_a_browser_is_no_wipe(anna, phone):
    added = add(anna, *URLS)
    undone = take_back(anna, added)
    assert "12 feeds are as they were" in undone.note
    assert "Bring them back" not in undone.text
    add(anna, *URLS)
    assert "Bring them back" not in unsubscribe(anna, *range(12)).text
    add(anna, *URLS)
    phone.has()
    assert "removed 12 feeds" in anna.get("/").text


def test_after_what_was_meant_only_what_is_removed_since_counts(anna, phone):
    phone.has(*URLS, "https://one-more.example", "https://another.example")
    phone.has(*URLS[8:], "https://one-more.example", "https://another.example")
    asked = anna.get("/")
    assert "removed 8 feeds" in asked.text
    newest = asked.values("stamps")[0]
    assert "Bring them back" not in anna.post("/changes/meant", {"stamps": newest}).text
    phone.has(*URLS[9:], "https://one-more.example", "https://another.example")
    assert "Bring them back" not in anna.get("/").text


def test_an_app_that_empties_a_list_of_two_feeds_has_wiped_it(anna, phone):
    add(anna, *URLS[:2])
    phone.has()
    assert "2 feeds are back." in rescue(anna, anna.get("/")).note
    assert listed(anna) == set(GUIDS[:2])


def test_a_wipe_that_was_meant_is_asked_about_no_more_but_the_next_one_is(anna, phone):
    add(anna, *URLS)
    phone.has(URLS[0], *URLS[6:])
    phone.has(URLS[0])
    wiped = anna.get("/")
    stamps = wiped.values("stamps")[0]
    anna.post("/account/preferences", {"language": "en", "theme": "dark"})
    page = anna.post("/changes/meant", {"stamps": stamps, "back": "/changes"})
    assert page.path == "/changes"
    assert "All right." in page.note
    anna.post("/account/preferences", {"language": "en"})
    for path in ("/", "/changes"):
        assert "Bring them back" not in anna.get(path).text
    phone.has(*URLS)
    phone.has(URLS[1])
    assert "removed 11 feeds" in anna.get("/").text
    assert anna.post("/changes/meant").path == "/"


def test_what_an_app_removes_one_by_one_is_a_wipe_and_what_was_subscribed_again_is_left(
    anna, phone
):
    add(anna, *URLS)
    for number in range(11):
        phone.has(*URLS[number + 1 :])
    anna.post("/feeds/subscribe", {"only": GUIDS[0]})
    anna.post(f"/feeds/{GUIDS[0]}/delete")
    wiped = anna.get("/")
    assert wiped.values("stamps")[0].count(",") == 10
    assert "10 feeds are back." in rescue(anna, wiped).note
    assert listed(anna) == set(GUIDS[1:])


def test_where_no_history_is_kept_the_page_says_so_and_nothing_is_offered(tmp_path):
    with FeedkeepProcess(tmp_path, history_days="0", trusted_proxies="127.0.0.1") as process:
        anna, _ = signed_in(process)
        page = add(anna, *URLS)
        assert "Added 12 feeds." in page.note
        assert page.values("stamps") == []
        page = unsubscribe(anna, *range(11))
        assert page.values("stamps") == []
        assert "Bring them back" not in page.text
        for path in ("/changes", "/changes/restore"):
            assert "No history is kept here" in anna.get(path).text
        for path, data in (
            ("/changes/undo", {"stamps": "1"}),
            ("/changes/restore", {"at": "1"}),
        ):
            page = anna.post(path, data)
            assert page.status == 400
            assert "No history is kept here" in page.text
        assert "History of this feed" not in anna.get(f"/feeds/{GUIDS[0]}").text
