"""feedkeep migrate-from: from another feedkeep, and from a server that does as gpodder.net does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from feedkeep_process import FeedkeepProcess

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
        "position": number,
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
            "/subscriptions/alice.json": [
                {"url": PODCAST, "title": "A"},
                {"url": "https://b.example", "title": "B"},
                {"url": "file:///c", "title": "C"},
            ],
            "/api/2/episodes/alice.json?since=0": {"actions": self.actions, "timestamp": 1_700},
            "/api/2/episodes/alice.json?since=1700": {"actions": [], "timestamp": 1_800},
        }.get(path, {"actions": [], "timestamp": 1_900})


@pytest.fixture
def gpodder_net() -> Iterator[GpodderNet]:
    server = GpodderNet()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = server.answer(self.path, self.headers["Authorization"])
            self.send_response(status)
            self.send_header("Location", "https://elsewhere.example/x")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            pass

    with listening(Handler) as server.url:
        yield server


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def here(tmp_path: Path) -> FeedkeepProcess:
    """A database of our own, without a service."""
    process = FeedkeepProcess(tmp_path)
    process.must("account", "create", "alice")
    return process


def migrate(here: FeedkeepProcess, url: str, *options: str, password: str = "secret") -> str:  # noqa: S107 - the stand-in's
    arguments = ("migrate-from", url, "alice", "--password-stdin", *options)
    done = here.run(*arguments, stdin=f"{password}\n")
    return done.stdout if done.returncode == 0 else done.stderr


def kept(here: FeedkeepProcess) -> tuple[list[str], int, list[str]]:
    """Return the feeds, how many episode actions, and the devices of alice."""

    async def look(service: Any) -> tuple[list[str], int, list[str]]:
        account = await service.account("alice")
        feeds = [item.feed_url for item in await service.subscribed(account.id)]
        actions, _ = await service.apps.actions(Admitted(account, "test"), 1)
        devices = [device.id for device in await service.apps.devices(account.id)]
        return feeds, len(actions), devices

    return here.use(look)


def test_everything_comes_over_and_a_second_run_doubles_nothing(
    here: FeedkeepProcess, gpodder_net: GpodderNet
) -> None:
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


def test_what_was_left_here_after_the_first_run_stays_left(
    here: FeedkeepProcess, gpodder_net: GpodderNet
) -> None:
    migrate(here, gpodder_net.url)

    async def leave(service: Any) -> None:
        account = await service.account("alice")
        await service.apps.upload(Admitted(account, "test"), [], [PODCAST])

    here.use(leave)
    migrate(here, gpodder_net.url)
    assert kept(here)[0] == ["https://b.example"]


def test_a_second_run_goes_on_where_the_first_one_ended(
    here: FeedkeepProcess, gpodder_net: GpodderNet
) -> None:
    migrate(here, gpodder_net.url)
    gpodder_net.asked.clear()
    assert "0 episode actions" in migrate(here, gpodder_net.url)
    assert [path for path in gpodder_net.asked if "episodes" in path] == [
        "/api/2/episodes/alice.json?since=1800"
    ]


def test_what_came_before_a_failure_stays_and_the_next_run_brings_the_rest(
    here: FeedkeepProcess, gpodder_net: GpodderNet
) -> None:
    gpodder_net.failures = [400]
    assert "The other server answers 400" in migrate(here, gpodder_net.url)
    assert kept(here) == ([PODCAST, "https://b.example"], 0, ["phone"])
    migrate(here, gpodder_net.url)
    assert kept(here)[1] == 2_500


def test_a_fault_that_passes_is_waited_for(here: FeedkeepProcess, gpodder_net: GpodderNet) -> None:
    gpodder_net.failures = [503]
    assert "2500 episode actions" in migrate(here, gpodder_net.url)


def test_a_wrong_password_is_told_in_one_sentence(
    here: FeedkeepProcess, gpodder_net: GpodderNet
) -> None:
    told = migrate(here, gpodder_net.url, password="wrong")
    assert told == ("feedkeep: The other server does not accept that name with that password.\n")


def test_a_redirect_is_told_and_not_followed(
    here: FeedkeepProcess, gpodder_net: GpodderNet
) -> None:
    gpodder_net.failures = [301]
    told = migrate(here, gpodder_net.url)
    assert "The other server is at https://elsewhere.example; give that address." in told


@pytest.mark.parametrize(
    "url", ["gpodder.net", "ftp://gpodder.net", "https://", "https://[", "file:///etc"]
)
def test_an_address_that_is_none_is_told(here: FeedkeepProcess, url: str) -> None:
    assert "The address has to be like https://gpodder.net." in migrate(here, url)


def test_without_a_terminal_the_password_has_to_come_on_standard_input(
    here: FeedkeepProcess,
) -> None:
    done = here.run("migrate-from", "https://gpodder.net", "alice")
    assert done.returncode == 1
    assert "--password-stdin" in done.stderr


def test_an_account_moves_from_one_feedkeep_to_another(
    here: FeedkeepProcess, feedkeep: FeedkeepProcess
) -> None:
    name = feedkeep.new_account(PASSWORD)
    with httpx.Client(base_url=feedkeep.base_url, auth=(name, PASSWORD)) as there:
        there.post(f"/api/2/devices/{name}/phone.json", json={"caption": "Phone"})
        there.post(f"/api/2/subscriptions/{name}/phone.json", json={"add": [PODCAST]})
        actions = [action(number) for number in range(50)]
        there.post(f"/api/2/episodes/{name}.json", json=actions)
    migrate(here, feedkeep.base_url, "--remote-name", name, password=PASSWORD)
    assert kept(here) == ([PODCAST], 50, ["phone"])
