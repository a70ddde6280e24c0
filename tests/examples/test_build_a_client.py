"""docs/build-a-client.md, followed: its pieces are a client, and it prints what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl

from trying import Trial

PAGE = Path(__file__).parents[2] / "docs" / "build-a-client.md"
_BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_pieces_of_the_page_are_a_client_that_does_what_the_page_shows(tmp_path: Path) -> None:
    blocks = _BLOCK.findall(PAGE.read_text("utf-8"))
    client = "\n\n".join(text for kind, text in blocks if kind == "python")
    (tmp_path / "client.py").write_text(client, "utf-8")
    with Trial(tmp_path) as trial:
        told = ""
        for kind, text in blocks:
            if kind == "sh":
                told = "".join(done(line, trial, tmp_path) for line in text.splitlines())
            elif kind == "text":
                assert told == text
        seen = trial.requests()
    assert [one for one in seen["requests"] if one["objections"]] == []
    assert {one["fault"] for one in seen["requests"]} == {None, "lost", "unavailable"}


def done(line: str, trial: Trial, folder: Path) -> str:
    """Do what a line of the page says; curl is not everywhere, so it is sent without."""
    word, *words = shlex.split(line)
    if word == "curl":
        *options, address = words
        form = dict(parse_qsl(options[1])) if options[0] == "-d" else {}
        trial.do(address.removeprefix("$FEEDKEEP_URL/try/"), **form)
    if word != "python":
        return ""
    environment = {**os.environ, "FEEDKEEP_URL": trial.base_url, "FEEDKEEP_TOKEN": trial.token}
    result = subprocess.run(
        [sys.executable, *words],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout
