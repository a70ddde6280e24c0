"""feedkeep migrate-from: from another feedkeep, and from a server that does as gpodder.net does."""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest
from authors import TESTER
from feedkeep_process import FeedkeepProcess
from other_servers import (
    FEEDS,
    Gopodder,
    Gpodder2go,
    Mygpo,
    Nextcloud,
    Opodsync,
    OtherServer,
    Podsync,
    listening,
    serving,
)

from feedkeep.model import Admitted

PASSWORD = "a long enough password"
PODCAST = "https://a.example/feed"


def action(number: int) -> dict[str, Any]:
    return {
        "podcast": PODCAST,
        "episode": f"https://a.example/{number}.mp3",
        "device": "phone",
        "action": "play",
        "timestamp": "2026-01-01T12:00:00",
        "position": 1 + number,
        "total": 3_600,
    }


class GpodderNet:
    """A stand-in for gpodder.net: it tells the time of each reply, and can fail.

    Attributes:
        asked: The paths that were asked for.
        failures: With which statuses the next requests for episode actions are answered.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failures: list[int] = []
        self.actions = [action(number) for number in range(2_500)]
        self.url = ""

    def answer(self, path: str, authorization: str) -> tuple[int, Any]:
        self.asked.append(path)
        if authorization != "Basic YWxpY2U6c2VjcmV0":  # alice:secret
            return 401, {}
        if path.startswith("/api/2/episodes/alice.json") and self.failures:
            return self.failures.pop(0), {}
        return 200, {
            "/api/2/devices/alice.json": [
                {"id": "phone", "caption": "My phone", "type": "mobile", "subscriptions": 2},
                {"id": "not an id", "caption": "", "type": "other", "subscriptions": 0},
            ],
            "/api/2/subscriptions/alice/phone.json?since=0": {
                "add": [PODCAST, "feed:https://b.example", "file:///c"],
                "remove": [],
                "timestamp": 1_700,
            },
            "/api/2/episodes/alice.json?since=0": {"actions": self.actions, "timestamp": 1_700},
            "/api/2/episodes/alice.json?since=1700": {"actions": [], "timestamp": 1_800},
        }.get(path, {"actions": [], "timestamp": 1_900})


@pytest.fixture
def gpodder_net():
    server = GpodderNet()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = server.answer(self.path, self.headers["Authorization"])
            self.send_response(status)
            self.send_header("Location", "https://elsewhere.example/x")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            pass

    with listening(Handler) as server.url:
        yield server


@pytest.fixture
def here(tmp_path):
    """A database of our own, without a service."""
    process = FeedkeepProcess(tmp_path)
    process.use(lambda service: service.accounts.create("alice", None))
    return process


def migrate(here: FeedkeepProcess, url: str, *options: str, password: str = "secret") -> str:  # noqa: S107 - the stand-in's
    own = ("--allow-private", "--password-stdin")
    arguments = ("migrate-from", url, "alice", *own, *options)
    done = here.run(*arguments, stdin=f"{password}\n")
    return done.stdout if done.returncode == 0 else done.stderr


def kept(here: FeedkeepProcess) -> tuple[list[str], int, list[str]]:
    """Return the feeds, how many episode actions, and the devices of alice."""

    async def look(service: Any) -> tuple[list[str], int, list[str]]:
        account = await service.accounts.named("alice")
        feeds = [item.feed_url for item in await service.subscriptions.subscribed(account.id)]
        told = await service.episode_actions.since(Admitted(account, "test"), 1)
        actions = [action async for page in told.pages for action in page]
        devices = [device.id for device in await service.devices.all(account.id)]
        return feeds, len(actions), devices

    return here.use(look)


def test_everything_comes_over_and_a_second_run_doubles_nothing(here, gpodder_net):
    told = migrate(here, gpodder_net.url)
    assert told.splitlines() == [
        "1 devices.",
        "Subscriptions: 2 added, 0 already there, 1 refused.",
        "2500 episode actions; 0 URLs refused.",
    ]
    whole = ([PODCAST, "https://b.example"], 2_500, ["phone"])
    assert kept(here) == whole
    assert "0 added, 2 already there" in migrate(here, gpodder_net.url)
    assert kept(here) == whole


def test_what_was_left_here_after_the_first_run_stays_left(here, gpodder_net):
    migrate(here, gpodder_net.url)

    async def leave(service):
        account = await service.accounts.named("alice")
        await service.url_lists.upload(Admitted(account, "test"), [], [PODCAST], TESTER)

    here.use(leave)
    migrate(here, gpodder_net.url)
    assert kept(here)[0] == ["https://b.example"]


def test_a_second_run_goes_on_where_the_first_one_ended(here, gpodder_net):
    migrate(here, gpodder_net.url)
    gpodder_net.asked.clear()
    assert "0 episode actions" in migrate(here, gpodder_net.url)
    assert [path for path in gpodder_net.asked if "episodes" in path] == [
        "/api/2/episodes/alice.json?since=1800"
    ]


def test_what_came_before_a_failure_stays_and_the_next_run_brings_the_rest(here, gpodder_net):
    gpodder_net.failures = [400]
    assert "The other server answered 400" in migrate(here, gpodder_net.url)
    assert kept(here) == ([PODCAST, "https://b.example"], 0, ["phone"])
    migrate(here, gpodder_net.url)
    assert kept(here)[1] == 2_500


def test_a_fault_that_passes_is_waited_for(here, gpodder_net):
    gpodder_net.failures = [503]
    assert "2500 episode actions" in migrate(here, gpodder_net.url)


def test_a_wrong_password_is_told_in_one_sentence(here, gpodder_net):
    told = migrate(here, gpodder_net.url, password="wrong")
    assert told == ("feedkeep: The other server does not accept that name with that password.\n")


def test_a_redirect_is_told_and_not_followed(here, gpodder_net):
    gpodder_net.failures = [301]
    told = migrate(here, gpodder_net.url)
    assert "The other server redirects to https://elsewhere.example; use that address." in told


@pytest.mark.parametrize(
    "url", ["gpodder.net", "ftp://gpodder.net", "https://", "https://[", "file:///etc"]
)
def test_an_address_that_is_none_is_told(here, url):
    assert "The address is not valid; it should look like https://gpodder.net." in migrate(
        here, url
    )


def test_without_a_terminal_the_password_has_to_come_on_standard_input(here):
    done = here.run("migrate-from", "https://gpodder.net", "alice")
    assert done.returncode == 1
    assert "--password-stdin" in done.stderr


def test_an_account_moves_from_one_feedkeep_to_another(here, feedkeep):
    name = feedkeep.new_account(PASSWORD)
    with httpx.Client(base_url=feedkeep.base_url, auth=(name, PASSWORD)) as there:
        there.post(f"/api/2/devices/{name}/phone.json", json={"caption": "Phone"})
        there.post(f"/api/2/subscriptions/{name}/phone.json", json={"add": [PODCAST]})
        actions = [action(number) for number in range(50)]
        there.post(f"/api/2/episodes/{name}.json", json=actions)
    migrate(here, feedkeep.base_url, "--remote-name", name, password=PASSWORD)
    assert kept(here) == ([PODCAST], 50, ["phone"])


@pytest.mark.parametrize("kind", [Mygpo, Opodsync, Gpodder2go, Gopodder, Podsync, Nextcloud])
def test_what_is_subscribed_to_comes_over_from_each_kind_of_server_and_nothing_else(here, kind):
    server = kind()
    with serving(server) as url:
        told = migrate(here, url)
        feeds, actions, devices = kept(here)
        assert "2 added, 0 already there, 0 refused" in migrate(here, url).replace(
            "0 added, 2 already there", "2 added, 0 already there"
        )
    assert feeds == FEEDS, told
    assert actions == (0 if kind is Gpodder2go else server.plays)
    assert devices == ([] if kind is Nextcloud else ["laptop", "phone"])


@pytest.mark.parametrize("kind", [Mygpo, Opodsync, Gopodder, Podsync])
def test_without_devices_the_whole_list_comes_over_without_what_was_removed(here, kind):
    with serving(kind(devices=[])) as url:
        migrate(here, url)
    assert kept(here)[0] == ([] if kind is Podsync else FEEDS)
    listed = here.must("export", "alice")
    assert listed.count('text="A" title="A"') == (2 if kind is Mygpo else 0)  # which tells titles


class Odd(OtherServer):
    """A server that answers one question in an unknown way."""

    body: Any = None

    def changes(self, _device: str) -> tuple[int, Any]:
        return 200, self.body

    def whole_list(self) -> tuple[int, Any]:
        return 200, self.body


@pytest.mark.parametrize("devices", [["phone"], []])
def test_an_answer_of_an_unknown_shape_is_an_error_that_shows_its_beginning(here, devices):
    server = Odd(devices)
    for server.body, beginning in (
        ({"subscriptions": FEEDS}, '{   "subscriptions": ['),
        ([{"href": FEEDS[0]}], '[   {     "href": "https://a.example'),
        ({"add": [{"url": FEEDS[0]}]}, '{   "add": [     {'),
        ("<html>\x1b]0;pwned\x07 log in</html>", "<html>\ufffd]0;pwned\ufffd log in</html>"),
        ("[[[[", "[[[["),
        (None, "null"),
    ):
        with serving(server) as url:
            told = migrate(here, url)
        assert told.startswith("feedkeep: The other server's subscriptions are not ")
        assert f". They begin with: {beginning}" in told
        assert told.rstrip("\n").isprintable()
    assert kept(here)[0] == []


def test_what_a_server_says_cannot_command_the_terminal(here):
    class Hostile(BaseHTTPRequestHandler):
        def do_GET(self):
            self.wfile.write(b"\x1b]0;pwned\x07HTTP/9 \x9b31m" + b"x" * 9_999 + b"\r\n\r\n")

    here.run_first("another_server_has_a_second")
    with listening(Hostile) as url:
        told = migrate(here, url)
    assert told.rstrip("\n").isprintable()
    assert len(told) < 400


class Endless(OtherServer):
    """A server that always has one action more, at a later time."""

    def actions(self, since: int) -> dict[str, Any]:
        return {"actions": [action(since)], "timestamp": since + 1}


def test_episode_actions_without_an_end_are_told_and_those_that_came_are_kept(here):
    here.run_first("few_replies_are_asked_for")
    with serving(Endless()) as url:
        told = migrate(here, url)
    assert "After 20 replies with 20 episode actions, the other server has still more." in told
    assert kept(here)[1] == 20


def test_a_reply_that_comes_drop_by_drop_is_waited_for_so_long_only(here):
    is_over = threading.Event()

    class Dripping(BaseHTTPRequestHandler):
        def do_GET(self):
            self.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
            while not is_over.wait(0.05):
                with suppress(OSError):
                    self.wfile.write(b"x")

        def log_message(self, *_):
            pass

    here.run_first("another_server_has_a_second")
    with listening(Dripping) as url:
        told = migrate(here, url)
        is_over.set()
    assert "takes longer than" in told
