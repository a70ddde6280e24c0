"""The list as a person uses it: folders, the grid, shortcuts, and selections, on every device."""

import re

import pytest
from forms import first_of, in_the_long_form
from known_feeds import DAY_US, know, picture, png
from page_client import app_of
from playwright.sync_api import Error, Route, expect
from visitor import PHONE, WIDE, Visitor, title_of

from feedkeep.model import Failure, Stamp
from feedkeep.runtime import wall_clock

URLS = [f"https://{name}.of-the-list.example" for name in "abc"]
A, B, C = map(title_of, URLS)


def in_folders(visitor: Visitor) -> Visitor:
    """Put two feeds of a list into folders."""
    file(visitor, "News / Daily", A)
    file(visitor, "Music", B)
    visitor.sees("Without a folder")
    return visitor


def file(visitor: Visitor, folder: str, *titles: str) -> None:
    for title in titles:
        visitor.choose(title)
    visitor.type("Folder for the selected feeds", folder)
    visitor.press("Move to folder")
    visitor.page.get_by_role("status").filter(has_text=folder).wait_for()


@pytest.mark.parametrize("has_script", first_of(True, False))
def test_collapsed_folders_stay_so_in_a_browser_that_can_remember_it(
    service, visit, name, has_script
):
    visitor = in_folders(visit(service, has_script=has_script).is_let_in(name, *URLS))
    expect(visitor.page.locator("#feeds h2")).to_have_text(
        ["Music 1", "News / Daily 1", "Without a folder 1"]
    )
    visitor.page.locator("#feeds summary").filter(has_text="Music").click()
    expect(visitor.feed(B)).to_be_hidden()
    visitor.page.reload()
    expect(visitor.feed(A)).to_be_visible()
    expect(visitor.feed(B)).to_be_visible(visible=not has_script)
    if has_script:
        visitor.type("Search in these feeds", "b.of")
        expect(visitor.feed(B)).to_be_visible()
        expect(visitor.page.locator("#feeds summary").locator("visible=true")).to_have_count(1)
        visitor.type("Search in these feeds", "")
        expect(visitor.feed(B)).to_be_hidden()
        with visitor.page.expect_navigation():  # the script of the next page forgets them
            visitor.press("Sign out")
        visitor.is_let_in(name)  # who signs in next sees all folders
        expect(visitor.feed(B)).to_be_visible()
        assert faults_without_storage(visitor) == []


def faults_without_storage(visitor: Visitor) -> list[Error]:
    """Return the errors in a browser that blocks storage; folders and keys work there."""
    faults: list[Error] = []
    visitor.page.on("pageerror", lambda error: faults.append(error))  # noqa: PLW0108 - not a built-in
    visitor.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked'); } })"
    )
    visitor.page.reload()
    visitor.page.locator("#feeds summary").filter(has_text="Music").click()
    expect(visitor.feed(B)).to_be_hidden()
    visitor.page.keyboard.press("/")
    expect(visitor.page.get_by_label("Search in these feeds")).to_be_focused()
    return faults


@pytest.mark.parametrize("has_script", first_of(False, True))
def test_folder_is_renamed_and_removed_from_its_group(service, visit, name, has_script):
    visitor = in_folders(visit(service, has_script=has_script).is_let_in(name, *URLS))
    visitor.page.get_by_role("link", name="Rename or remove News / Daily", exact=True).click()
    visitor.type("Name of the folder", "Press")
    visitor.page.keyboard.press("Enter")
    visitor.sees("Saved.")
    visitor.has_feeds_of("Press", [A])
    visitor.page.locator(".folder summary").click()
    visitor.press("Remove the folder")
    visitor.page.get_by_role("status").filter(has_text="Removed the folder Press.").wait_for()
    visitor.has_feeds_of("Without a folder", [A, C])


def test_grid_is_one_switch_that_the_browser_remembers(service, visit, name):
    url = "https://pictured.of-the-list.example"
    know(service, url, "A show with a picture", shown=picture(png(180, 60, 40)))
    visitor = visit(service, has_script=False).is_let_in(name, url)
    visitor.follow("Grid")
    visitor.open("/")
    visitor.has_pictures(1)
    box = visitor.page.locator("#feeds img").bounding_box()
    assert box["width"] == box["height"] > 100
    visitor.follow("List")
    visitor.open("/")
    assert visitor.page.locator("#feeds img").bounding_box()["width"] == 40


_OVERLAP = """(it, other) => {
  const range = document.createRange();
  range.selectNodeContents(it);
  const b = other.getBoundingClientRect();
  return [...range.getClientRects()].some((a) => a.left < b.right && b.left < a.right
    && a.top < b.bottom && b.top < a.bottom);
}"""
"""Whether the lines of an element's text reach into another element."""


def test_names_and_buttons_do_not_overlap_in_groups_and_in_the_grid(service, visit, name):
    visitor = visit(service, language="de", width=PHONE).is_let_in(name, *URLS)
    file(visitor, "Politik und Gesellschaft auf Deutsch", A)
    group = visitor.page.locator("#feeds details").first
    link = group.locator("> a").element_handle()
    assert group.locator("summary").evaluate(_OVERLAP, link) is False
    visitor.choose(A)
    bar = visitor.page.locator(".chosen").bounding_box()
    assert bar["height"] < 180  # of 800: the list stays in sight
    visitor.page.set_viewport_size({"width": WIDE, "height": 800})
    visitor.follow("Grid")
    row = visitor.page.locator("#feeds li").first
    row.hover()
    box, field = row.locator("button").bounding_box(), row.locator("label").bounding_box()
    assert field["x"] + field["width"] <= box["x"]


def test_keys_move_select_search_and_open(service, visit, name):
    visitor = visit(service).is_let_in(name, *URLS)
    keys = visitor.page.keyboard
    chosen = visitor.page.locator("#feeds :checked")
    keys.press("x")
    expect(chosen).to_have_count(0)
    keys.press("j")
    keys.press("j")
    expect(visitor.feed(B)).to_be_focused()
    keys.press("x")
    expect(visitor.page.get_by_role("checkbox", name=B, exact=True)).to_be_checked()
    keys.press("k")
    expect(visitor.feed(A)).to_be_focused()
    keys.press("k")
    for held in ("Control", "Alt", "Meta"):
        keys.press(f"{held}+j")
    expect(visitor.feed(A)).to_be_focused()
    keys.press("/")
    expect(visitor.field("Search in these feeds")).to_be_focused()
    keys.type("jkx?/")
    expect(visitor.field("Search in these feeds")).to_have_value("jkx?/")
    expect(chosen).to_have_count(1)
    visitor.type("Search in these feeds", "")
    visitor.feed(C).focus()
    keys.press("?")
    dialog = visitor.page.get_by_role("dialog", name=visitor.say("Keyboard shortcuts"))
    expect(dialog).to_be_visible()
    visitor.looks_well()
    keys.press("j")
    dialog.get_by_label(visitor.say("Use these shortcuts")).uncheck()
    dialog.get_by_role("button", name=visitor.say("Close")).click()
    visitor.feed(C).focus()
    keys.press("k")
    expect(visitor.feed(C)).to_be_focused()
    visitor.page.reload()
    visitor.press("Keyboard shortcuts")
    dialog.get_by_label(visitor.say("Use these shortcuts")).check()
    keys.press("Escape")
    keys.press("j")
    expect(visitor.feed(A)).to_be_focused()
    keys.press("Enter")
    visitor.sees_heading(A)


@pytest.mark.parametrize("has_script", [True, False])
def test_enter_beside_the_list_unsubscribes_from_nothing(service, visit, name, has_script):
    visitor = visit(service, has_script=has_script).is_let_in(name, *URLS)
    visitor.choose(B)
    visitor.page.keyboard.press("Enter")
    if not has_script:
        visitor.sees("Your list was like that already.")
    visitor.has_feeds([A, B, C])
    visitor.choose(B)
    visitor.type("Folder for the selected feeds", "Music")
    visitor.page.keyboard.press("Enter")
    visitor.page.get_by_role("status").filter(has_text="Moved 1 feed to Music.").wait_for()
    visitor.has_feeds_of("Music", [B])
    visitor.has_feeds_of("Without a folder", [A, C])


def test_ticks_made_during_a_refresh_stay(service, visit, name):
    visitor = visit(service)
    visitor.holds_the_clock()
    visitor.is_let_in(name, *URLS)
    added = {"subscriptions": [{"feed_url": "https://d.of-the-list.example"}]}
    app_of(service, name, "Test").post("/subscriptions", json=added).raise_for_status()
    held: list[Route] = []
    visitor.page.route(re.compile(r"/$"), lambda route: held.append(route))  # noqa: PLW0108 - Playwright sets an attribute of it
    with visitor.page.expect_request(re.compile(r"/$")):
        visitor.page.clock.run_for(6_000)
    visitor.choose(B)
    with visitor.page.expect_response(re.compile(r"/$")):
        held.pop().continue_()
    visitor.page.unroute(re.compile(r"/$"))
    visitor.page.evaluate("() => new Promise((done) => { requestIdleCallback(done); })")
    expect(visitor.page.get_by_role("checkbox", name=B, exact=True)).to_be_checked()
    visitor.has_feeds([A, B, C])
    visitor.page.get_by_role("checkbox", name=B, exact=True).uncheck()
    visitor.feed(C).focus()
    visitor.page.clock.run_for(6_000)
    visitor.has_feeds([A, B, C, "d.of-the-list.example"])
    expect(visitor.feed(C)).to_be_focused()


def test_first_feed_is_on_the_first_screen_of_a_phone(service, visit, name):
    long_ago = Stamp(wall_clock.now() - 9 * DAY_US)
    failing = {"failing": long_ago, "failures": 9, "failure": Failure.GONE}
    url = "https://gone.of-the-list.example"
    visitor = visit(service, width=PHONE, is_phone=True).is_let_in(name, *URLS, url)
    know(service, url, "Gone", fields=failing)
    visitor.open("/")
    file(visitor, "Music", A)
    visitor.open("/")
    visitor.page.get_by_text("Gone hasn't been readable for a week.").first.wait_for()
    box = visitor.feed(A).bounding_box()
    assert box["y"] + box["height"] < 600


_LEFTS = """() => [".brand", "main > :not(.unseen, :empty)"].map((part) =>
  document.querySelector(part).getBoundingClientRect().left)"""


def test_all_pages_have_one_left_edge(service, visit, name):
    visitor = visit(service, width=WIDE, expected={404}).is_let_in(name, *URLS)
    page = visitor.feed(A).get_attribute("href")
    edges = set()
    places = ("changes", "changes/restore", "apps", "apps/connect", "import", "account", "news")
    for place in ("/", *(f"/{place}" for place in places), page, "/nowhere"):
        visitor.open(place)
        edges |= set(visitor.page.evaluate(_LEFTS))
    assert len(edges) == 1, edges


@in_the_long_form
def test_grouped_and_empty_lists_have_no_flaw(service, visit, name):
    visitor = in_folders(visit(service).is_let_in(name, *URLS))
    for place in ("/", "/?view=grid", "/?folder=Music#name"):
        visitor.open(place)
        visitor.looks_well()


def test_who_uses_a_browser_next_finds_nothing_of_who_has_gone(service, chromium, name):
    anna = Visitor(chromium, service.base_url).is_let_in(name)
    anna.sees_heading("Your list is empty")
    context = anna.context
    anna.close()
    ben = Visitor(chromium, service.base_url)
    assert ben.context is context
    ben.open("/")
    ben.sees_heading("Sign in")
    ben.close()


def test_a_list_that_is_open_in_two_windows_is_the_same_in_both(service, visit, name):
    laptop, phone = visit(service), visit(service, width=320)
    for visitor in (laptop, phone):
        visitor.holds_the_clock()
        visitor.is_let_in(name)
    laptop.add("https://a.example/feed", "https://b.example/feed", "https://c.example/feed")
    phone.page.clock.run_for(6_000)
    phone.has_feeds(["a.example/feed", "b.example/feed", "c.example/feed"])
    phone.field("Search in these feeds").fill("b.ex")
    laptop.choose("a.example/feed")
    laptop.press("Unsubscribe from selected")
    laptop.has_feeds(["b.example/feed", "c.example/feed"])
    phone.page.clock.run_for(6_000)
    expect(phone.page.locator("#feeds li")).to_have_count(2)
    phone.has_feeds(["b.example/feed"])
    expect(phone.field("Search in these feeds")).to_have_value("b.ex")
    expect(phone.field("Search in these feeds")).to_be_focused()
    expect(phone.feed("c.example/feed")).to_be_hidden()
    phone.field("Search in these feeds").fill("nothing like this")
    phone.sees("No feed has these words in its title.")


def test_one_address_is_added_by_enter_and_what_is_typed_outlives_going_back(service, visit, name):
    anna = visit(service).is_let_in(name)
    for host in ("a", "b", "c"):
        anna.type("Add a feed", f"{host}.example/feed")
        anna.page.keyboard.press("Enter")
        anna.sees("Added %(name)s.", name=f"{host}.example/feed")
    anna.field("Search in these feeds").fill("b.ex")
    expect(anna.feed("a.example/feed")).to_be_hidden()
    anna.feed("b.example/feed").click()
    anna.sees_heading("b.example/feed")
    anna.page.go_back()
    expect(anna.field("Search in these feeds")).to_have_value("b.ex")
    expect(anna.feed("a.example/feed")).to_be_hidden()
    anna.choose("b.example/feed")
    expect(anna.page.locator("[data-count]")).to_have_text("1")


@in_the_long_form
def test_a_list_of_several_pages_is_searched_as_a_whole_and_stays_in_place(service, visit, name):
    urls = [f"https://{number:03}.example/feed" for number in range(820)]
    anna = visit(service, width=320).is_let_in(name, *urls[:420])
    anna.is_let_in(name, *urls[420:], "https://zebra.example/feed")
    anna.field("Search in these feeds").fill("zebra")
    anna.page.keyboard.press("Enter")
    anna.has_feeds(["zebra.example/feed"])
    anna.field("Search in these feeds").fill("819")
    anna.has_feeds(["819.example/feed"])
    anna.choose("819.example/feed")
    anna.field("Search in these feeds").fill("nothing like this")
    anna.sees("No feed has these words in its title.")
    expect(anna.page.locator("[data-count]")).to_have_text("1")
    anna.field("Search in these feeds").fill("zebra ex")
    anna.has_feeds(["zebra.example/feed"])
    expect(anna.field("Search in these feeds")).to_be_focused()
    expect(anna.page.locator("[data-count]")).to_have_text("1")
    anna.page.locator("[data-all]").check()
    expect(anna.page.locator("[data-count]")).to_have_text("2")
    anna.press("Unsubscribe from selected")
    anna.sees_many("Unsubscribed from %(number)s feed.", "Unsubscribed from %(number)s feeds.", 2)
    anna.press("Undo")
    anna.open("/?order=added&page=1")
    row = anna.page.locator("#feeds li").nth(300)
    row.get_by_role("button").click()
    anna.page.wait_for_url("**/?order=added&page=1")
    assert anna.page.evaluate("scrollY") > 5_000
    expect(anna.button("Undo")).to_be_in_viewport()
    anna.button("Undo").click(timeout=5_000)  # nothing lies over it
    anna.sees_many("%(number)s feed is back.", "%(number)s feeds are back.", 1)
    anna.page.wait_for_url("**/?order=added&page=1")
    assert anna.page.evaluate("scrollY") > 5_000


@in_the_long_form
def test_a_list_with_a_line_that_was_refused_follows_the_other_devices_too(service, visit, name):
    laptop, phone = visit(service, expected={400}), visit(service)
    laptop.holds_the_clock()
    laptop.is_let_in(name)
    laptop.add("https://a.example/feed", "no address")
    laptop.has_feeds(["a.example/feed"])
    phone.is_let_in(name)
    phone.add("https://b.example/feed")
    phone.has_feeds(["a.example/feed", "b.example/feed"])
    laptop.page.clock.run_for(6_000)
    laptop.has_feeds(["a.example/feed", "b.example/feed"])
    expect(laptop.field("Add a feed")).to_have_value("no address")
