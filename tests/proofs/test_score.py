"""podsync-check, which scores any server, finds nothing against this one, on either store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from podsync_check.checking import Level
from podsync_check.cli import ALL_PASSED, SOMETHING_FAILED, main

LEVELS = [level for level in Level if level is not Level.FAST]
PASSWORD = "correct hörse~~battery???"  # both alphabets of base64, and both encodings, differ


def score(process: FeedkeepProcess, folder: Path, *options: str) -> int:
    """Run all levels against a service but that of its speed; return how the command exits."""
    file = folder / "password"
    file.write_text(PASSWORD)
    name = process.new_account(PASSWORD)
    levels = [word for level in LEVELS for word in ("--level", level)]
    login = ["--user", name, "--password-file", str(file), "--json", str(folder / "report")]
    return main([process.base_url, *login, *levels, *options])


@in_the_long_form
def test_every_check_of_every_protocol_passes(
    start: Callable[..., FeedkeepProcess], store_kind: str, tmp_path: Path
) -> None:
    assert score(start(store_kind), tmp_path) == ALL_PASSED
    outcomes = [one["outcome"] for one in json.loads((tmp_path / "report").read_text())["checks"]]
    assert set(outcomes) == {"passed"}


@in_the_long_form
def test_what_is_broken_here_is_noticed(
    start: Callable[..., FeedkeepProcess], tmp_path: Path
) -> None:
    process = start("sqlite", "a_status_is_toggled")
    check = ("--check", "a_repeated_change_is_taken")
    assert score(process, tmp_path, *check) == SOMETHING_FAILED
