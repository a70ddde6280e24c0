"""An app wipes a list while its owner looks at it, and one click brings all of it back."""

from feedkeep_process import FeedkeepProcess
from page_client import app_of
from visitor import NARROW, title_of

URLS = [f"https://{name}.example/feed" for name in "abcdefghijkl"]
TITLES = [title_of(url) for url in URLS]
ONE, MANY = "%(number)s feed is back.", "%(number)s feeds are back."


def upload(service: FeedkeepProcess, name: str, urls: list[str]) -> int:
    """Upload a removal of each feed, like AntennaPod after it has lost its feeds.

    Returns the `since` of its next sync.
    """
    app, device = app_of(service, name, "AntennaPod/3.4.0"), f"{name}/pixel.json"
    app.post(f"/api/2/devices/{device}", json={"caption": "Annas Handy"}).raise_for_status()
    changes = {"add": [], "remove": urls}
    told = app.post(f"/api/2/subscriptions/{device}", json=changes).raise_for_status()
    return told.json()["timestamp"]


def added_since(service: FeedkeepProcess, name: str, since: int) -> set[str]:
    """Return the feeds that the phone is sent to add at its next sync."""
    app = app_of(service, name, "AntennaPod/3.4.0")
    told = app.get(f"/api/2/subscriptions/{name}/pixel.json", params={"since": since})
    return set(told.raise_for_status().json()["add"])


def test_a_list_that_an_app_wiped_is_back_after_one_click(service, visit, name):
    anna = visit(service, language="de", has_script=False, width=NARROW).is_let_in(name, *URLS)
    anna.has_feeds(TITLES)
    since = upload(service, name, URLS)
    anna.open("/")
    anna.reads("AntennaPod auf Annas Handy hat gerade eben 12 Feeds entfernt")
    assert not anna.scrolls_sideways()
    anna.press("Bring them back")
    anna.sees_many(ONE, MANY, 12)
    anna.has_feeds(TITLES)
    assert added_since(service, name, since) == set(URLS)
    upload(service, name, URLS)  # an app that wipes a list does it again
    anna.follow("History")
    anna.reads("12 Feeds entfernt")
    anna.press("Bring them back")
    anna.sees_many(ONE, MANY, 12)
    anna.follow("Feeds")
    anna.has_feeds(TITLES)


def test_a_page_that_is_open_asks_about_a_wipe_by_itself(service, visit, name):
    anna = visit(service)
    anna.holds_the_clock()
    anna.is_let_in(name, *URLS)
    anna.has_feeds(TITLES)
    upload(service, name, URLS)
    anna.page.clock.run_for(6_000)
    anna.reads("AntennaPod on Annas Handy removed 12 feeds")
    anna.press("Keep it this way")
    anna.sees("All right. It stays in the history, in case you change your mind.")
    anna.sees("You are subscribed to nothing right now.")
