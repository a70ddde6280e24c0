"""Every page, with content, empty and with an error: axe-core finds nothing, and all of it fits.

Each is looked at on a light phone of 320 pixels and on a dark computer.
"""

from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from playwright.sync_api import expect
from visitor import PHONE, Visitor

from feedkeep.http.pages.languages import LANGUAGES
from feedkeep.service import Service

PASSWORD = "a good passphrase"
LIST = Path(__file__).with_name("programming.opml")
LONG = "https://feeds.example/" + "a-very-long-name-without-any-space" * 6
URLS = [*(f"https://{name}.example/feed" for name in "abcdefgh"), LONG]


@pytest.fixture
def name(service):
    return service.new_account(PASSWORD)


@pytest.fixture
def visitor(service, visit, name):
    """A person with an empty list, who is signed in."""
    visitor = visit(service)
    visitor.is_let_in(name, PASSWORD)
    visitor.sees_heading("Your list is empty")
    return visitor


class Tour:
    """Pages that are looked at one after the other."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.flaws: list[str] = []

    def look(self, heading: str, **values: object) -> None:
        """Look at the page that has this heading."""
        self.visitor.sees_heading(heading, **values)
        self.flaws += self.visitor.flaws()

    def look_for(self, text: str) -> None:
        """Look at the page that says this."""
        self.visitor.sees(text)
        self.flaws += self.visitor.flaws()


def make_admin(service: FeedkeepProcess, name: str) -> None:
    async def promote(use: Service) -> None:
        await use.accounts.set_admin(name, True)

    service.use(promote)


@in_the_long_form  # built of the same parts and style as those below
def test_pages_for_strangers(service, visit, name):
    stranger = visit(service)
    make_admin(service, name)
    admin = visit(service)
    admin.is_let_in(name, PASSWORD)
    admin.open("/people")
    admin.press("Create an invitation")
    invitation = admin.page.locator("#link").inner_text()
    admin.open(f"/people/of/{name}")
    admin.press("Create a link")
    reset = admin.page.locator("#link").inner_text()
    stranger.expected = {400, 403, 404}
    tour = Tour(stranger)
    stranger.open("/sign-in")
    tour.look("Sign in")
    stranger.sign_in("stranger", "wrong password")
    tour.look_for("The name or the password is not right.")
    stranger.open(invitation)
    tour.look("Create your account")
    stranger.fill_in({"Name": name, "Password": PASSWORD})
    stranger.press("Create my account")
    stranger.page.locator(".problem").first.wait_for()
    tour.look("Create your account")
    stranger.open("/sign-up/no-such-link")
    tour.look("This link no longer works")
    stranger.open("/recover")
    tour.look("A new password")
    stranger.fill_in({"Name": name, "Recovery code": "wrong", "New password": PASSWORD})
    stranger.press("Set the password")
    tour.look_for("The name or the code is not right, or the code was used before.")
    stranger.open(reset)
    tour.look("A new password")
    stranger.open("/reset/no-such-link")
    tour.look("This link no longer works")
    stranger.open("/no-such-page")
    tour.look("There is no such page")
    assert not tour.flaws, "\n".join(tour.flaws)


def test_the_page_before_there_is_any_account(tmp_path, visit):
    with FeedkeepProcess(tmp_path) as process:
        stranger = visit(process)
        tour = Tour(stranger)
        stranger.open("/")
        tour.look("There is no account here yet")
        assert not tour.flaws, "\n".join(tour.flaws)


def test_the_reference_for_developers(service, visit):
    stranger = visit(service)
    stranger.open("/docs")
    tour = Tour(stranger)
    tour.look("The interface for apps")
    for summary in stranger.page.locator("#addSubscriptions summary").all():
        summary.click()
    tour.look("The interface for apps")
    stranger.page.locator("#addSubscriptions a[href='#response-TooLarge']").click()
    expect(stranger.page.locator("#response-TooLarge")).to_be_in_viewport()
    assert tour.flaws == []


def test_pages_of_the_list(visitor):
    visitor.expected = {400}
    tour = Tour(visitor)
    tour.look("Your list is empty")
    visitor.follow("Import")
    tour.look("Import a list")
    visitor.press("Preview changes")
    tour.look_for("Choose a file, or paste a list.")
    visitor.chosen_file(LIST)
    tour.look("What would change")
    visitor.open("/")
    visitor.add(*URLS, "no address", "another")
    visitor.sees_many("Added %(number)s feed.", "Added %(number)s feeds.", len(URLS))
    tour.look("My feeds")
    visitor.choose("a.example/feed")
    tour.look("My feeds")
    visitor.press("Unsubscribe from selected")
    tour.look_for("Undo")
    visitor.open("/?show=unsubscribed")
    tour.look("My feeds")
    visitor.open("/?q=nothing+like+this")
    tour.look_for("No feed has these words in its title.")
    visitor.open("/")
    visitor.page.locator("#feeds").get_by_role("link").last.click()
    tour.look("This feed has moved")
    visitor.unfold("This feed has moved")
    visitor.type("Its new address", "nonsense")
    visitor.press("Change the address")
    visitor.page.locator("#new_url-problem").wait_for()
    tour.look("This feed has moved")
    visitor.unfold("This feed is in my list twice")
    visitor.type("The address of the other one", "https://nowhere.example/")
    visitor.press("Merge them")
    visitor.page.locator("#other_url-problem").wait_for()
    tour.look("This feed has moved")
    assert not tour.flaws, "\n".join(tour.flaws)


@in_the_long_form
def test_pages_of_the_history(service, visitor, name):
    visitor.expected = {400, 409}
    tour = Tour(visitor)
    visitor.follow("History")
    tour.look_for("Nothing has changed yet.")
    visitor.open("/")
    visitor.add(*URLS, "https://i.example/feed")
    visitor.feed("i.example/feed").wait_for()
    with service.client(name) as app:
        app.put(f"/subscriptions/{name}/pixel.json", json=URLS[:1])
    visitor.open("/")
    tour.look_for("Bring them back")
    visitor.follow("History")
    visitor.page.locator("summary").first.click()
    visitor.page.locator("summary").last.click()
    tour.look("History")
    oldest = visitor.page.locator(".changes > li").last
    oldest.get_by_role("button", name="Undo").first.click()
    tour.look("Changed again since")
    visitor.press("Undo all of them")
    tour.look_for("Undo")
    visitor.follow("History")
    visitor.link("Restore to before this").first.click()
    tour.look_for("These come back")
    visitor.press("Restore the list")
    tour.look_for("Undo")
    visitor.follow("Choose a moment and restore the whole list")
    tour.look("Restore the list")
    visitor.open("/changes/restore?moment=1999-01-01T00:00")
    tour.look_for("The history of this list does not go back that far. Choose a later moment.")
    visitor.open("/")
    visitor.feed("a.example/feed").click()
    tour.look("History of this feed")
    assert not tour.flaws, "\n".join(tour.flaws)


@in_the_long_form
def test_pages_of_apps(service, visitor, name):
    visitor.expected = {401, 403, 404}
    tour = Tour(visitor)
    visitor.follow("Apps")
    tour.look("No app is connected yet")
    visitor.follow("Connect an app")
    tour.look("Connect an app")
    for app, called in (("antennapod", "AntennaPod"), ("kasts", "Kasts")):
        visitor.open(f"/apps/connect/{app}")
        tour.look("Connect %(app)s", app=called)
    visitor.open("/apps/connect/nextcloud")
    tour.look("Connect an app that uses Nextcloud sync")
    visitor.open("/apps/connect/developer")
    visitor.type("Name for this app", "Mine")
    visitor.press("Create a token")
    service.tokens.append(visitor.page.locator("#secret").inner_text())
    tour.look_for("Send the token with each request, as in this line:")
    visitor.open("/apps/connect/gpodder")
    visitor.type("Name for this app", "A label as long as it may be, " * 2)
    visitor.press("Create a password")
    service.tokens.append(visitor.secret_beside("The password for this app:"))
    tour.look_for("The password for this app:")
    visitor.open("/apps")
    visitor.page.get_by_role("button", name=visitor.say("Disconnect")).first.click()
    tour.look("Disconnect %(app)s?", app=("A label as long as it may be, " * 2).strip())
    visitor.press("Disconnect")
    visitor.open("/apps/connected")
    tour.look("That password is no longer shown")
    visitor.open("/apps")
    tour.look("My apps")
    begun = httpx.post(f"{service.base_url}/index.php/login/v2").json()
    visitor.open(begun["login"])
    tour.look("Connect an app to your account")  # signed in a moment ago: one click is enough
    visitor.follow("Use another account")
    tour.look("Connect an app to your account")
    visitor.fill_in({"Name": name, "Password": "wrong"})
    visitor.press("Sign in and allow access")
    visitor.page.locator("#problem").wait_for()
    tour.look("Connect an app to your account")
    visitor.fill_in({"Name": name, "Password": PASSWORD})
    visitor.press("Sign in and allow access")
    tour.look("Done")
    assert not tour.flaws, "\n".join(tour.flaws)


@in_the_long_form
def test_pages_of_the_account_and_of_people(service, visitor, name):
    visitor.expected = {400, 403}
    tour = Tour(visitor)
    visitor.follow("Account")
    tour.look("Language and appearance")
    visitor.type("Type your name, %(name)s, to confirm", "other", name=name)
    visitor.press("Delete my account")
    visitor.page.locator("#name-problem").wait_for()
    tour.look("Language and appearance")
    visitor.press("Create ten recovery codes")
    tour.look("Recovery codes")
    visitor.page.reload()
    tour.look_for("They were shown once. If you do not have them, create new ones.")
    visitor.open("/people")
    tour.look("For administrators only")
    make_admin(service, name)
    visitor.open("/people")
    tour.look("People")
    visitor.press("Create an invitation")
    tour.look("An invitation")
    visitor.page.reload()
    tour.look("That link was shown once")
    visitor.follow("Back to People")
    tour.look_for("Open invitations")
    other = service.new_account()
    visitor.open(f"/people/of/{quote(other)}")
    tour.look("A forgotten password")
    visitor.type("Type the name, %(name)s, to confirm", "other", name=other)
    visitor.press("Delete this account")
    visitor.page.locator(".problem").wait_for()
    tour.look("A forgotten password")
    assert not tour.flaws, "\n".join(tour.flaws)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_menu_of_an_administrator_fits_a_phone_in_one_row(service, visit, name, language):
    make_admin(service, name)
    visitor = visit(service, language=language, width=PHONE)
    visitor.is_let_in(name, PASSWORD)
    boxes = [link.bounding_box() for link in visitor.page.locator("nav li a").all()]
    assert (len(boxes), len({box["y"] for box in boxes if box})) == (6, 1)
    assert all(box["width"] >= 24 and box["height"] >= 44 for box in boxes if box)
    size = visitor.page.locator("nav a").first.evaluate("it => getComputedStyle(it).fontSize")
    assert float(size.removesuffix("px")) > 12


@pytest.mark.parametrize("is_phone", [True, False])
def test_a_phone_is_not_asked_to_photograph_itself(service, visit, name, is_phone):
    visitor = visit(service, width=PHONE, is_phone=is_phone)
    visitor.is_let_in(name, PASSWORD)
    visitor.open("/apps/connect/kasts")
    visitor.press("Create a password")
    service.tokens.append(visitor.secret_beside("The password for this app:"))
    code = visitor.page.get_by_role("img", name="Address, name and password as a QR code")
    expect(code).to_have_count(0 if is_phone else 1)
