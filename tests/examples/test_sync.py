"""The example programs of docs/apps.md, against a real service and a strict reader."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from podsync_check.watching.exchanges import Fault
from trying import trial

__all__ = ["trial"]

PASSWORD = "a good passphrase"
SHOWN = ("feed_url", "is_subscribed")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
NODE = shutil.which("node")
PROGRAMS = [[sys.executable, str(EXAMPLES / "sync.py")]]
if NODE:  # where it is not, the end of the tests says so
    PROGRAMS.append([NODE, str(EXAMPLES / "sync.mjs")])
NAMES = [Path(program[1]).name for program in PROGRAMS]
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with FeedkeepProcess(tmp_path_factory.mktemp("examples")) as process, process.used_often():
        yield process


class Device:
    """One that has the program, and a file of its own."""

    def __init__(self, program, file, url, token):
        self.program, self.file = program, file
        self.environment = {**os.environ, "FEEDKEEP_URL": url, "FEEDKEEP_TOKEN": token}

    def run(self, *arguments):
        command = [*self.program, self.file, *arguments]
        options = {"env": self.environment, "capture_output": True, "text": True}
        return subprocess.run(command, **options, check=False)

    def must(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr

    def feeds(self):
        found = json.loads(self.file.read_text())["feeds"]
        return {guid: {key: feed[key] for key in SHOWN} for guid, feed in found.items()}


@pytest.fixture
def account(service):
    with service.client(service.new_account()) as client:
        yield client


@pytest.fixture(params=PROGRAMS, ids=NAMES)
def devices(request, service, account, tmp_path):
    token = account.headers["Authorization"].removeprefix("Bearer ")
    return [Device(request.param, tmp_path / name, service.base_url, token) for name in "12"]


@pytest.fixture
def device(devices):
    return devices[0]


def listed(account: httpx.Client):
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


def in_step(account: httpx.Client, one: Device, two: Device):
    for device in (one, two, one):
        device.must()
    assert one.feeds() == two.feeds() == listed(account)
    return one.feeds()


def test_two_devices_have_the_list_of_the_account_whatever_happened_to_it(account, devices):
    one, two = devices
    for number in range(4):
        one.must("add", f"https://one.example/{number}")
        two.must("add", f"https://two.example/{number}")
    feeds = in_step(account, one, two)
    assert len(feeds) == 8

    guids = [guid_of(one, f"https://one.example/{number}") for number in range(4)]
    merged = guid_of(one, "https://two.example/0")
    moved = {"new_feed_url": "https://moved.example/feed"}
    account.patch(f"/subscriptions/{guids[0]}", json=moved).raise_for_status()
    account.patch(f"/subscriptions/{guids[1]}", json={"new_guid": merged}).raise_for_status()
    one.must("delete", guids[2])
    two.must("delete", guids[2])
    two.must("unsubscribe", guids[3])
    feeds = in_step(account, one, two)
    assert len(feeds) == 6
    assert feeds[guids[0]]["feed_url"] == "https://moved.example/feed"
    assert feeds[guids[3]]["is_subscribed"] is False


def test_lost_reply_repeats_a_change_and_a_token_that_is_not_valid_loses_none(account, device):
    device.must("add", "https://lost.example/feed")
    before = device.file.read_bytes()
    device.must()
    device.file.write_bytes(before)  # as if it had been killed before it noted the reply
    device.must()
    feeds = device.feeds()
    assert feeds == listed(account)
    assert len(feeds) == 1
    device.environment["FEEDKEEP_TOKEN"] = "fk_no"
    done = device.run()
    assert done.returncode == 1
    assert done.stderr.startswith("The token is not valid any more.")
    assert device.feeds() == feeds


def subscribe(account: httpx.Client, urls: list[str]) -> None:
    body = {"subscriptions": [{"feed_url": url} for url in urls]}
    account.post("/subscriptions", json=body).raise_for_status()


def test_device_that_was_away_through_thousands_of_changes_has_the_list(account, device):
    urls = [f"https://year.example/{number}" for number in range(2_500)]
    device.must("add", urls[0])
    device.must()
    subscribe(account, urls)
    account.delete(f"/subscriptions/{guid_of(device, urls[0])}").raise_for_status()
    device.must()
    assert device.feeds() == listed(account)
    assert len(device.feeds()) == 2_499


class Front:
    """Stands before the service, on loopback: it refuses the first requests, and passes the rest.

    Of each refusal it is told the status and the headers; without a status, the reply breaks off.
    """

    passes = ()  # the headers of replies; some proxies drop those they do not know

    def __init__(self, service, refusals=()):
        self.service, self.refusals = service, list(refusals)
        self.seen = []
        front = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                front.seen.append((time.time(), self.command))
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if front.refusals:
                    self._refuse(*front.refusals.pop(0))
                    return
                given = {name: self.headers[name] for name in ("Authorization", "Host")}
                reply = front.reply(self.command, self.path, body, given)
                passed = {one: reply.headers[one] for one in front.passes if one in reply.headers}
                self._send(reply.status_code, passed, reply.content, len(reply.content))

            do_GET = do_POST = answer  # noqa: N815 - the names are the library's

            def _refuse(self, status, headers):
                if status is None:
                    self._send(200, {}, b'{"subscriptions": [', 1_000)
                else:
                    self._send(status, headers, b"<h1>Not now</h1>", 16)

            def _send(self, status, headers, body, length):
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(length)}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def reply(self, method, path, body, headers):
        return httpx.request(method, self.service + path, content=body, headers=headers, timeout=30)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
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


X, Y, Z = (f"{name}.example/feed" for name in "xyz")


def of_story(number: int, word: str) -> str:
    return f"https://{number}.{word}" if "." in word else word


# Steps before the backup and after it, steps queued during the restore, and the feeds in
# the end, with their status.
RESTORES = {
    "added": ([], [["add", X]], [], {X: True}),
    "added and deleted": ([], [["add", X], ["delete", X]], [], {}),
    "deleted": ([["add", X]], [["delete", X]], [], {X: True}),
    "queued delete": ([], [["add", X]], [["delete", X]], {}),
    "queued add": ([], [["add", X]], [["add", Y]], {X: True, Y: True}),
    "queued resubscribe": ([], [["add", X], ["unsubscribe", X]], [["subscribe", X]], {X: True}),
    "queued unsubscribe": ([], [["add", X]], [["unsubscribe", X]], {X: False}),
    "queued move": ([], [["add", X]], [["move", X, Y]], {Y: True}),
    "queued move of another": ([], [["add", X], ["unsubscribe", X]], [["move", X, Y]], {Y: False}),
    "two queued changes": ([], [["add", X]], [["move", X, Y], ["unsubscribe", X]], {Y: False}),
    "queued change of a queued add": ([], [], [["add", X], ["unsubscribe", X]], {X: False}),
    "queued for a deleted one": ([["add", Z]], [], [["subscribe", Z]], {}),
    "revived": ([["add", X], ["delete", X]], [["add", X]], [], {X: True}),
    "resubscribed": ([["add", X], ["unsubscribe", X]], [["subscribe", X]], [], {X: False}),
    "deleted before": ([["add", X], ["delete", X]], [], [], {}),
}


@each_program
def test_restore_costs_no_feed_and_no_queued_change(program, tmp_path):
    with Restorable(tmp_path) as process:
        names, devices = {}, {}
        for queues in (True, False):  # what has nothing queued asks first, and sends later
            names[queues] = name = process.new_account()
            token = process.new_token(name)
            devices[queues] = Device(program, tmp_path / name, process.base_url, token)

        def each(part, *, syncs=True):
            for step in range(2):
                for number, story in enumerate(RESTORES.values()):
                    for words in story[part][step : step + 1]:
                        devices[bool(story[2])].must(*(of_story(number, word) for word in words))
                for device in devices.values() if syncs else ():
                    device.must()

        each(0)
        with process.client(names[True]) as account:  # by another device, which this one misses
            url = of_story(list(RESTORES).index("queued for a deleted one"), Z)
            account.delete(f"/subscriptions/{guid_of(devices[True], url)}").raise_for_status()
        process.back_up()
        each(1)
        each(2, syncs=False)
        process.restore()
        for queues, device in devices.items():
            device.environment["FEEDKEEP_URL"] = process.base_url
            device.must()
            with process.client(names[queues]) as account:
                assert device.feeds() == listed(account)
            found = {feed["feed_url"]: feed["is_subscribed"] for feed in device.feeds().values()}
            assert found == {
                of_story(number, url): is_subscribed
                for number, (_, _, queued, wanted) in enumerate(RESTORES.values())
                for url, is_subscribed in wanted.items()
                if bool(queued) == queues
            }


class RestoredMeanwhile(Front):
    """Has the service restored before it passes the second request."""

    passes = ("Feedkeep-Epoch",)

    def __init__(self, process):
        super().__init__(process.base_url)
        self.process = process

    def reply(self, method, path, body, headers):
        if len(self.seen) == 2:
            self.process.restore()
            self.service = self.process.base_url
        return super().reply(method, path, body, headers)


@each_program
def test_restore_during_a_sync_loses_no_add_and_brings_back_no_page_from_before(program, tmp_path):
    kept, lost = ([f"https://{what}.example/{number}" for number in range(1_100)] for what in "ab")
    with Restorable(tmp_path) as process:
        adds, reads = process.new_account(), process.new_account()
        with process.client(reads) as account:
            subscribe(account, kept)
        tokens = {name: process.new_token(name) for name in (adds, reads)}
        process.back_up()
        for name, feeds in ((adds, [f"https://{X}"]), (reads, kept)):
            with process.client(reads) as account:
                subscribe(account, lost)
            with RestoredMeanwhile(process) as front:
                device = Device(program, tmp_path / name, front.url, tokens[name])
                if name == adds:  # the add is answered, and then lost
                    device.must("add", f"https://{X}")
                device.must()
                assert len(front.seen) > 2
            with process.client(name) as account:
                assert device.feeds() == listed(account)
            assert {feed["feed_url"] for feed in device.feeds().values()} == set(feeds)


class EmptyLastPage(Front):
    """Lets a list end with an empty page."""

    def reply(self, method, path, body, headers):
        reply = super().reply(method, path.removesuffix("&page=2"), body, headers)
        self.asked = path
        page = reply.json()
        if path.endswith("&page=2"):
            page["subscriptions"] = []
        elif method == "GET":
            page["next"] = f"{self.url}{path}&page=2"
        return httpx.Response(200, json=page)


def test_after_an_empty_last_page_only_later_changes_are_asked_for(account, device, service):
    device.must("add", f"https://{X}")
    with EmptyLastPage(service.base_url) as front:
        device.environment["FEEDKEEP_URL"] = front.url
        for _ in range(2):
            device.must()
    (entry,) = account.get("/subscriptions").json()["subscriptions"]
    stamp = entry["subscription_changed"]
    assert f"since={quote(stamp, safe='')}" in front.asked
    assert device.feeds() == listed(account)


def test_feed_is_changed_by_its_url_before_it_was_sent(account, device):
    for step in (["add", X], ["move", X, Y], ["unsubscribe", X], ["add", Z], ["delete", Z]):
        device.must(*(of_story(0, word) for word in step))
    device.must()
    assert device.feeds() == listed(account)
    assert list(device.feeds().values()) == [{"feed_url": of_story(0, Y), "is_subscribed": False}]


@pytest.mark.parametrize(
    ("refusals", "waits"),
    [
        ([(429, "2"), (503, "a date")], [2, 0]),
        ([(None, ""), (502, "soon")], [1, 2]),  # what says not how long waits twice as long
    ],
    ids=["for how long", "not for how long"],
)
def test_what_passes_is_waited_for_and_then_sent_again(account, device, service, refusals, waits):
    device.must("add", "https://later.example/feed")
    date = int(time.time()) + 5  # one that the device has not reached when it is told so
    written = {"a date": formatdate(date, usegmt=True)}
    told = [(status, {"Retry-After": written.get(wait, wait)}) for status, wait in refusals]
    with Front(service.base_url, told) as front:
        device.environment["FEEDKEEP_URL"] = front.url
        device.must()
    assert [method for _, method in front.seen] == ["POST", "POST", "POST", "GET"]
    (first, _), (second, _), (third, _), _ = front.seen
    assert second >= first + waits[0] - 0.05
    assert third >= (second + waits[1] if waits[1] else date) - 0.05
    assert device.feeds() == listed(account)
    assert len(device.feeds()) == 1


def test_long_pause_ends_the_sync_and_the_next_one_sends_what_is_kept(account, device, service):
    device.must("add", "https://kept.example/feed")
    with Front(service.base_url, [(429, {"Retry-After": "3600"})]) as front:
        device.environment["FEEDKEEP_URL"] = front.url
        done = device.run()
        assert done.returncode == 1
        assert done.stderr == (
            "The service asks for a pause of 3600 seconds."
            " What you changed is kept, and sent next time.\n"
        )
        assert len(front.seen) == 1
        assert listed(account) == {}
        device.must()
    assert device.feeds() == listed(account)
    assert len(device.feeds()) == 1


@each_program
def test_example_is_not_objected_to_whatever_goes_wrong(tmp_path, program, trial):
    one, two = (Device(program, tmp_path / name, trial.base_url, trial.token) for name in "12")
    faults = (Fault.UNAVAILABLE, Fault.TOO_MANY, Fault.LOST, Fault.TORN)
    for number, fault in enumerate(faults):
        one.must("add", f"https://feeds.example/{number}")
        trial.do("faults", fault=fault)
        one.must()
        two.must()
        two.must("unsubscribe", min(two.feeds()))
    one.must("add", "feeds.example/no-protocol")
    assert one.run().returncode in {0, 1}
    trial.do("keep")
    one.must("delete", sorted(one.feeds())[1])
    for device in (one, two):
        device.must()
    trial.do("restore")
    for device in (one, two, one):
        device.must()
    trial.do("faults", fault=Fault.EXPIRED)
    assert two.run().returncode == 1
    told = trial.requests()
    assert [one for one in told["requests"] if one["objections"]] == []
    assert {one["fault"] for one in told["requests"]} == {None, *faults, Fault.EXPIRED}
    assert one.feeds().keys() == two.feeds().keys()


@each_program
@pytest.mark.parametrize(("scope", "status"), [([], 200), (["read"], 403)])
def test_program_gets_a_token_once_its_owner_has_signed_in(service, program, scope, status):
    name = service.new_account(PASSWORD)
    path = EXAMPLES / Path(program[1]).name.replace("sync", "sign_in")
    runs = [program[0], path, service.base_url, "My app", *scope]
    pipe, no_browser = subprocess.PIPE, {**os.environ, "BROWSER": "true"}
    with subprocess.Popen(runs, stdout=pipe, stderr=pipe, text=True, env=no_browser) as running:
        try:
            page = running.stderr.readline().removeprefix("Sign in here: ").strip()
            with httpx.Client() as browser:
                form = browser.get(page)
                assert "<strong>My app</strong>" in form.text
                secret = re.findall(r'name="secret" value="([^"]+)"', form.text)[0]
                typed = {"name": name, "password": PASSWORD, "secret": secret}
                assert browser.post(page, data=typed).is_redirect
            told, complaint = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 0, complaint
    service.tokens.append(token := told.strip())
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}) as app:
        reply = app.post(f"{service.base_url}/subscriptions", json={"subscriptions": []})
    assert reply.status_code == status
