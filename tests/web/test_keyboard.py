"""The main journey without a mouse: Tab, Space, Enter and the letters, with the focus in sight."""

import re

import pytest
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from page_client import PASSWORD
from playwright.sync_api import expect
from visitor import NARROW, WIDE, title_of

URLS = [f"https://feed-{number:02}.example/rss" for number in range(14)]


@pytest.mark.parametrize(
    ("width", "has_script"), [(WIDE, True), pytest.param(NARROW, False, marks=in_the_long_form)]
)
def test_the_keyboard_alone_does_the_main_journey(tmp_path, visit, width, has_script):
    with FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1") as process:
        anna = visit(process, width=width, has_script=has_script)
        keys = anna.page.keyboard

        def press(text):
            anna.tab_to(anna.button(text))
            keys.press("Enter")

        def follow(text):
            anna.tab_to(anna.link(text))
            keys.press("Enter")

        link = re.search(r"http\S+/sign-up/\S+", "".join(process.printed))
        assert link
        anna.open(link[0])
        expect(anna.field("Name")).to_be_focused()
        keys.type("anna")
        anna.tab_to(anna.field("Password"))
        keys.type(PASSWORD)
        keys.press("Enter")
        anna.sees_heading("Your list is empty")

        anna.tab_to(anna.field("Add a feed"))
        for url in URLS[:5]:
            keys.type(url)
            keys.press("Shift+Enter")  # Enter alone sends one address, where there is a script
        press("Add")
        anna.sees_many("Added %(number)s feed.", "Added %(number)s feeds.", 5)

        anna.tab_to(anna.link("Skip to main content"))
        keys.press("Enter")
        for url in (URLS[0], URLS[2], URLS[4]):
            anna.tab_to(anna.page.get_by_role("checkbox", name=title_of(url), exact=True))
            keys.press("Space")
        press("Unsubscribe from selected")
        anna.sees_many(
            "Unsubscribed from %(number)s feed.", "Unsubscribed from %(number)s feeds.", 3
        )
        press("Undo")
        anna.sees_many("%(number)s feed is back.", "%(number)s feeds are back.", 3)

        follow("Apps")
        follow("Connect an app")
        follow("Kasts")
        anna.tab_to(anna.field("Name for this app"))
        keys.type("My phone")
        press("Create a password")
        anna.sees_heading("Connect %(app)s", app="My phone")
        follow("Done")
        press("Disconnect")
        anna.sees_heading("Disconnect %(app)s?", app="My phone")
        press("Disconnect")
        anna.sees("My phone is disconnected.")
        press("Sign out")
        anna.sees("You are signed out.")


@in_the_long_form
def test_the_focus_is_never_behind_what_stays_in_sight(service, visit, name):
    anna = visit(service, width=NARROW).is_let_in(name, *URLS)
    anna.choose(title_of(URLS[0]))  # what can be done with the chosen ones stays in sight, too
    anna.tab_to(anna.feed(title_of(URLS[-1])))
    anna.tab_to(anna.feed(title_of(URLS[2])), key="Shift+Tab")


@in_the_long_form
def test_the_order_is_chosen_step_by_step_without_losing_the_place(service, visit, name):
    anna = visit(service).is_let_in(name, "https://a.example/")
    anna.add("https://b.example/")
    anna.has_feeds(["a.example", "b.example"])
    anna.tab_to(anna.field("Order"))
    for order, titles in (
        ("added", ["b.example", "a.example"]),
        ("changed", ["b.example", "a.example"]),
    ):
        anna.page.keyboard.press("ArrowDown")
        anna.page.wait_for_url(f"**order={order}*")
        anna.has_feeds(titles)
        expect(anna.field("Order")).to_be_focused()
