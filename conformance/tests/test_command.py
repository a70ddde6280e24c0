"""The command: what it says, how it exits, and what it never does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from in_process import NAME, PASSWORD
from served import served

from podsync_check.cli import ALL_PASSED, CLEARED, COULD_NOT_RUN, SOMETHING_FAILED, main
from podsync_check.messages import Reply
from podsync_check.reference.server import Asked, Reference

ONE = ("--check", "an_added_feed_is_kept")
Command = Callable[..., int]


@pytest.fixture
def server() -> Reference:
    return Reference(NAME, PASSWORD)


@pytest.fixture
def address(server: Reference) -> Iterator[str]:
    with served(server) as url:
        yield url


@pytest.fixture
def command(address: str, tmp_path: Path) -> Command:
    """Return a function that runs the command against the server."""
    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\nnot this line\n")

    def run(*options: str) -> int:
        return main([address, "--user", NAME, "--password-file", str(file), *options])

    return run


def test_it_exits_with_0_if_every_check_passed(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*ONE) == ALL_PASSED
    told = capsys.readouterr().out
    assert "ok   gpodder.net  A feed that one device adds" in told
    assert "1 of 1" in told
    assert "Left behind" in told


def test_it_exits_with_1_if_one_failed_and_says_how_to_see_that_without_the_password(
    command: Command,
    server: Reference,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server.list, "changes", lambda *_: ([], []))
    files = [tmp_path / name for name in ("page.html", "report.json", "junit.xml")]
    options = zip(("--html", "--json", "--junit"), map(str, files), strict=True)
    assert command(*ONE, *(word for pair in options for word in pair)) == SOMETHING_FAILED
    told = capsys.readouterr().out
    assert "Why it matters" in told
    assert '$URL"/api/2/subscriptions/anna/podsync-check-1.json' in told
    page, report, junit = (file.read_text() for file in files)
    for text in (told, page, report, junit):
        assert PASSWORD not in text
        assert "curl -sS" in text
    assert json.loads(report)["scores"]["nextcloud"]["kept"] == [0, 1]
    suites = ET.fromstring(junit)  # noqa: S314
    assert [suite.get("failures") for suite in suites] == ["1", "1"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--check", "no_such_check"], "There is no check no_such_check"),
        (["--user", "else"], "supports no protocol"),
        (["--password-file", "/nowhere"], "The password cannot be read"),
        (["--max-requests", "0"], "--max-requests or --max-seconds is too low"),
    ],
)
def test_it_exits_with_2_if_it_could_not_run_and_says_what_to_do(
    command: Command, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*ONE, *options) == COULD_NOT_RUN
    assert told in capsys.readouterr().err


def test_no_server_and_no_address_are_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "password").write_text("x\n")
    file = ["--user", "me", "--password-file", str(tmp_path / "password")]
    for url, told in (
        ("http://127.0.0.1:1", "No server responds"),
        ("ftp://example.org", "is not a"),
        ("http://me:secret@example.org", "with --user"),
        ("http://example.org:x", "is not a"),
    ):
        assert main([url, *file]) == COULD_NOT_RUN
        assert told in capsys.readouterr().err
    assert main(file) == COULD_NOT_RUN


def test_an_account_that_has_something_is_refused_unless_it_may_be_destroyed(
    command: Command, server: Reference, capsys: pytest.CaptureFixture[str]
) -> None:
    server.list.change(["https://mine.example/feed"], [])
    assert command(*ONE) == COULD_NOT_RUN
    assert "The account has 1 feed." in capsys.readouterr().err
    assert server.devices == {}
    assert command(*ONE, "--destroy-this-account") == ALL_PASSED
    assert server.list.subscribed() == ["https://mine.example/feed"]  # its own are taken away


def test_a_difference_from_feedkeep_fails_only_a_strict_run_that_does_not_allow_it(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subscription = Reference.subscription

    def ignores(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        others = {name: text for name, text in asked.headers.items() if name != "if-match"}
        return subscription(server, replace(asked, headers=others), named)

    monkeypatch.setattr(Reference, "subscription", ignores)
    check = ("--check", "feedkeep/if_match_guards_a_change")
    assert command(*check) == ALL_PASSED
    assert "diff feedkeep/if_match_guards_a_change" in capsys.readouterr().out
    assert command(*check, "--strict") == SOMETHING_FAILED
    assert command(*check, "--strict", "--allow", check[1]) == ALL_PASSED
    assert command(*check, "--strict", "--allow", "no_such_check") == COULD_NOT_RUN


def test_a_header_in_two_fields_is_read_whole(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"WWW-Authenticate": 'Basic realm="a"\nBearer realm="a"'}
    monkeypatch.setattr("podsync_check.reference.server._CHALLENGE", both)
    assert command("--check", "a_stranger_is_asked_for_a_password") == ALL_PASSED


def test_protocols_and_checks_are_chosen_by_the_names_in_reports(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    two = ("--check", "kept/an_added_feed_is_kept", "--check", "a_position_is_kept")
    assert command(*two, "--protocol", "nextcloud") == ALL_PASSED
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ok ")]
    assert [line.split()[1] for line in lines] == ["nextcloud", "nextcloud"]


def test_a_protocol_that_the_server_does_not_speak_is_told(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*ONE, "--protocol", "draft-c") == COULD_NOT_RUN
    assert "The server does not speak draft-c." in capsys.readouterr().err


def test_a_terminal_shows_the_check_in_progress(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert command(*ONE) == ALL_PASSED
    assert f"{CLEARED}1 of 2: kept/an_added_feed_is_kept (gpodder.net)" in capsys.readouterr().out


def test_what_an_earlier_run_has_left_is_no_reason_to_refuse(
    command: Command, server: Reference
) -> None:
    assert command("--check", "a_position_is_kept") == ALL_PASSED
    assert server.log.actions
    assert command("--check", "a_position_is_kept") == ALL_PASSED


def test_read_only_sends_nothing_that_changes_anything(
    command: Command, server: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    route, changing = Reference._route, list[str]()

    def routed(self: Reference, asked: Asked) -> Reply:
        if asked.method != "GET" and "login" not in asked.path:
            changing.append(f"{asked.method} {asked.path}")
        return route(self, asked)

    monkeypatch.setattr(Reference, "_route", routed)
    server.list.change(["https://mine.example/feed"], [])
    assert command("--read-only") == ALL_PASSED
    assert changing == []


def test_it_ends_once_it_has_sent_what_it_may(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--max-requests", "40") == SOMETHING_FAILED
    assert "The run's requests or time ran out." in capsys.readouterr().out


def test_a_redirect_is_followed_to_no_other_host(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = Reply(302, {"location": "http://192.0.2.1/"}, b"")
    monkeypatch.setattr(Reference, "answer", lambda *_: elsewhere)
    assert command(*ONE) == COULD_NOT_RUN
    assert "answers 302" in capsys.readouterr().err


def test_the_list_says_why_each_check_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == ALL_PASSED
    told = capsys.readouterr().out
    assert "kept/a_late_upload_reaches_the_others" in told
    assert "AntennaPod/AntennaPod#2121" in told
