"""Nothing is done twice: by going back, reloading, sending again, an ended session, an old link."""

import re

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_LONG, in_the_long_form
from playwright.sync_api import expect
from visitor import title_of

PASSWORD = "a good passphrase"
URLS = [f"https://{name}.example/feed" for name in "abcdef"]
TITLES = [title_of(url) for url in URLS]


@pytest.fixture
def name(service):
    return service.new_account(PASSWORD)


@pytest.fixture
def anna(service, visit, name):
    """A person who is signed in and has six feeds."""
    anna = visit(service)
    anna.is_let_in(name, PASSWORD, *URLS)
    anna.has_feeds(TITLES)
    return anna


def posts(service: FeedkeepProcess) -> int:
    """Return how many forms the service was sent so far."""
    # It writes its log in the turn after an answer, so before it looks at one more request.
    httpx.get(f"{service.base_url}/livez").raise_for_status()
    return service.log.read_text().count('"method":"POST"')


@in_the_long_form
def test_back_and_reload_after_a_form_send_nothing(service, anna):
    anna.add(URLS[0])  # it is there; so there are two forms to go back to
    anna.has_feeds(TITLES)
    anna.choose(TITLES[0])
    anna.press("Unsubscribe from selected")
    anna.has_feeds(TITLES[1:])
    sent = posts(service)
    for step in (anna.page.reload, anna.page.go_back, anna.page.reload, anna.page.go_forward):
        step()
        anna.has_feeds(TITLES[1:])
    anna.page.go_back()
    anna.page.go_back()
    anna.page.reload()
    anna.open("/")
    anna.has_feeds(TITLES[1:])
    assert posts(service) == sent


@in_the_long_form
@pytest.mark.parametrize("has_script", [True, False] if IS_LONG else [True])
def test_back_from_an_import_leads_to_the_form_again(service, visit, name, has_script):
    anna = visit(service, has_script=has_script)
    anna.is_let_in(name, PASSWORD)
    anna.follow("Import")
    anna.page.locator("summary").click()
    anna.type("List", "\n".join(URLS))
    anna.press("Preview changes")
    anna.page.get_by_role("button", name="Import these feeds").click()
    anna.has_feeds(TITLES)
    sent = posts(service)
    anna.page.go_back()
    anna.sees_heading("What would change")
    expect(anna.page.get_by_role("button", name="Import these feeds")).to_be_enabled()
    anna.page.go_back()
    anna.sees_heading("Import a list")
    assert posts(service) == sent


@pytest.mark.parametrize(("has_script", "is_at_account"), [(True, False), (False, True)])
def test_back_to_a_refused_form_shows_it_again(service, visit, name, has_script, is_at_account):
    anna = visit(service, has_script=has_script)
    anna.expected |= {400, 403}
    if is_at_account:  # the form of a page for anyone
        anna.open("/sign-in")
        anna.fill_in({"Name": name, "Password": "a wrong one"})
        anna.press("Sign in")
        problem = "The name or the password is not right."
        anna.sees(problem)
        anna.page.get_by_role("link", name="feedkeep").click()
    else:
        anna.is_let_in(name, PASSWORD, *URLS)
        anna.add("no address")
        problem = "This is not an address."
        anna.reads(problem)
        anna.follow("Apps")
    sent = posts(service)
    anna.page.go_back()
    anna.reads(problem)
    assert posts(service) == sent


@in_the_long_form  # without a browser, tests/web/test_feeds.py has it
def test_a_form_that_was_left_open_in_a_second_window_says_what_is_so(service, anna):
    second = anna.second_window("/")
    anna.choose(TITLES[0])
    anna.press("Unsubscribe from selected")
    anna.has_feeds(TITLES[1:])
    second.get_by_role("checkbox", name=TITLES[0], exact=True).check()
    second.get_by_role("button", name="Unsubscribe from selected").click()
    expect(second.get_by_text("Your list was like that already.")).to_be_visible()
    second.close()


@in_the_long_form
def test_what_was_undone_cannot_be_undone_again(anna):
    anna.choose(TITLES[0])
    anna.press("Unsubscribe from selected")
    anna.sees("Undo")
    second = anna.second_window("/?show=unsubscribed")
    second.get_by_role("checkbox", name=TITLES[0], exact=True).check()
    second.get_by_role("button", name="Subscribe to selected").click()
    expect(second.get_by_role("button", name="Undo")).to_be_visible()
    anna.press("Undo")
    anna.sees("There was nothing left to undo.")
    anna.has_feeds(TITLES)


@in_the_long_form  # without a browser, tests/web/test_accounts.py has it
def test_an_app_that_was_ended_before_is_ended_all_the_same(anna):
    anna.open("/apps/connect/kasts")
    anna.press("Create a password")
    anna.follow("Done")
    anna.press("Disconnect")
    second = anna.second_window(anna.page.url)
    anna.press("Disconnect")
    anna.sees("Kasts is disconnected.")
    second.get_by_role("button", name="Disconnect").click()
    expect(second.get_by_text("That app is disconnected.")).to_be_visible()


@in_the_long_form  # without a browser, tests/web/test_feeds.py has it
def test_a_feed_that_was_deleted_before_leads_on(anna):
    anna.expected.add(410)
    anna.feed(TITLES[0]).click()
    second = anna.second_window(anna.page.url)
    anna.unfold("Delete it")
    anna.press("Delete this feed")
    anna.has_feeds(TITLES[1:])
    second.get_by_role("heading", name="Delete it").click()
    second.get_by_role("button", name="Delete this feed").click()
    expect(second.get_by_role("heading", name="This feed was deleted")).to_be_visible()
    second.get_by_role("link", name="To your feeds").click()
    expect(second.get_by_role("link", name=TITLES[1])).to_be_visible()


def test_a_long_form_is_sent_once_however_often_its_button_is_pressed(service, anna):
    anna.follow("Import")
    anna.page.locator("summary").click()
    anna.type("List", "https://new.example/feed")
    anna.press("Preview changes")
    sent = posts(service)
    anna.page.get_by_role("button", name="Import these feeds").dblclick()
    anna.has_feeds([*TITLES, "new.example/feed"])
    assert posts(service) == sent + 1


@in_the_long_form
def test_an_import_that_takes_long_shows_that_it_is_under_way(anna):
    anna.follow("Import")
    anna.page.locator("summary").click()
    anna.type("List", "https://new.example/feed")
    anna.press("Preview changes")
    button, progress = anna.page.locator("[data-busy]"), anna.page.locator("progress")
    expect(progress).to_be_hidden()
    # The answer never comes: the browser waits for one before it lets anybody look.
    anna.page.evaluate("addEventListener('submit', (event) => event.preventDefault())")
    button.click()
    expect(progress).to_be_visible()
    expect(button).to_have_text("Importing…")
    expect(button).to_be_disabled()
    anna.page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    expect(button).to_have_text("Import these feeds")
    expect(button).to_be_enabled()
    expect(progress).to_be_hidden()


@in_the_long_form  # without a browser, tests/web/test_safety.py has it
def test_signed_out_elsewhere_a_page_says_so_and_leads_back(service, visit, anna, name):
    other = visit(service)
    other.is_let_in(name, PASSWORD)
    other.open("/account")
    other.press("Sign out all my other browsers")
    other.sees("All your other browsers are signed out.")
    anna.expected.add(401)
    anna.choose(TITLES[0])
    anna.press("Unsubscribe from selected")
    anna.sees_heading("You are signed out")
    anna.follow("Sign in")
    anna.sees_heading("Sign in")
    anna.open("/?show=unsubscribed&order=added")
    anna.sees_heading("Sign in")
    anna.sees("You are signed out.")
    anna.fill_in({"Name": name, "Password": PASSWORD})
    anna.press("Sign in")
    anna.sees("There are no unsubscribed feeds.")
    expect(anna.page).to_have_url(re.compile(r"/\?show=unsubscribed&order=added$"))
    anna.open("/")
    anna.has_feeds(TITLES[::-1])  # the browser keeps the order that was chosen


@in_the_long_form
def test_an_open_list_keeps_quiet_when_its_session_ends(service, visit, anna, name):
    anna.holds_the_clock()
    anna.page.reload()
    other = visit(service)
    other.is_let_in(name, PASSWORD)
    other.open("/account")
    other.press("Sign out all my other browsers")
    other.sees("All your other browsers are signed out.")
    with anna.page.expect_response(lambda reply: "/feeds/changed" in reply.url):
        anna.page.clock.run_for(6_000)
    anna.has_feeds(TITLES)


def test_after_signing_out_going_back_does_not_show_the_list(anna):
    anna.press("Sign out")
    anna.sees("You are signed out.")
    anna.page.go_back()
    anna.sees_heading("Sign in")
    assert TITLES[0] not in anna.page.content()


@in_the_long_form
def test_links_work_once(service, visit, name):
    async def promote(use):
        await use.accounts.set_admin(name, True)

    service.use(promote)
    admin = visit(service)
    admin.is_let_in(name, PASSWORD)
    admin.open("/people")
    admin.press("Create an invitation")
    link = admin.page.locator("#link").inner_text()
    first, second = visit(service), visit(service)
    first.open(link)
    second.open(link)
    called = service.new_account()  # a name of its own, that is free again
    service.must("account", "delete", called, "--yes")
    first.fill_in({"Name": called, "Password": PASSWORD})
    first.press("Create my account")
    first.sees_heading("Your list is empty")
    second.expected.add(403)
    second.fill_in({"Name": "SomebodyElse", "Password": PASSWORD})
    second.press("Create my account")
    second.sees_heading("This link no longer works")
    first.expected.add(403)
    first.open(link)
    first.sees_heading("This link no longer works")

    admin.open(f"/people/of/{called}")
    admin.press("Create a link")
    link = admin.page.locator("#link").inner_text()
    second.open(link)
    second.type("New password", "a newer passphrase")
    second.press("Set the password")
    second.sees("Your new password is now active. Apps that had the old one ask for it.")
    second.open(link)
    second.sees_heading("This link no longer works")
    second.follow("Sign in")
    second.sees_heading("Sign in")


@in_the_long_form
def test_a_name_that_is_taken_is_told_beside_the_field_and_what_was_typed_stays(
    service, visit, name
):
    async def promote(use):
        await use.accounts.set_admin(name, True)

    service.use(promote)
    admin = visit(service)
    admin.is_let_in(name, PASSWORD)
    admin.open("/people")
    admin.press("Create an invitation")
    guest = visit(service)
    guest.expected.add(400)
    guest.sign_up(admin.page.locator("#link").inner_text(), name, PASSWORD)
    expect(guest.field("Name")).to_have_value(name)
    expect(guest.field("Name")).to_have_accessible_description(re.compile("already"))
