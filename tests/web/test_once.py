"""Nothing is done twice: by going back, reloading, pressing again, or after the session's end."""

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from playwright.sync_api import expect
from visitor import Visitor, title_of

URLS = [f"https://{name}.example/feed" for name in "abcdef"]
TITLES = [title_of(url) for url in URLS]
IMPORT = "Import these feeds"


@pytest.fixture
def anna(service, visit, name):
    """A person who is signed in and has six feeds."""
    anna = visit(service).is_let_in(name, *URLS)
    anna.has_feeds(TITLES)
    return anna


def posts(service: FeedkeepProcess) -> int:
    """Return the number of forms that the service has received."""
    # It writes its log in the turn after an answer, so before it looks at one more request.
    httpx.get(f"{service.base_url}/livez").raise_for_status()
    return service.log.read_text().count('"method":"POST"')


def preview(anna: Visitor, *urls: str) -> None:
    anna.follow("Import")
    anna.page.locator("summary").click()
    anna.type("List", "\n".join(urls))
    anna.press("Preview changes")


@pytest.mark.parametrize(("has_script", "is_at_account"), [(True, False), (False, True)])
def test_back_to_a_refused_form_shows_it_again(service, visit, name, has_script, is_at_account):
    anna = visit(service, has_script=has_script, expected={400, 403})
    if is_at_account:  # the form of a page for anyone
        anna.sign_in(name, "a wrong one")
        problem = "The name or the password is not right."
        anna.sees(problem)
        anna.page.get_by_role("link", name="feedkeep").click()
    else:
        anna.is_let_in(name, *URLS)
        anna.add("no address")
        problem = "This is not an address."
        anna.reads(problem)
        anna.follow("Apps")
    sent = posts(service)
    anna.page.go_back()
    anna.reads(problem)
    assert posts(service) == sent


def test_an_import_shows_that_it_is_under_way_and_is_sent_once(service, anna):
    preview(anna, "https://new.example/feed")
    button, progress = anna.page.locator("[data-busy]"), anna.page.locator("progress")
    expect(progress).to_be_hidden()
    # The answer never comes: the browser waits for one before it lets anybody look.
    anna.page.evaluate("addEventListener('submit', (event) => event.preventDefault())")
    button.click()
    expect(progress).to_be_visible()
    expect(button).to_have_text("Importing…")
    expect(button).to_be_disabled()
    anna.page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    expect(button).to_have_text(IMPORT)
    expect(button).to_be_enabled()
    expect(progress).to_be_hidden()
    preview(anna, "https://new.example/feed")
    sent = posts(service)
    anna.button(IMPORT).dblclick()
    anna.has_feeds([*TITLES, "new.example/feed"])
    assert posts(service) == sent + 1


@in_the_long_form
def test_an_open_list_keeps_quiet_when_its_session_ends_and_then_says_so(
    service, visit, anna, name
):
    anna.holds_the_clock()
    anna.page.reload()
    other = visit(service).is_let_in(name)
    other.open("/account")
    other.press("Sign out all my other browsers")
    other.sees("All your other browsers are signed out.")
    with anna.page.expect_response(lambda reply: "/feeds/changed" in reply.url):
        anna.page.clock.run_for(6_000)
    anna.has_feeds(TITLES)
    anna.expected.add(401)
    anna.choose(TITLES[0])
    anna.press("Unsubscribe from selected")
    anna.sees_heading("You are signed out")


def test_after_signing_out_going_back_does_not_show_the_list(anna):
    anna.press("Sign out")
    anna.sees("You are signed out.")
    anna.page.go_back()
    anna.sees_heading("Sign in")
    assert TITLES[0] not in anna.page.content()
