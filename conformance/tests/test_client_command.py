"""`podsync-check client`: a server for an app under test, over a real connection."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from podsync_check.cli import main
from podsync_check.watching import command
from podsync_check.watching.command import ALL_HELD, NOT_ALL_REACHED, SOMETHING_WRONG, client

POLL = "/index.php/apps/gpoddersync/subscriptions?since="
CASE = ("--case", "an_upload_in_the_same_second_is_asked_for")


class Running:
    """The command in a thread of its own, and what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *options: str) -> None:
        self.stopped = threading.Event()
        self.status: int | None = None
        self.printed = ""
        self._capsys = capsys
        self._options = ("--port", "0", *options)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self.port = int(self.until(r"http://127\.0\.0\.1:([0-9]+)\n"))
        self.password = self.until(r"password ([0-9a-f]+);")

    def _run(self) -> None:
        self.status = client(self._options, self.stopped)

    def until(self, pattern: str) -> str:
        """Return what the first group of a pattern is, as soon as that was printed."""
        while not (found := re.search(pattern, self.printed)):
            assert self._thread.is_alive() or self._capsys is not None
            self.printed += self._capsys.readouterr().out
            time.sleep(0.01)
        return found[1]

    def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        basic = b64encode(f"test:{self.password}".encode()).decode()
        sent = {"Authorization": f"Basic {basic}", "User-Agent": "a/1", **headers}
        with closing(connection):
            connection.request(method, target, body, sent)
            with connection.getresponse() as reply:
                return reply.status, reply.read()

    def end(self) -> int:
        self._thread.join(30)
        self.printed += self._capsys.readouterr().out
        assert self.status is not None
        return self.status


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Running]]:
    monkeypatch.setattr(command, "_GRACE_SECONDS", 0.0)
    runs: list[Running] = []

    def start(*options: str) -> Running:
        runs.append(Running(capsys, *options))
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
    assert "held  The next poll asks since the second" in running.printed
    told = json.loads((tmp_path / "told.json").read_text())
    assert [one["verdict"] for one in told["cases"]] == ["held"]
    assert [one["status"] for one in told["requests"]] == [200, 200]
    assert "What your app sent" in (tmp_path / "page").read_text()


def test_it_ends_with_1_and_says_what_was_wrong(run: Callable[..., Running]) -> None:
    running = run(*CASE)
    second = json.loads(running.ask("GET", POLL + "0")[1])["timestamp"]
    running.ask("GET", f"{POLL}{second + 1}")
    assert running.end() == SOMETHING_WRONG
    assert "uploaded in the same second, after it, is missed" in running.printed
    assert "Why it matters: Two devices" in running.printed


def test_a_guessed_second_is_objected_to(run: Callable[..., Running]) -> None:
    running = run(*CASE)
    running.ask("GET", POLL + "1700000000")
    running.until("(is in no reply that was sent)")
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
    for headers in ({"Content-Length": "x"}, {"Content-Length": "99999999"}):
        assert running.ask("POST", create, b"", **headers)[0] == 400


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
    assert f"Port {running.port} cannot be listened at" in capsys.readouterr().err
