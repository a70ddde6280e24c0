"""Two people at once: each sees their own, whatever the other one does meanwhile."""

from forms import in_the_long_form
from playwright.sync_api import expect
from visitor import Visitor, title_of

PASSWORD = "a good passphrase"


def urls_of(name: str) -> list[str]:
    return [f"https://{name.lower()}.example/{number}" for number in range(4)]


def works(visitor: Visitor, name: str, step: int) -> None:
    """Do one of the steps of a person's work."""
    titles = [title_of(url) for url in urls_of(name)]
    match step:
        case 0:
            visitor.is_let_in(name, PASSWORD)
        case 1:
            visitor.add(*urls_of(name))
            visitor.has_feeds(titles)
        case 2:
            visitor.choose(titles[1])
            visitor.choose(titles[2])
            visitor.press("Unsubscribe from selected")
        case 3:
            visitor.press("Undo")
            visitor.has_feeds(titles)
        case 4:
            visitor.open("/apps/connect/kasts")
            visitor.type("Name for this app", f"The phone of {name}")
            visitor.press("Create a password")
            visitor.follow("Done")
            visitor.sees_heading(f"The phone of {name}")


@in_the_long_form
def test_two_people_work_at_the_same_time_and_each_sees_their_own(service, visit):
    names = [service.new_account(PASSWORD), service.new_account(PASSWORD)]
    visitors = [visit(service), visit(service, has_script=False)]
    for step in range(5):
        for visitor, name in zip(visitors, names, strict=True):
            works(visitor, name, step)
    for visitor, name, other in zip(visitors, names, reversed(names), strict=True):
        for place in ("/", "/?show=unsubscribed", "/apps", "/account", "/import"):
            visitor.open(place)
            assert other not in visitor.page.content()
            assert f"{other.lower()}.example" not in visitor.page.content()
        visitor.open("/")
        visitor.has_feeds([title_of(url) for url in urls_of(name)])


def test_who_uses_a_browser_next_finds_nothing_of_who_has_gone(service, chromium):
    anna = Visitor(chromium, service.base_url)
    anna.is_let_in(service.new_account(PASSWORD), PASSWORD)
    anna.sees_heading("Your list is empty")
    context = anna.context
    anna.close()
    ben = Visitor(chromium, service.base_url)
    assert ben.context is context
    ben.open("/")
    ben.sees_heading("Sign in")
    ben.close()


@in_the_long_form
def test_the_feed_of_another_person_is_no_page_and_their_app_cannot_be_ended(service, visit):
    one, two = service.new_account(PASSWORD), service.new_account(PASSWORD)
    anna, ben = visit(service), visit(service)
    for step in (0, 1, 4):
        works(anna, one, step)
    ben.is_let_in(two, PASSWORD)
    anna.open("/")
    anna.feed(title_of(urls_of(one)[0])).click()
    anna.sees_heading("This feed has moved")
    ben.expected.add(404)
    ben.open(anna.page.url)
    ben.sees_heading("There is no such page")
    works(ben, two, 4)
    anna.open("/apps")
    number = anna.button("Disconnect").get_attribute("value")
    ben.press("Disconnect")
    ben.button("Disconnect").evaluate("(button, value) => button.value = value", number)
    ben.press("Disconnect")
    anna.page.reload()
    anna.sees_heading(f"The phone of {one}")


def test_a_list_that_is_open_in_two_windows_is_the_same_in_both(service, visit):
    name = service.new_account(PASSWORD)
    laptop, phone = visit(service), visit(service, width=320)
    for visitor in (laptop, phone):
        visitor.holds_the_clock()
        visitor.is_let_in(name, PASSWORD)
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


def test_one_address_is_added_by_enter_and_what_is_typed_outlives_going_back(service, visit):
    anna = visit(service)
    anna.is_let_in(service.new_account(PASSWORD), PASSWORD)
    for name in ("a", "b", "c"):
        anna.type("Add a feed", f"{name}.example/feed")
        anna.page.keyboard.press("Enter")
        anna.sees("Added %(name)s.", name=f"{name}.example/feed")
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
def test_a_list_of_several_pages_is_searched_as_a_whole_and_stays_in_place(service, visit):
    anna = visit(service, width=320)
    name = service.new_account(PASSWORD)
    last = "https://zebra.example/feed"
    anna.is_let_in(name, PASSWORD, *(f"https://{n:03}.example/feed" for n in range(420)))
    anna.is_let_in(name, PASSWORD, *(f"https://{n}.example/feed" for n in range(420, 820)), last)
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
def test_a_list_with_a_line_that_was_refused_follows_the_other_devices_too(service, visit):
    name = service.new_account(PASSWORD)
    laptop, phone = visit(service), visit(service)
    laptop.holds_the_clock()
    laptop.expected.add(400)
    laptop.is_let_in(name, PASSWORD)
    laptop.add("https://a.example/feed", "no address")
    laptop.has_feeds(["a.example/feed"])
    phone.is_let_in(name, PASSWORD)
    phone.add("https://b.example/feed")
    phone.has_feeds(["a.example/feed", "b.example/feed"])
    laptop.page.clock.run_for(6_000)
    laptop.has_feeds(["a.example/feed", "b.example/feed"])
    expect(laptop.field("Add a feed")).to_have_value("no address")
