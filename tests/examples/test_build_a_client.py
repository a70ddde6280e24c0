"""docs/apps.md, followed: its pieces are a client, and it prints what the page shows."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl

from test_sync import Restorable, listed
from trying import Trial, trial

__all__ = ["trial"]

PAGE = Path(__file__).parents[2] / "docs" / "apps.md"
_BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def client_of_the_page(folder: Path) -> list[tuple[str, str]]:
    """Write the client that the page has, and return all its pieces."""
    blocks = _BLOCK.findall(PAGE.read_text("utf-8"))
    client = "\n\n".join(text for kind, text in blocks if kind == "python")
    (folder / "client.py").write_text(client, "utf-8")
    return blocks


def run(folder: Path, url: str, token: str, *words: str) -> str:
    environment = os.environ | {"FEEDKEEP_URL": url, "FEEDKEEP_TOKEN": token}
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    result = subprocess.run([sys.executable, *words], **options, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_pieces_of_the_page_are_a_client_that_does_what_the_page_shows(tmp_path, trial):
    told = ""
    for kind, text in client_of_the_page(tmp_path):
        if kind == "sh":
            told = "".join(done(line, trial, tmp_path) for line in text.splitlines())
        elif kind == "text":
            assert told == text
    seen = trial.requests()
    assert [one for one in seen["requests"] if one["objections"]] == []
    assert {one["fault"] for one in seen["requests"]} == {None, "lost", "unavailable"}


def test_restore_costs_the_client_no_feed_and_no_queued_change(tmp_path):
    client_of_the_page(tmp_path)
    file = tmp_path / "list.json"
    with Restorable(tmp_path) as process:
        name = process.new_account()
        token = process.new_token(name)

        def do(*words):
            run(tmp_path, process.base_url, token, "client.py", *words)
            return json.loads(file.read_text())

        def guid(number):
            feeds = json.loads(file.read_text())["feeds"]
            return next(guid for guid, feed in feeds.items() if feed["url"] == url(number))

        def url(number):
            return f"https://{number}.example"

        for number in (0, 1):
            do("add", url(number))
        do("delete", guid(0))
        process.back_up()
        for number in (0, 2, 3, 4):
            do("add", url(number))
        do("unsubscribe", guid(3))
        state = do("unsubscribe", guid(4))
        with process.client(name) as account:  # of which the device does not hear before
            account.delete(f"/subscriptions/{guid(1)}").raise_for_status()
        changes = [
            (guid(2), {"new_feed_url": "https://new.example"}),
            (guid(3), {"is_subscribed": True}),
            (guid(4), {"new_feed_url": "https://4.example/new"}),
        ]
        state["queue"] = [["PATCH", f"/subscriptions/{one}", body] for one, body in changes]
        state["queue"] += [
            ["POST", "/subscriptions", {"subscriptions": [{"feed_url": url(5)}]}],
            ["PATCH", f"/subscriptions/{url(5)}", {"is_subscribed": False}],
        ]
        file.write_text(json.dumps(state))
        process.restore()
        feeds = do()["feeds"]
        found = {one: (feed["url"], feed["on"]) for one, feed in feeds.items()}
        assert set(found.values()) == {
            (url(0), True), (url(1), True), ("https://new.example", True), (url(3), True),
            ("https://4.example/new", False), (url(5), False),
        }  # fmt: skip
        with process.client(name) as account:
            there = listed(account)
        assert found == {one: tuple(feed.values()) for one, feed in there.items()}


def done(line: str, trial: Trial, folder: Path) -> str:
    """Do what a line of the page says; curl is not everywhere, so it is sent without."""
    word, *words = shlex.split(line)
    if word == "curl":
        *options, address = words
        form = dict(parse_qsl(options[1])) if options[0] == "-d" else {}
        trial.do(address.removeprefix("$FEEDKEEP_URL/try/"), **form)
    if word != "python":
        return ""
    return run(folder, trial.base_url, trial.token, *words)
