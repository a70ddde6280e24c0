"""`podsync-check client`: a server for an app under test, over a real connection."""

from __future__ import annotations

import http.client
import io
import json
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from http.server import ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseServer
from typing import Any

import pytest

from podsync_check.cli import main
from podsync_check.watching import command, watch
from podsync_check.watching.command import ALL_HELD, NOT_ALL_REACHED, SOMETHING_WRONG, client

POLL = "/index.php/apps/gpoddersync/subscriptions?since="
ANY_PROTOCOL = ("--case", "what_was_accepted_is_not_sent_again")
CASE = ("--case", "an_upload_in_the_same_second_is_asked_for")


class Printed(io.TextIOBase):
    """Standard output that loses nothing of what other threads print, as `capsys` may."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return len(text)


class Running:
    """The command in a thread of its own, and what it printed."""

    def __init__(self, output: Printed, *options: str) -> None:
        self.stopped = threading.Event()
        self.status: int | None = None
        self._output = output
        self._options = ("--port", "0", *options)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self.port = int(self.until(r"http://127\.0\.0\.1:([0-9]+)\n"))
        self.password = self.until(r"password ([0-9a-f]+),")

    def _run(self) -> None:
        self.status = client(self._options, self.stopped)

    def until(self, pattern: str) -> str:
        """Wait until a pattern was printed; return its first group."""
        while not (found := re.search(pattern, self.printed)):
            assert self._thread.is_alive(), self.printed
            time.sleep(0.01)
        return found[1]

    @property
    def printed(self) -> str:
        return "".join(self._output.parts)

    @property
    def basic(self) -> str:
        return "Basic " + b64encode(f"test:{self.password}".encode()).decode()

    def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        status, _, told = self.whole(method, target, body, headers)
        return status, told

    def whole(
        self, method: str, target: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {"Authorization": self.basic, "User-Agent": "a/1", **headers}
        with closing(connection):
            connection.request(method, target, body, sent)
            with connection.getresponse() as reply:
                told = {name.lower(): text for name, text in reply.headers.items()}
                return reply.status, told, reply.read()

    def left_early(self, request: str, body: bytes = b"", *, is_reset: bool = False) -> None:
        """Send a request that is said to have 1,000 bytes, and go; wait until it was noticed."""
        head = f"{request} HTTP/1.1\r\nHost: a\r\nAuthorization: {self.basic}\r\n"
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as gone:
            gone.sendall(f"{head}Content-Length: 1000\r\n\r\n".encode() + body)
            if is_reset:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                gone.shutdown(socket.SHUT_WR)
                assert gone.recv(100) == b""

    def end(self) -> int:
        self._thread.join(30)
        assert self.status is not None
        return self.status


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Running]]:
    monkeypatch.setattr(command, "_GRACE_SECONDS", 0.0)
    runs: list[Running] = []

    def start(*options: str) -> Running:
        output = Printed()
        monkeypatch.setattr(sys, "stdout", output)
        runs.append(Running(output, *options))
        return runs[-1]

    yield start
    for one in runs:
        one.stopped.set()
        one.end()


def test_it_ends_with_0_when_an_app_held_in_all_cases(
    run: Callable[..., Running], tmp_path: Path
) -> None:
    running = run(*CASE, "--json", str(tmp_path / "told.json"), "--html", str(tmp_path / "page"))
    second = json.loads(running.ask("GET", POLL + "0")[1])["timestamp"]
    page = running.ask("GET", "/try")[1].decode()
    assert "Now:</strong> Let the app sync twice." in page
    assert running.ask("HEAD", "/try") == (200, b"")
    running.ask("GET", POLL + str(second))
    assert running.end() == ALL_HELD
    assert "held  The next poll's `since` is" in running.printed
    told = json.loads((tmp_path / "told.json").read_text())
    assert [one["verdict"] for one in told["cases"]] == ["held"]
    assert [one["status"] for one in told["requests"]] == [200, 200]
    assert "What your app sent" in (tmp_path / "page").read_text()


def test_it_ends_with_1_and_says_what_was_wrong(run: Callable[..., Running]) -> None:
    running = run(*CASE)
    second = json.loads(running.ask("GET", POLL + "0")[1])["timestamp"]
    running.ask("GET", f"{POLL}{second + 1}")
    assert running.end() == SOMETHING_WRONG
    assert "misses later uploads of the same second" in running.printed
    assert "Why it matters: Two devices" in running.printed


def test_a_guessed_second_is_objected_to(run: Callable[..., Running]) -> None:
    running = run(*CASE)
    running.ask("GET", POLL + "1600000000")  # may have been told by a server before
    running.ask("GET", POLL + "1700000000")
    running.until("(was in no reply)")
    running.stopped.set()
    assert running.end() == SOMETHING_WRONG


def test_it_ends_with_2_when_it_is_stopped_before_all_was_reached(
    run: Callable[..., Running],
) -> None:
    running = run()
    running.stopped.set()
    assert running.end() == NOT_ALL_REACHED
    assert "not reached  a_change_that_meets_503_is_sent_again" in running.printed


@pytest.mark.parametrize("fault", ["lost", "torn"])
def test_a_reply_that_is_not_to_arrive_does_not(run: Callable[..., Running], fault: str) -> None:
    running = run(*CASE)
    running.ask("POST", "/try/faults", f"fault={fault}".encode())
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        running.ask("GET", POLL + "0")
    assert running.ask("GET", POLL + "0")[0] == 200


def test_bodies_in_chunks_are_read_and_bad_lengths_refused(run: Callable[..., Running]) -> None:
    running = run(*CASE)
    create = "/index.php/apps/gpoddersync/subscription_change/create"
    parts = (b'{"add": ["https://chunks.', b'example/feed"]}')
    chunks = [b"%x;x=y\r\n%b\r\n" % (len(part), part) for part in parts]
    chunked = b"".join([*chunks, b"0\r\nTrailer: 1\r\n\r\n"])
    assert running.ask("POST", create, chunked, **{"Transfer-Encoding": "chunked"})[0] == 200
    assert b"https://chunks.example/feed" in running.ask("GET", POLL + "0")[1]
    for length, status in (("x", 400), ("-1", 400), ("99999999", 413)):
        assert running.ask("POST", create, b"", **{"Content-Length": length})[0] == status


def test_a_body_that_breaks_off_is_not_carried_out(run: Callable[..., Running]) -> None:
    running = run(*CASE)
    create = "POST /index.php/apps/gpoddersync/subscription_change/create"
    running.left_early(create, b'{"add": ["https://half.example/feed"]}')
    assert b"half.example" not in running.ask("GET", POLL + "0")[1]


def test_an_app_that_goes_at_once_is_no_error(
    run: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    noticed, errors = threading.Event(), list[object]()
    monkeypatch.setattr(sys.stderr, "write", errors.append)
    handled = BaseServer.shutdown_request

    def notices(*given: Any) -> None:
        handled(*given)
        noticed.set()

    monkeypatch.setattr(ThreadingHTTPServer, "shutdown_request", notices)
    running = run(*CASE)
    running.left_early("POST /try/faults", is_reset=True)
    assert noticed.wait(30)
    assert errors == []


def test_a_slow_reply_does_not_keep_it_from_ending(
    run: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SLOW_SECONDS", 3_600.0)
    running = run(*CASE)
    running.ask("POST", "/try/faults", b"fault=slow")
    came = threading.Event()
    answered = watch.Watch._answer

    async def comes(*given: Any) -> None:
        came.set()
        await answered(*given)

    monkeypatch.setattr(watch.Watch, "_answer", comes)

    cut = list[Exception]()

    def waits() -> None:
        try:
            running.ask("GET", POLL + "0")
        except (http.client.HTTPException, OSError) as error:
            cut.append(error)

    waiting = threading.Thread(target=waits)
    waiting.start()
    assert came.wait(30)
    running.stopped.set()
    assert running.end() == NOT_ALL_REACHED
    waiting.join()
    assert not isinstance(cut[0], TimeoutError)


def test_the_password_is_a_bearer_token_and_begins_a_session(run: Callable[..., Running]) -> None:
    running = run(*ANY_PROTOCOL)
    target = "/api/2/subscriptions/test/phone.json?since=0"
    bearer = {"Authorization": f"Bearer {running.password}"}
    assert running.ask("GET", "/v1/subscriptions", **bearer)[0] == 200
    assert running.ask("GET", "/v1/subscriptions", Authorization="bearer x")[0] == 401
    assert running.ask("GET", "/v1/subscriptions", Authorization="nothing")[0] == 401
    lower = running.basic.replace("Basic", "basic")
    stale = {"Authorization": lower, "Cookie": "theme=dark; sessionid=0"}
    status, told, _ = running.whole("GET", target, b"", stale)
    assert status == 200
    cookie = f"theme=dark; {told['set-cookie'].partition(';')[0]}"
    assert running.ask("GET", target, Authorization="", Cookie=cookie)[0] == 200


def test_a_login_in_the_browser_gives_the_app_a_password_of_its_own(
    run: Callable[..., Running],
) -> None:
    running = run(*CASE)
    begun = json.loads(running.ask("POST", "/index.php/login/v2", Authorization="")[1])
    base = f"http://127.0.0.1:{running.port}"
    token = f"token={begun['poll']['token']}".encode()
    poll = begun["poll"]["endpoint"].removeprefix(base)
    assert running.ask("POST", poll, token)[0] == 404
    assert b"Go back to it" in running.ask("GET", begun["login"].removeprefix(base))[1]
    given = json.loads(running.ask("POST", poll, token)[1])
    assert (given["server"], given["loginName"]) == (base, "test")
    running.ask("GET", begun["login"].removeprefix(base))  # loaded again, it changes nothing
    own = b64encode(f"test:{given['appPassword']}".encode()).decode()
    assert running.ask("GET", POLL + "0", Authorization=f"Basic {own}")[0] == 200
    assert running.ask("GET", "/login/0")[0] == 404


def test_a_web_app_may_read_even_what_was_made_to_fail(run: Callable[..., Running]) -> None:
    running = run(*ANY_PROTOCOL)
    running.ask("POST", "/try/faults", b"fault=unavailable")
    asks = {"Origin": "https://app.example", "Access-Control-Request-Headers": "authorization"}
    status, told, _ = running.whole("OPTIONS", "/v1/subscriptions", b"", asks)
    assert (status, told["access-control-allow-headers"]) == (204, "authorization")
    status, told, _ = running.whole("GET", "/v1/subscriptions", b"", asks)
    assert (status, told["access-control-allow-origin"]) == (503, "https://app.example")


def test_a_list_can_be_put_in_every_form(run: Callable[..., Running]) -> None:
    running = run(*CASE)
    urls = ["https://a.example/?x=1&y=2", "https://b.example/"]
    for form, body in {
        "opml": '<outline xmlUrl="https://a.example/?x=1&amp;y=2"/><outline xmlUrl="https://b.example/"/>',
        "txt": "\n".join(urls),
        "json": json.dumps(urls),
    }.items():
        assert running.ask("PUT", f"/subscriptions/test/phone.{form}", body.encode())[0] == 200
        assert json.loads(running.ask("GET", "/subscriptions/test/phone.json")[1]) == urls
        assert running.ask("GET", f"/subscriptions/test/phone.{form}")[1].count(b"example") == 2
        running.ask("PUT", "/subscriptions/test/phone.json", b"[]")


def test_it_ends_at_sigterm_with_a_report() -> None:
    asked = [sys.executable, "-m", "podsync_check", "client", "--port", "0"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603
        assert running.stdout is not None
        while "Now:" not in running.stdout.readline():
            pass
        running.terminate()
        printed = running.stdout.read()
        assert running.wait(30) == NOT_ALL_REACHED
    assert "not reached  a_moved_feed_is_followed" in printed
    assert "0 requests, 0 objections" in printed


def test_a_port_that_there_is_not_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for port in ("80000", "-1", "x"):
        with pytest.raises(SystemExit):
            main(["client", f"--port={port}"])
        assert f"{port} is not a port from 0 to 65535" in capsys.readouterr().err


def test_what_has_another_shape_is_refused(run: Callable[..., Running]) -> None:
    running = run("--case", "a_play_that_meets_503_is_sent_again")
    for path in ("subscription_change/create", "episode_action/create"):
        for body in (b"[[", b"{}", b'{"add": 1}', b'[{"episode": [], "position": [1]}]', b"\xff"):
            status, _ = running.ask("POST", f"/index.php/apps/gpoddersync/{path}", body)
            assert status in {200, 400, 503}


def test_cases_are_listed_and_an_unknown_one_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["client", "--list"]) == ALL_HELD
    assert "a_moved_feed_is_followed\n    A feed that moved" in capsys.readouterr().out
    assert main(["client", "--case", "x"]) == NOT_ALL_REACHED
    assert "There is no case x" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(
    run: Callable[..., Running], capsys: pytest.CaptureFixture[str]
) -> None:
    running = run(*CASE)
    assert main(["client", "--port", str(running.port)]) == NOT_ALL_REACHED
    assert f"Cannot listen on port {running.port}" in capsys.readouterr().err
