"""From the link that `serve` prints to a deleted account, as one person after the other does it."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess, from_elsewhere
from forms import in_the_long_form
from mygpoclient.api import MygPodderClient
from playwright.sync_api import expect
from postgres_server import drop_database, new_database
from visitor import NARROW, PATIENCE_MS, WIDE, Visitor, title_of

from feedkeep.formats.feed_list import read_feed_list
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.feed_urls import parse_feed_url

ANNA, BEN = "anna", "ben"
PASSWORD, NEW, NEWER = "correct horse battery", "another good phrase", "yet another phrase"
TYPED = ["https://podnews.example/rss", "https://atp.example/rss"]
ANTENNAPOD = {"User-Agent": "AntennaPod/3.9.0"}
WRONG = "ftp://feeds.example.org/nothing"
RIGHT = "https://feeds.example.org/nothing"
LIST = Path(__file__).with_name("programming.opml")
IN_LIST = read_feed_list(LIST.read_bytes()).feeds
LISTED = [feed.feed_url for feed in IN_LIST]
TITLES = {
    parse_feed_url(feed.feed_url).guid: feed.title
    for feed in IN_LIST
    if feed.feed_url.startswith("http")
}
FROM_LIST = [url for url in LISTED if url.startswith("http") and url not in TYPED]


def name_of(url: str) -> str:
    """Return what a feed is called once the list was imported: as the list calls it."""
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


@contextmanager
def fresh_service(
    request: pytest.FixtureRequest, folder: Path, store: str
) -> Iterator[FeedkeepProcess]:
    settings = {"trusted_proxies": "127.0.0.1", "registration": "invited"}
    if store == "sqlite":
        with FeedkeepProcess(folder, **settings) as process:
            yield process
        return
    server: str = request.getfixturevalue("postgres")
    database = new_database(server)
    with FeedkeepProcess(folder, database, workers="2", **settings) as process:
        process.wait_for_workers(2)
        yield process
    drop_database(server, database)


@dataclass
class Journey:
    """What happens one step after the other.

    Attributes:
        process: The service, with no account yet.
        anna: Who sets it up.
        ben: Whom she invites.
        client: Her gPodder, once it is connected.
        nextcloud: What her AntennaPod logs in with, once it is connected.
    """

    process: FeedkeepProcess
    anna: Visitor
    ben: Visitor
    client: MygPodderClient = field(init=False)
    nextcloud: tuple[str, str] = field(init=False)

    def set_up(self) -> None:
        link = re.search(r"http\S+/sign-up/\S+", "".join(self.process.printed))
        assert link
        self.anna.open("/")
        self.anna.sees_heading("There is no account here yet")
        self.anna.sign_up(link[0], ANNA, PASSWORD)
        self.anna.sees("Welcome. Your account is ready.")
        self.anna.sees_heading("Your list is empty")
        self.process.passwords.append(PASSWORD)
        if self.anna.has_script:
            self.anna.open("/account")
            expect(self.anna.page.get_by_label(self.anna.say("Time zone"))).not_to_have_value("")
            self.anna.open("/")

    def add_three(self) -> None:
        anna = self.anna
        anna.expected.add(400)
        anna.add(TYPED[0], WRONG, TYPED[1])
        with pytest.raises(InvalidFeedUrl) as refused:
            parse_feed_url(WRONG)
        anna.reads_sentence(refused.value.sentence)
        anna.sees_many("Added %(number)s feed.", "Added %(number)s feeds.", 2)
        expect(anna.field("Add a feed")).to_have_value(WRONG)
        anna.add(RIGHT)
        anna.sees("Added %(name)s.", name=title_of(RIGHT))
        anna.has_feeds(sorted(title_of(url) for url in [*TYPED, RIGHT]))

    def bring_a_list(self) -> None:
        anna = self.anna
        anna.follow("Import")
        anna.chosen_file(LIST)
        one, many = "%(number)s new feed", "%(number)s new feeds"
        anna.sees_many(one, many, len(FROM_LIST))
        anna.sees_many(
            "%(number)s is in your list already.", "%(number)s are in your list already.", 1
        )
        anna.sees_many("%(number)s cannot be added.", "%(number)s cannot be added.", 1)
        anna.reads("file:///home/notes.xml")
        anna.press("Import these feeds")
        anna.sees_many("Added %(number)s feed.", "Added %(number)s feeds.", len(FROM_LIST))
        anna.has_feeds([name_of(url) for url in ALL])

    def connect_gpodder(self) -> None:
        anna = self.anna
        anna.follow("Apps")
        anna.follow("Connect an app")
        anna.follow("gPodder")
        anna.type("Name for this app", "My laptop")
        anna.press("Create a password")
        server = anna.secret_beside("The server's address:")
        name = anna.secret_beside("Your name:")
        secret = anna.secret_beside("The password for this app:")
        self.process.tokens.append(secret)
        expect(
            anna.page.get_by_role("img", name=anna.say("Address, name and password as a QR code"))
        ).to_be_visible()
        anna.page.reload()
        assert anna.secret_beside("The password for this app:") == secret
        self.client = MygPodderClient(name, secret, root_url=server)
        assert self.client.update_device_settings("desk", "My laptop", "laptop") is True
        assert sorted(self.client.pull_subscriptions("desk", 0).add) == sorted(ALL)
        if not anna.has_script:
            anna.page.reload()
        anna.sees_heading("Connected: %(app)s", app="My laptop")

    def connect_by_nextcloud(self) -> None:
        anna = self.anna
        headers = {**ANTENNAPOD, **from_elsewhere()}
        with httpx.Client(base_url=self.process.base_url, headers=headers, timeout=30) as app:
            begun = app.post("/index.php/login/v2").json()
            anna.open(begun["login"])
            anna.sees_heading("Connect an app to your account")
            anna.press("Allow access")  # she signed in a moment ago
            anna.sees_heading("Done")
            told = app.post(
                begun["poll"]["endpoint"], data={"token": begun["poll"]["token"]}
            ).json()
            self.process.tokens.append(told["appPassword"])
            self.nextcloud = told["loginName"], told["appPassword"]
        assert self.listed_by_nextcloud() == sorted(ALL)

    def listed_by_nextcloud(self) -> list[str]:
        url = f"{self.process.base_url}/index.php/apps/gpoddersync/subscriptions"
        listed = httpx.get(url, auth=self.nextcloud, headers=ANTENNAPOD, timeout=30)
        return sorted(listed.json()["add"])

    def see_both_apps(self) -> None:
        anna = self.anna
        anna.open("/apps")
        # A last use is stored without delaying a request, so that the page may be asked before; and
        # one that meets another commit is left to the next request of that app.
        cards = anna.page.get_by_role("listitem").filter(has_text=anna.say("Last sync"))
        deadline = time.monotonic() + PATIENCE_MS / 1_000
        while cards.filter(has_text=anna.say("never")).count():
            assert time.monotonic() < deadline
            self.listed_by_nextcloud()
            self.client.get_subscriptions("desk")
            anna.page.reload()
        expect(cards.get_by_role("heading")).to_have_text(["AntennaPod", "My laptop"])

    def follow_the_app(self) -> None:
        """Her laptop removes a feed, and the list in the open page follows."""
        anna = self.anna
        anna.holds_the_clock()
        anna.open("/")
        expect(anna.feed(name_of(TYPED[1]))).to_be_visible()
        assert self.client.update_subscriptions("desk", [], [TYPED[1]])
        if anna.has_script:
            anna.page.clock.run_for(6_000)
        else:
            anna.page.reload()
        expect(anna.feed(name_of(TYPED[1]))).to_have_count(0)
        anna.has_feeds([name_of(url) for url in ALL if url != TYPED[1]])
        anna.follow_many("%(number)s unsubscribed", "%(number)s unsubscribed", 1)
        anna.choose(name_of(TYPED[1]))
        anna.press("Subscribe to selected")
        anna.sees("Subscribed to %(name)s again.", name=name_of(TYPED[1]))
        anna.follow("Feeds")

    def unsubscribe_from_five(self) -> None:
        anna = self.anna
        for url in ALL[:5]:
            anna.choose(name_of(url))
        anna.press("Unsubscribe from selected")
        anna.sees_many(
            "Unsubscribed from %(number)s feed.", "Unsubscribed from %(number)s feeds.", 5
        )
        anna.has_feeds([name_of(url) for url in ALL[5:]])
        anna.press("Undo")
        anna.sees_many("%(number)s feed is back.", "%(number)s feeds are back.", 5)
        anna.has_feeds([name_of(url) for url in ALL])

    def take_the_list_along(self) -> None:
        anna = self.anna
        anna.follow("Import")
        with anna.page.expect_download() as download:
            anna.follow("OPML, for any app")
        exported = read_feed_list(Path(download.value.path()).read_bytes()).feeds
        assert sorted(feed.feed_url for feed in exported) == sorted(ALL)
        assert sorted(self.client.get_subscriptions("desk")) == sorted(ALL)

    def invite_a_person(self) -> None:
        anna, ben = self.anna, self.ben
        anna.follow("People")
        anna.type("For whom?", "Ben")
        anna.press("Create an invitation")
        anna.sees_heading("An invitation for %(name)s", name="Ben")
        link = anna.page.locator("#link").inner_text()
        ben.sign_up(link, BEN, PASSWORD)
        ben.sees_heading("Your list is empty")
        assert not any(name_of(url) in ben.page.content() for url in ALL)
        expect(ben.link("People")).to_have_count(0)
        ben.press("Sign out")
        ben.sees("You are signed out.")

    def help_with_a_forgotten_password(self) -> None:
        anna, ben = self.anna, self.ben
        anna.follow("Back to People")
        anna.follow(BEN)
        anna.press("Create a link")
        anna.sees_heading("A new password for %(name)s", name=BEN)
        ben.open(anna.page.locator("#link").inner_text())
        ben.type("New password", NEW)
        ben.press("Set the password")
        ben.sees("Your new password is now active. Apps that had the old one ask for it.")
        self.process.passwords.append(NEW)

    def use_a_recovery_code(self) -> None:
        ben = self.ben
        ben.follow("Account")
        ben.press("Create ten recovery codes")
        ben.sees_heading("Recovery codes")
        codes = ben.page.locator("#codes").get_by_role("listitem").all_inner_texts()
        assert len(set(codes)) == 10
        ben.follow("I have written them down")
        ben.sees_many(
            "You have %(count)s recovery code left.", "You have %(count)s recovery codes left.", 10
        )
        ben.press("Sign out")
        ben.follow("I have forgotten my password")
        ben.fill_in({"Name": BEN, "Recovery code": codes[3], "New password": NEWER})
        ben.press("Set the password")
        ben.sees("Your new password is now active. Apps that had the old one ask for it.")
        self.process.passwords.append(NEWER)

    def delete_the_account(self) -> None:
        ben = self.ben
        ben.follow("Account")
        ben.sees_many(
            "You have %(count)s recovery code left.", "You have %(count)s recovery codes left.", 9
        )
        ben.type("Type your name, %(name)s, to confirm", BEN, name=BEN)
        ben.press("Delete my account")
        ben.sees("Your account is deleted, with everything that was in it.")
        ben.expected.add(403)
        ben.sign_in(BEN, NEWER)
        ben.sees("The name or the password is not right.")


@in_the_long_form  # each step has tests of its own, and the keyboard's journey is the short one
@pytest.mark.parametrize(("store", "has_script", "width", "language"), COMBINATIONS)
def test_a_person_sets_it_up_and_never_needs_a_shell_again(
    request, tmp_path, visit, store, has_script, width, language
):
    with fresh_service(request, tmp_path, store) as process:
        looks = {"has_script": has_script, "width": width, "language": language}
        journey = Journey(process, visit(process, **looks), visit(process, **looks))
        journey.set_up()
        journey.add_three()
        journey.bring_a_list()
        journey.connect_gpodder()
        journey.connect_by_nextcloud()
        journey.see_both_apps()
        journey.follow_the_app()
        journey.unsubscribe_from_five()
        journey.take_the_list_along()
        journey.invite_a_person()
        journey.help_with_a_forgotten_password()
        journey.use_a_recovery_code()
        journey.delete_the_account()
