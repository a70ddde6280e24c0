"""Every page, with content, empty and with an error: axe-core finds nothing, and all of it fits.

Each is looked at on a light phone of 320 pixels and on a dark computer.
"""

from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_LONG, in_the_long_form
from page_client import PASSWORD
from playwright.sync_api import expect
from visitor import PHONE, Visitor

from feedkeep.http.pages.languages import LANGUAGES

LIST = Path(__file__).with_name("programming.opml")
LONG = "https://feeds.example/" + "a-very-long-name-without-any-space" * 6
URLS = [*(f"https://{name}.example/feed" for name in "abcdefgh"), LONG]


@pytest.fixture
def visitor(service, visit, name):
    """A person with an empty list, who is signed in."""
    visitor = visit(service).is_let_in(name)
    visitor.sees_heading("Your list is empty")
    return visitor


def look(visitor: Visitor, heading: str, **values: object) -> None:
    """Look at the page that has this heading."""
    visitor.sees_heading(heading, **values)
    visitor.looks_well()


def look_for(visitor: Visitor, text: str) -> None:
    """Look at the page that says this."""
    visitor.sees(text)
    visitor.looks_well()


def look_at(visitor: Visitor, place: str, heading: str, **values: object) -> None:
    """Look at the page of an address, which has this heading."""
    visitor.open(place)
    look(visitor, heading, **values)


def make_admin(service: FeedkeepProcess, name: str) -> None:
    service.use(lambda use: use.accounts.set_admin(name, True))


@in_the_long_form  # built of the same parts and style as those below
def test_pages_for_strangers(service, visit, name, visitor):
    stranger = visit(service, expected={400, 403, 404})
    make_admin(service, name)
    visitor.open("/people")
    visitor.press("Create an invitation")
    invitation = visitor.page.locator("#link").inner_text()
    visitor.open(f"/people/of/{name}")
    visitor.press("Create a link")
    reset = visitor.page.locator("#link").inner_text()
    look_at(stranger, "/sign-in", "Sign in")
    stranger.sign_in("stranger", "wrong password")
    look_for(stranger, "The name or the password is not right.")
    look_at(stranger, invitation, "Create your account")
    stranger.fill_in({"Name": name, "Password": PASSWORD})
    stranger.press("Create my account")
    stranger.page.locator(".problem").first.wait_for()
    look(stranger, "Create your account")
    look_at(stranger, "/sign-up/no-such-link", "This link no longer works")
    look_at(stranger, "/recover", "A new password")
    stranger.fill_in({"Name": name, "Recovery code": "wrong", "New password": PASSWORD})
    stranger.press("Set the password")
    look_for(stranger, "The name or the code is not right, or the code was used before.")
    look_at(stranger, reset, "A new password")
    look_at(stranger, "/reset/no-such-link", "This link no longer works")
    look_at(stranger, "/no-such-page", "There is no such page")


def test_the_page_before_there_is_any_account(tmp_path, visit):
    with FeedkeepProcess(tmp_path) as process:
        look_at(visit(process), "/", "There is no account here yet")


_LEAVE_FEW = """() => document.querySelectorAll("article:not(:first-of-type, #addSubscriptions)")
  .forEach((operation) => operation.remove())"""


def test_the_reference_for_developers(service, visit):
    stranger = visit(service)
    stranger.open("/docs")
    for summary in stranger.page.locator("#addSubscriptions summary").all():
        summary.click()
    stranger.page.locator("#addSubscriptions a[href='#response-TooLarge']").click()
    expect(stranger.page.locator("#response-TooLarge")).to_be_in_viewport()
    if not IS_LONG:  # axe-core takes long, and the other operations are built of the same parts
        assert not stranger.scrolls_sideways()
        stranger.page.evaluate(_LEAVE_FEW)
    look(stranger, "The interface for apps")


def test_pages_of_the_list(visitor):
    visitor.expected = {400}
    look(visitor, "Your list is empty")
    visitor.follow("Import")
    look(visitor, "Import a list")
    visitor.press("Preview changes")
    look_for(visitor, "Choose a file, or paste a list.")
    visitor.chosen_file(LIST)
    look(visitor, "What would change")
    visitor.open("/")
    visitor.add(*URLS, "no address", "another")
    visitor.sees_many("Added %(number)s feed.", "Added %(number)s feeds.", len(URLS))
    look(visitor, "My feeds")
    visitor.choose("a.example/feed")
    look(visitor, "My feeds")
    visitor.press("Unsubscribe from selected")
    look_for(visitor, "Undo")
    look_at(visitor, "/?show=unsubscribed", "My feeds")
    visitor.open("/?q=nothing+like+this")
    look_for(visitor, "No feed has these words in its title.")
    visitor.open("/")
    visitor.page.locator("#feeds").get_by_role("link").last.click()
    look(visitor, "This feed has moved")
    visitor.unfold("This feed has moved")
    visitor.type("Its new address", "nonsense")
    visitor.press("Change the address")
    visitor.page.locator("#new_url-problem").wait_for()
    look(visitor, "This feed has moved")
    visitor.unfold("This feed is in my list twice")
    visitor.type("The address of the other one", "https://nowhere.example/")
    visitor.press("Merge them")
    visitor.page.locator("#other_url-problem").wait_for()
    look(visitor, "This feed has moved")


@in_the_long_form
def test_pages_of_the_history(service, visitor, name):
    visitor.expected = {400, 409}
    visitor.follow("History")
    look_for(visitor, "Nothing has changed yet.")
    visitor.open("/")
    visitor.add(*URLS, "https://i.example/feed")
    visitor.feed("i.example/feed").wait_for()
    with service.client(name) as app:
        app.put(f"/subscriptions/{name}/pixel.json", json=URLS[:1])
    visitor.open("/")
    look_for(visitor, "Bring them back")
    visitor.follow("History")
    visitor.page.locator("summary").first.click()
    visitor.page.locator("summary").last.click()
    look(visitor, "History")
    oldest = visitor.page.locator(".changes > li").last
    oldest.get_by_role("button", name="Undo").first.click()
    look(visitor, "Changed again since")
    visitor.press("Undo all of them")
    look_for(visitor, "Undo")
    visitor.follow("History")
    visitor.link("Restore to before this").first.click()
    look_for(visitor, "These come back")
    visitor.press("Restore the list")
    look_for(visitor, "Undo")
    visitor.follow("Choose a moment and restore the whole list")
    look(visitor, "Restore the list")
    visitor.open("/changes/restore?moment=1999-01-01T00:00")
    look_for(visitor, "The history of this list does not go back that far. Choose a later moment.")
    visitor.open("/")
    visitor.feed("a.example/feed").click()
    look(visitor, "History of this feed")


@in_the_long_form
def test_pages_of_apps(service, visitor, name):
    visitor.expected = {401, 403, 404}
    visitor.follow("Apps")
    look(visitor, "No app is connected yet")
    visitor.follow("Connect an app")
    look(visitor, "Connect an app")
    for app, called in (("antennapod", "AntennaPod"), ("kasts", "Kasts")):
        look_at(visitor, f"/apps/connect/{app}", "Connect %(app)s", app=called)
    look_at(visitor, "/apps/connect/nextcloud", "Connect an app that uses Nextcloud sync")
    visitor.open("/apps/connect/developer")
    visitor.type("Name for this app", "Mine")
    visitor.press("Create a token")
    service.tokens.append(visitor.page.locator("#secret").inner_text())
    look_for(visitor, "Send the token with each request, as in this line:")
    visitor.open("/apps/connect/gpodder")
    visitor.type("Name for this app", "A label as long as it may be, " * 2)
    visitor.press("Create a password")
    service.tokens.append(visitor.secret_beside("The password for this app:"))
    look_for(visitor, "The password for this app:")
    visitor.open("/apps")
    visitor.button("Disconnect").first.click()
    look(visitor, "Disconnect %(app)s?", app=("A label as long as it may be, " * 2).strip())
    visitor.press("Disconnect")
    look_at(visitor, "/apps/connected", "That password is no longer shown")
    look_at(visitor, "/apps", "My apps")
    begun = httpx.post(f"{service.base_url}/index.php/login/v2").json()
    look_at(visitor, begun["login"], "Connect an app to your account")  # one click is enough
    visitor.follow("Use another account")
    look(visitor, "Connect an app to your account")
    visitor.fill_in({"Name": name, "Password": "wrong"})
    visitor.press("Sign in and allow access")
    visitor.page.locator("#problem").wait_for()
    look(visitor, "Connect an app to your account")
    visitor.fill_in({"Name": name, "Password": PASSWORD})
    visitor.press("Sign in and allow access")
    look(visitor, "Done")


@in_the_long_form
def test_pages_of_the_account_and_of_people(service, visitor, name):
    visitor.expected = {400, 403}
    visitor.follow("Account")
    look(visitor, "Language and appearance")
    visitor.type("Type your name, %(name)s, to confirm", "other", name=name)
    visitor.press("Delete my account")
    visitor.page.locator("#name-problem").wait_for()
    look(visitor, "Language and appearance")
    visitor.press("Create ten recovery codes")
    look(visitor, "Recovery codes")
    visitor.page.reload()
    look_for(visitor, "They were shown once. If you do not have them, create new ones.")
    look_at(visitor, "/people", "For administrators only")
    make_admin(service, name)
    look_at(visitor, "/people", "People")
    visitor.press("Create an invitation")
    look(visitor, "An invitation")
    visitor.page.reload()
    look(visitor, "That link was shown once")
    visitor.follow("Back to People")
    look_for(visitor, "Open invitations")
    other = service.new_account()
    look_at(visitor, f"/people/of/{other}", "A forgotten password")
    visitor.type("Type the name, %(name)s, to confirm", "other", name=other)
    visitor.press("Delete this account")
    visitor.page.locator(".problem").wait_for()
    look(visitor, "A forgotten password")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_menu_of_an_administrator_fits_a_phone_in_one_row(service, visit, name, language):
    make_admin(service, name)
    visitor = visit(service, language=language, width=PHONE).is_let_in(name)
    boxes = [link.bounding_box() for link in visitor.page.locator("nav li a").all()]
    assert (len(boxes), len({box["y"] for box in boxes if box})) == (6, 1)
    assert all(box["width"] >= 24 and box["height"] >= 44 for box in boxes if box)
    size = visitor.page.locator("nav a").first.evaluate("it => getComputedStyle(it).fontSize")
    assert float(size.removesuffix("px")) > 12


@pytest.mark.parametrize("is_phone", [True, False])
def test_a_phone_is_not_asked_to_photograph_itself(service, visit, name, is_phone):
    visitor = visit(service, width=PHONE, is_phone=is_phone).is_let_in(name)
    visitor.open("/apps/connect/kasts")
    visitor.press("Create a password")
    service.tokens.append(visitor.secret_beside("The password for this app:"))
    code = visitor.page.get_by_role("img", name="Address, name and password as a QR code")
    expect(code).to_have_count(0 if is_phone else 1)
