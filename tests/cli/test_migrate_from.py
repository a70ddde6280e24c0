"""feedkeep migrate-from: from another feedkeep, and from a server that does as gpodder.net does."""

import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import other_servers
import pytest
from authors import TESTER
from command_line import refusal
from other_servers import FEEDS, LATER, GpodderNet, OtherServer, listening, play, serving

from feedkeep.model import Admitted

PASSWORD = "a long enough password"


@pytest.fixture
def here(offline):
    """A database of our own, without a service."""
    offline.use(lambda service: service.accounts.create("alice", None))
    return offline


def migrate(here, url, *options, password="secret"):  # noqa: S107 - the stand-in's
    own = ("--allow-private", "--password-stdin")
    arguments = ("migrate-from", url, "alice", *own, *options)
    done = here.run(*arguments, stdin=f"{password}\n")
    return done.stdout if done.returncode == 0 else done.stderr


def kept(here):
    """Return the feeds, how many episode actions, and the devices of alice."""

    async def look(service):
        account = await service.accounts.named("alice")
        feeds = [item.feed_url for item in await service.subscriptions.subscribed(account.id)]
        told = await service.episode_actions.since(Admitted(account, "test"), 1)
        actions = [action async for page in told.pages for action in page]
        devices = [device.id for device in await service.devices.all(account.id)]
        return feeds, len(actions), devices

    return here.use(look)


def test_everything_comes_over_once_and_later_runs_continue(here):
    async def leave(service):
        account = await service.accounts.named("alice")
        await service.url_lists.upload(Admitted(account, "test"), [], FEEDS[:1], TESTER)

    server, everything = GpodderNet(["phone", "not an id"], 2_500), (FEEDS, 2_500, ["phone"])
    with serving(server) as url:
        assert migrate(here, url).splitlines() == [
            "1 devices.",
            "Subscriptions: 2 added, 0 already there, 1 refused.",
            "2500 episode actions; 0 URLs refused.",
        ]
        assert kept(here) == everything
        server.asked.clear()
        again = migrate(here, url)
        assert "0 added, 2 already there" in again
        assert "0 episode actions" in again
        since = f"GET /api/2/episodes/alice.json?since={LATER}"
        assert [path for path in server.asked if "episodes" in path] == [since]
        assert kept(here) == everything
        here.use(leave)  # what was left here after the first run stays left
        migrate(here, url)
        assert kept(here)[0] == FEEDS[1:]


def test_what_came_before_a_failure_stays_and_the_next_run_brings_the_rest(here):
    server = GpodderNet(["phone"], 50, failures=[400])
    with serving(server) as url:
        assert "The other server answered 400" in migrate(here, url)
        assert kept(here) == (FEEDS, 0, ["phone"])
        server.failures = [301]
        told = migrate(here, url)
        assert "The other server redirects to https://elsewhere.example; use that address." in told
        told = migrate(here, url, password="wrong")
        refused = "feedkeep: The other server does not accept that name with that password.\n"
        assert told == refused
        server.failures = [503]  # a fault that passes is waited for
        assert "50 episode actions" in migrate(here, url)
    assert kept(here)[1] == 50


def test_an_address_that_is_not_valid_or_a_missing_password_is_told(here):
    for url in ("gpodder.net", "ftp://gpodder.net", "https://", "https://[", "file:///etc"):
        told = migrate(here, url)
        assert "The address is not valid; it should look like https://gpodder.net." in told
    told = refusal(here, "migrate-from", "https://gpodder.net", "alice")
    assert "--password-stdin" in told


def test_an_account_moves_from_one_feedkeep_to_another(here, feedkeep):
    name = feedkeep.new_account(PASSWORD)
    with httpx.Client(base_url=feedkeep.base_url, auth=(name, PASSWORD)) as there:
        there.post(f"/api/2/devices/{name}/phone.json", json={"caption": "Phone"})
        there.post(f"/api/2/subscriptions/{name}/phone.json", json={"add": FEEDS[:1]})
        there.post(f"/api/2/episodes/{name}.json", json=[play(number) for number in range(50)])
    migrate(here, feedkeep.base_url, "--remote-name", name, password=PASSWORD)
    assert kept(here) == (FEEDS[:1], 50, ["phone"])


@pytest.mark.parametrize("kind", other_servers.KINDS)
def test_everything_comes_over_from_each_kind_of_server(here, kind):
    server = kind()
    with serving(server) as url:
        told = migrate(here, url)
        feeds, actions, devices = kept(here)
        assert "0 added, 2 already there, 0 refused" in migrate(here, url)
    assert "2 added, 0 already there, 0 refused" in told
    assert feeds == FEEDS, told
    assert actions == (0 if kind is other_servers.Gpodder2go else server.plays)
    assert devices == ([] if kind is other_servers.Nextcloud else ["laptop", "phone"])


@pytest.mark.parametrize("name", ["Mygpo", "Opodsync", "OtherServer", "Podsync"])
def test_without_devices_the_whole_list_comes_over_without_what_was_removed(here, name):
    with serving(getattr(other_servers, name)(devices=[])) as url:
        migrate(here, url)
    assert kept(here)[0] == ([] if name == "Podsync" else FEEDS)
    listed = here.must("export", "alice")
    assert listed.count('text="A" title="A"') == (2 if name == "Mygpo" else 0)  # it tells titles


class Odd(OtherServer):
    """A server that answers one question in an unknown way."""

    body: Any = None

    def changes(self, _device=""):
        return 200, self.body

    whole_list = changes


@pytest.mark.parametrize("devices", [["phone"], []])
def test_an_answer_of_an_unknown_shape_is_an_error_that_shows_its_beginning(here, devices):
    server = Odd(devices)
    with serving(server) as url:
        for server.body, beginning in (
            ({"subscriptions": FEEDS}, '{   "subscriptions": ['),
            ([{"href": FEEDS[0]}], '[   {     "href": "https://a.example'),
            ({"add": [{"url": FEEDS[0]}]}, '{   "add": [     {'),
            ("<html>\x1b]0;pwned\x07 log in</html>", "<html>\ufffd]0;pwned\ufffd log in</html>"),
            ("[[[[", "[[[["),
            (None, "null"),
        ):
            told = migrate(here, url)
            assert told.startswith("feedkeep: The other server's subscriptions are not ")
            assert f". They begin with: {beginning}" in told
            assert told.rstrip("\n").isprintable()
    assert kept(here)[0] == []


class Endless(OtherServer):
    """A server that always has one action more, at a later time."""

    def actions(self, since):
        return {"actions": [play(since)], "timestamp": since + 1}


def test_episode_actions_without_an_end_are_told_and_those_that_came_are_kept(here):
    here.run_first("few_replies_are_asked_for")
    with serving(Endless()) as url:
        told = migrate(here, url)
    assert "After 20 replies with 20 episode actions, the other server has still more." in told
    assert kept(here)[1] == 20


class Hostile(BaseHTTPRequestHandler):
    """It answers what would command a terminal."""

    def do_GET(self):
        self.wfile.write(b"\x1b]0;pwned\x07HTTP/9 \x9b31m" + b"x" * 9_999 + b"\r\n\r\n")


def test_a_reply_that_is_no_http_or_comes_drop_by_drop_is_told(here):
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
    with listening(Hostile) as url:
        told = migrate(here, url)
    assert told.rstrip("\n").isprintable()
    assert len(told) < 400
    with listening(Dripping) as url:
        told = migrate(here, url)
        is_over.set()
    assert "takes longer than" in told
