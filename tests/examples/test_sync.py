"""The example programs of docs/apps.md, on two devices, against a real service."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of, in_the_long_form

SHOWN = ("feed_url", "is_subscribed")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
NODE = shutil.which("node")
PROGRAMS = [[sys.executable, str(EXAMPLES / "sync.py")]]
if NODE:  # where it is not, the end of the tests says so
    PROGRAMS.append([NODE, str(EXAMPLES / "sync.mjs")])


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with FeedkeepProcess(tmp_path_factory.mktemp("examples")) as process, process.used_often():
        yield process


class Device:
    """One that has the program, and a file of its own."""

    def __init__(self, program: list[str], file: Path, url: str, token: str) -> None:
        self.program = program
        self.file = file
        self.environment = {**os.environ, "FEEDKEEP_URL": url, "FEEDKEEP_TOKEN": token}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.program, self.file, *arguments],
            env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def must(self, *arguments: str) -> None:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr

    def feeds(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file.read_text())["feeds"]
        return {guid: {key: feed[key] for key in SHOWN} for guid, feed in found.items()}


@pytest.fixture
def account(service):
    with service.client(service.new_account()) as client:
        yield client


@pytest.fixture(params=PROGRAMS, ids=lambda program: Path(program[1]).name)
def devices(request, service, account, tmp_path):
    token = account.headers["Authorization"].removeprefix("Bearer ")
    files = (tmp_path / "one", tmp_path / "two")
    one, two = (Device(request.param, file, service.base_url, token) for file in files)
    return one, two


def listed(account: httpx.Client) -> dict[str, Any]:
    found, url = {}, "/subscriptions?per_page=1000"
    while url:
        page = account.get(url).json()
        for entry in page["subscriptions"]:
            if "deleted" not in entry and "new_guid" not in entry:
                found[entry["guid"]] = {key: entry[key] for key in SHOWN}
        url = page.get("next")
    return found


def guid_of(device: Device, url: str) -> str:
    return next(guid for guid, feed in device.feeds().items() if feed["feed_url"] == url)


def test_two_devices_have_the_list_of_the_account_whatever_happened_to_it(account, devices):
    one, two = devices
    for number in range(4):
        one.must("add", f"https://one.example/{number}")
        two.must("add", f"https://two.example/{number}")
    for device in (one, two, one):
        device.must()
    assert one.feeds() == two.feeds() == listed(account)
    assert len(one.feeds()) == 8

    guids = [guid_of(one, f"https://one.example/{number}") for number in range(4)]
    merged = guid_of(one, "https://two.example/0")
    moved = {"new_feed_url": "https://moved.example/feed"}
    account.patch(f"/subscriptions/{guids[0]}", json=moved).raise_for_status()
    account.patch(f"/subscriptions/{guids[1]}", json={"new_guid": merged}).raise_for_status()
    one.must("delete", guids[2])
    two.must("delete", guids[2])
    two.must("unsubscribe", guids[3])
    for device in (one, two, one):
        device.must()
    assert one.feeds() == two.feeds() == listed(account)
    assert len(one.feeds()) == 6
    assert one.feeds()[guids[0]]["feed_url"] == "https://moved.example/feed"
    assert one.feeds()[guids[3]]["is_subscribed"] is False


def test_a_change_whose_reply_was_lost_is_sent_again_and_is_there_once(account, devices):
    one, _ = devices
    one.must("add", "https://lost.example/feed")
    before = one.file.read_bytes()
    one.must()
    one.file.write_bytes(before)  # as if it had been killed before it noted the reply
    one.must()
    assert one.feeds() == listed(account)
    assert len(one.feeds()) == 1


def test_a_device_that_was_away_through_thousands_of_changes_has_the_list(account, devices):
    one, _ = devices
    urls = [f"https://year.example/{number}" for number in range(2_500)]
    one.must("add", urls[0])
    one.must()
    body = {"subscriptions": [{"feed_url": url} for url in urls]}
    account.post("/subscriptions", json=body).raise_for_status()
    account.delete(f"/subscriptions/{guid_of(one, urls[0])}").raise_for_status()
    one.must()
    assert one.feeds() == listed(account)
    assert len(one.feeds()) == 2_499


class Front:
    """Stands before the service, on loopback: it refuses the first requests, and passes the rest.

    Of each refusal it is told the status and the headers; without a status, the reply breaks off.
    """

    passes: tuple[str, ...] = ()  # the headers of replies; some proxies drop those they do not know

    def __init__(self, service: str, refusals: list[tuple[int | None, dict[str, str]]]) -> None:
        self.service = service
        self.seen: list[tuple[float, str]] = []
        front = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                front.seen.append((time.time(), self.command))
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if refusals:
                    self._refuse(*refusals.pop(0))
                    return
                given = {name: self.headers[name] for name in ("Authorization", "Host")}
                reply = front.reply(self.command, self.path, body, given)
                passed = {
                    name: reply.headers[name] for name in front.passes if name in reply.headers
                }
                self._send(reply.status_code, passed, reply.content, len(reply.content))

            do_GET = do_POST = answer  # noqa: N815 - the names are the library's

            def _refuse(self, status: int | None, headers: dict[str, str]) -> None:
                if status is None:
                    self._send(200, {}, b'{"subscriptions": [', 1_000)
                else:
                    self._send(status, headers, b"<h1>Not now</h1>", 16)

            def _send(self, status: int, headers: dict[str, str], body: bytes, length: int) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(length)}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def reply(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
        return httpx.request(method, self.service + path, content=body, headers=headers, timeout=30)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Restorable(FeedkeepProcess):
    """A service whose database comes back from a backup."""

    def back_up(self) -> None:
        self.must("backup", str(self.folder / "backup"))

    def restore(self) -> None:
        assert self.stop() == 0
        (self.folder / "feedkeep.db").unlink()
        self.must("restore", str(self.folder / "backup"))
        self.start()


URLS = [f"https://kept.example/{number}" for number in range(3)]
X, Y = "https://x.example/feed", "https://y.example/feed"

# What is done before the backup, what after it, what is queued during the restore, and the feeds in
# the end, with their status.
RESTORES: dict[str, tuple[list[list[str]], list[list[str]], list[list[str]], dict[str, bool]]] = {
    "added": ([], [["add", X]], [], {X: True}),
    "added and deleted": ([], [["add", X], ["delete", X]], [], {}),
    "deleted": ([["add", X]], [["delete", X]], [], {X: True}),
    "queued delete": ([], [["add", X]], [["delete", X]], {}),
    "queued add": ([], [["add", X]], [["add", Y]], {X: True, Y: True}),
    "queued resubscribe": (
        [], [["add", X], ["unsubscribe", X]], [["subscribe", X]], {X: True},
    ),
    "queued unsubscribe": ([], [["add", X]], [["unsubscribe", X]], {X: False}),
    "queued move": ([], [["add", X]], [["move", X, Y]], {Y: True}),
    "queued move of an unsubscribed one": (
        [], [["add", X], ["unsubscribe", X]], [["move", X, Y]], {Y: False},
    ),
    "two queued changes": ([], [["add", X]], [["move", X, Y], ["unsubscribe", X]], {Y: False}),
    "queued change of a queued add": ([], [], [["add", X], ["unsubscribe", X]], {X: False}),
    "queued resubscribe of a deleted one": (
        [["add", X], ["is deleted"]], [], [["subscribe", X]], {},
    ),
    "revived": ([["add", X], ["delete", X]], [["add", X]], [], {X: True}),
    "resubscribed": ([["add", X], ["unsubscribe", X]], [["subscribe", X]], [], {X: False}),
    "deleted before": ([["add", X], ["delete", X]], [], [], {}),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: Path(program[1]).name)
def test_a_restore_costs_no_feed_and_no_queued_change(program, tmp_path):
    with Restorable(tmp_path) as process:
        names = {story: process.new_account() for story in RESTORES}
        devices = {}
        for story, name in names.items():
            token = process.new_token(name)
            devices[story] = Device(program, tmp_path / name, process.base_url, token)

        def each(part, *, syncs=True):
            for story, steps in RESTORES.items():
                for step in steps[part]:
                    if step == ["is deleted"]:  # by another device, of which this one does not hear
                        with process.client(names[story]) as account:
                            guid = guid_of(devices[story], X)
                            account.delete(f"/subscriptions/{guid}").raise_for_status()
                        continue
                    devices[story].must(*step)
                    if syncs:
                        devices[story].must()

        each(0)
        process.back_up()
        each(1)
        each(2, syncs=False)
        process.restore()
        for story, (_, _, _, wanted) in RESTORES.items():
            device = devices[story]
            device.environment["FEEDKEEP_URL"] = process.base_url
            device.must()
            with process.client(names[story]) as account:
                assert device.feeds() == listed(account), story
            found = {feed["feed_url"]: feed["is_subscribed"] for feed in device.feeds().values()}
            assert found == wanted, story


class RestoredMeanwhile(Front):
    """Has the service restored before it passes the second request."""

    passes = ("Feedkeep-Epoch",)

    def __init__(self, process: Restorable) -> None:
        super().__init__(process.base_url, [])
        self.process = process

    def reply(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
        if len(self.seen) == 2:
            self.process.restore()
            self.service = self.process.base_url
        return super().reply(method, path, body, headers)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: Path(program[1]).name)
def test_a_feed_whose_add_was_answered_before_a_restore_is_added_again(program, tmp_path):
    with Restorable(tmp_path) as process:
        name = process.new_account()
        token = process.new_token(name)
        process.back_up()
        with RestoredMeanwhile(process) as front:
            device = Device(program, tmp_path / "list", front.url, token)
            device.must("add", X)
            device.must()
        with process.client(name) as account:
            assert device.feeds() == listed(account)
        assert [feed["feed_url"] for feed in device.feeds().values()] == [X]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: Path(program[1]).name)
def test_pages_from_before_a_restore_do_not_count(program, tmp_path):
    with Restorable(tmp_path) as process:
        name = process.new_account()
        token = process.new_token(name)
        with process.client(name) as account:
            kept, lost = ([f"https://{what}.example/{n}" for n in range(1_100)] for what in "ab")
            for urls in (kept, lost):
                body = {"subscriptions": [{"feed_url": url} for url in urls]}
                account.post("/subscriptions", json=body).raise_for_status()
                if urls == kept:
                    process.back_up()
        with RestoredMeanwhile(process) as front:
            device = Device(program, tmp_path / "list", front.url, token)
            device.must()
            assert len(front.seen) > 3
        with process.client(name) as account:
            assert device.feeds() == listed(account)
        assert len(device.feeds()) == 1_100


class EmptyLastPage(Front):
    """Lets a list end with an empty page."""

    def reply(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
        reply = super().reply(method, path.removesuffix("&page=2"), body, headers)
        self.asked = [*getattr(self, "asked", []), path]
        page = reply.json()
        if path.endswith("&page=2"):
            page["subscriptions"] = []
        elif method == "GET":
            page["next"] = f"{self.url}{path}&page=2"
        return httpx.Response(200, json=page)


def test_after_an_empty_last_page_only_later_changes_are_asked_for(account, devices, service):
    one, _ = devices
    one.must("add", X)
    with EmptyLastPage(service.base_url, []) as front:
        one.environment["FEEDKEEP_URL"] = front.url
        for _ in range(2):
            one.must()
    (entry,) = account.get("/subscriptions").json()["subscriptions"]
    stamp = entry["subscription_changed"]
    assert f"since={quote(stamp, safe='')}" in front.asked[-1]
    assert one.feeds() == listed(account)


def test_a_feed_is_changed_by_its_url_before_it_was_sent(account, devices):
    one, _ = devices
    for step in (
        ["add", X],
        ["move", X, Y],
        ["unsubscribe", X],
        ["add", URLS[0]],
        ["delete", URLS[0]],
    ):
        one.must(*step)
    one.must()
    assert one.feeds() == listed(account)
    assert list(one.feeds().values()) == [{"feed_url": Y, "is_subscribed": False}]


def test_a_token_that_is_not_valid_ends_it_with_a_sentence_and_the_list_is_kept(devices):
    one, _ = devices
    one.must("add", "https://kept.example/feed")
    one.must()
    feeds = one.feeds()
    one.environment["FEEDKEEP_TOKEN"] = "fk_no"
    done = one.run()
    assert done.returncode == 1
    assert done.stderr.startswith("The token is not valid any more.")
    assert one.feeds() == feeds


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"Retry-After": "2"}, 2),
        (503, {"Retry-After": "a date"}, 0),
        (None, {}, 1),
        pytest.param(503, {"Retry-After": "2"}, 2, marks=in_the_long_form),
        pytest.param(503, {"Retry-After": "soon"}, 1, marks=in_the_long_form),
        pytest.param(502, {}, 1, marks=in_the_long_form),
    ],
    ids=str,
)
def test_what_passes_is_waited_for_as_long_as_is_asked_and_then_sent_again(
    account, devices, service, status, headers, seconds
):
    one, _ = devices
    one.must("add", "https://later.example/feed")
    date = int(time.time()) + 4  # one that the device has not reached when it is told so
    if headers.get("Retry-After") == "a date":
        headers = {"Retry-After": formatdate(date, usegmt=True)}
    with Front(service.base_url, [(status, headers)]) as front:
        one.environment["FEEDKEEP_URL"] = front.url
        one.must()
    (refused, _), (again, _), *_ = front.seen
    assert [method for _, method in front.seen] == ["POST", "POST", "GET"]
    until = date if "GMT" in headers.get("Retry-After", "") else refused + seconds
    assert again >= until - 0.05
    assert one.feeds() == listed(account)
    assert len(one.feeds()) == 1


@pytest.mark.parametrize("status", first_of(429, 503))
def test_a_long_pause_ends_the_sync_with_a_sentence_and_the_next_one_sends_what_is_kept(
    account, devices, service, status
):
    one, _ = devices
    one.must("add", "https://kept.example/feed")
    with Front(service.base_url, [(status, {"Retry-After": "3600"})]) as front:
        one.environment["FEEDKEEP_URL"] = front.url
        done = one.run()
        assert done.returncode == 1
        assert done.stderr == (
            "The service asks for a pause of 3600 seconds."
            " What you changed is kept, and sent next time.\n"
        )
        assert len(front.seen) == 1
        assert listed(account) == {}
        one.must()
    assert one.feeds() == listed(account)
    assert len(one.feeds()) == 1
