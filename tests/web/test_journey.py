"""From the link that `serve` prints to a deleted account, as one person after the other does it."""

import re
from pathlib import Path

import pytest
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from mygpoclient.api import MygPodderClient
from playwright.sync_api import expect
from postgres_server import drop_database, new_database
from visitor import NARROW, WIDE, Visitor, title_of

from feedkeep.formats.feed_list import read_feed_list
from feedkeep.rules.feed_urls import parse_feed_url

PASSWORD, NEW, NEWER = "correct horse battery", "another good phrase", "yet another phrase"
TYPED = ["https://podnews.example/rss", "https://atp.example/rss"]
WRONG = "ftp://feeds.example.org/nothing"
RIGHT = "https://feeds.example.org/nothing"
LIST = Path(__file__).with_name("programming.opml")
IN_LIST = [feed for feed in read_feed_list(LIST.read_bytes()).feeds if "http" in feed.feed_url[:4]]
TITLES = {parse_feed_url(feed.feed_url).guid: feed.title for feed in IN_LIST}
FROM_LIST = [feed.feed_url for feed in IN_LIST if feed.feed_url not in TYPED]
ADDED = ("Added %(number)s feed.", "Added %(number)s feeds.")
CODES_LEFT = ("You have %(count)s recovery code left.", "You have %(count)s recovery codes left.")


def name_of(url: str) -> str:
    """Return the title of a feed after the import of the list, which is the list's own."""
    return TITLES.get(parse_feed_url(url).guid) or title_of(url)


ALL = sorted([*TYPED, RIGHT, *FROM_LIST], key=lambda url: name_of(url).lower())

# Of two stores, with and without a script, two widths and two languages, each meets each once.
COMBINATIONS = [
    ("sqlite", True, WIDE, "en"),
    ("sqlite", False, NARROW, "de"),
    ("postgres", True, NARROW, "de"),
    ("postgres", False, WIDE, "de"),
    ("postgres", False, NARROW, "en"),
]


@pytest.fixture
def process(request, tmp_path, store):
    """A service with no account yet."""
    settings = {"trusted_proxies": "127.0.0.1", "registration": "invited"}
    if store == "sqlite":
        with FeedkeepProcess(tmp_path, **settings) as process:
            yield process
        return
    server = request.getfixturevalue("postgres")
    database = new_database(server)
    with FeedkeepProcess(tmp_path, database, workers="2", **settings) as process:
        process.wait_for_workers(2)
        yield process
    drop_database(server, database)


def set_up(process: FeedkeepProcess, anna: Visitor) -> None:
    link = re.search(r"http\S+/sign-up/\S+", "".join(process.printed))
    anna.open("/")
    anna.sees_heading("There is no account here yet")
    anna.sign_up(link[0], "anna", PASSWORD)
    anna.sees("Welcome. Your account is ready.")
    anna.sees_heading("Your list is empty")
    process.passwords += [PASSWORD, NEW, NEWER]
    if anna.has_script:
        anna.open("/account")
        expect(anna.page.get_by_label(anna.say("Time zone"))).not_to_have_value("")
        anna.open("/")


def add_some_and_a_list(anna: Visitor) -> None:
    anna.expected.add(400)
    anna.add(TYPED[0], WRONG, TYPED[1])
    anna.sees_many(*ADDED, 2)
    expect(anna.field("Add a feed")).to_have_value(WRONG)
    anna.add(RIGHT)
    anna.sees("Added %(name)s.", name=title_of(RIGHT))
    anna.has_feeds(sorted(title_of(url) for url in [*TYPED, RIGHT]))
    anna.follow("Import")
    anna.chosen_file(LIST)
    anna.sees_many("%(number)s new feed", "%(number)s new feeds", len(FROM_LIST))
    anna.reads("file:///home/notes.xml")
    anna.press("Import these feeds")
    anna.sees_many(*ADDED, len(FROM_LIST))
    anna.has_feeds([name_of(url) for url in ALL])


def connect_an_app(process: FeedkeepProcess, anna: Visitor) -> None:
    """Connect gPodder, and take the list along."""
    anna.follow("Apps")
    anna.follow("Connect an app")
    anna.follow("gPodder")
    anna.type("Name for this app", "My laptop")
    anna.press("Create a password")
    server = anna.secret_beside("The server's address:")
    name = anna.secret_beside("Your name:")
    secret = anna.secret_beside("The password for this app:")
    process.tokens.append(secret)
    laptop = MygPodderClient(name, secret, root_url=server)
    assert laptop.update_device_settings("desk", "My laptop", "laptop") is True
    assert sorted(laptop.pull_subscriptions("desk", 0).add) == sorted(ALL)
    if not anna.has_script:
        anna.page.reload()
    anna.sees_heading("Connected: %(app)s", app="My laptop")
    anna.follow("Import")
    with anna.page.expect_download() as download:
        anna.follow("OPML, for any app")
    exported = read_feed_list(Path(download.value.path()).read_bytes()).feeds
    assert sorted(feed.feed_url for feed in exported) == sorted(ALL)


def invite_and_help(anna: Visitor, ben: Visitor) -> None:
    anna.follow("People")
    anna.type("For whom?", "Ben")
    anna.press("Create an invitation")
    anna.sees_heading("An invitation for %(name)s", name="Ben")
    ben.sign_up(anna.page.locator("#link").inner_text(), "ben", PASSWORD)
    ben.sees_heading("Your list is empty")
    assert not any(name_of(url) in ben.page.content() for url in ALL)
    expect(ben.link("People")).to_have_count(0)
    ben.press("Sign out")
    ben.sees("You are signed out.")
    anna.follow("Back to People")
    anna.follow("ben")
    anna.press("Create a link")
    anna.sees_heading("A new password for %(name)s", name="ben")
    ben.open(anna.page.locator("#link").inner_text())
    ben.type("New password", NEW)
    ben.press("Set the password")
    ben.sees("Your new password is now active. Apps that had the old one ask for it.")


def use_a_recovery_code_and_leave(ben: Visitor) -> None:
    ben.follow("Account")
    ben.press("Create ten recovery codes")
    ben.sees_heading("Recovery codes")
    codes = ben.page.locator("#codes").get_by_role("listitem").all_inner_texts()
    assert len(set(codes)) == 10
    ben.follow("I have written them down")
    ben.sees_many(*CODES_LEFT, 10)
    ben.press("Sign out")
    ben.follow("I have forgotten my password")
    ben.fill_in({"Name": "ben", "Recovery code": codes[3], "New password": NEWER})
    ben.press("Set the password")
    ben.sees("Your new password is now active. Apps that had the old one ask for it.")
    ben.follow("Account")
    ben.sees_many(*CODES_LEFT, 9)
    ben.type("Type your name, %(name)s, to confirm", "ben", name="ben")
    ben.press("Delete my account")
    ben.sees("Your account is deleted, with everything that was in it.")
    ben.expected.add(403)
    ben.sign_in("ben", NEWER)
    ben.sees("The name or the password is not right.")


@in_the_long_form  # each step has tests of its own, and the keyboard's journey is the short one
@pytest.mark.parametrize(("store", "has_script", "width", "language"), COMBINATIONS)
def test_a_person_sets_it_up_and_never_needs_a_shell_again(
    process, visit, has_script, width, language
):
    looks = {"has_script": has_script, "width": width, "language": language}
    anna, ben = visit(process, **looks), visit(process, **looks)
    set_up(process, anna)
    add_some_and_a_list(anna)
    connect_an_app(process, anna)
    invite_and_help(anna, ben)
    use_a_recovery_code_and_leave(ben)
