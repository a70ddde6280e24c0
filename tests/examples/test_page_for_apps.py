"""docs/apps.md, followed: its pieces are a client, and each reply is as the page shows it."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl

from feedkeep_process import FeedkeepProcess
from test_sync import Restorable, listed
from trying import Trial, trial

__all__ = ["trial"]

PAGE = (Path(__file__).parents[2] / "docs" / "apps.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def write_client(folder: Path) -> None:
    """Write the client that the page has."""
    client = "\n\n".join(text for kind, text in BLOCKS if kind == "python")
    (folder / "client.py").write_text(client, "utf-8")


def run(folder: Path, url: str, token: str, *words: str) -> str:
    environment = os.environ | {"FEEDKEEP_URL": url, "FEEDKEEP_TOKEN": token}
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    result = subprocess.run([sys.executable, *words], **options, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_pieces_of_the_page_are_a_client_that_does_what_the_page_shows(tmp_path, trial):
    write_client(tmp_path)
    told = ""
    for kind, text in BLOCKS:
        if kind == "sh":
            told = "".join(done(line, trial, tmp_path) for line in text.splitlines())
        elif kind == "text":
            assert told == text
    seen = trial.requests()
    assert [one for one in seen["requests"] if one["objections"]] == []
    assert {one["fault"] for one in seen["requests"]} == {None, "lost", "unavailable"}


def test_restore_costs_the_client_no_feed_and_no_queued_change(tmp_path):
    write_client(tmp_path)
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
    """Run a command line of the page; requests of curl are sent without curl."""
    word, *words = shlex.split(line)
    if word == "curl":
        *options, address = words
        form = dict(parse_qsl(options[1])) if options[0] == "-d" else {}
        trial.do(address.removeprefix("$FEEDKEEP_URL/try/"), **form)
    if word != "python":
        return ""
    return run(folder, trial.base_url, trial.token, *words)


class Reader:
    """Follows the page, with the stamps received from the service in place of the page's."""

    def __init__(self, client):
        self.client, self.stamps = client, {}

    def send(self, text):
        head, _, body = text.partition("\n")
        method, path = _STAMP.sub(lambda found: self.stamps[found[0]], head).split()
        reply = self.client.request(method, path, content=body)
        told = reply.json()
        assert reply.status_code == int(told.get("code", reply.status_code)), text
        assert "code" in told or reply.is_success, text
        return told

    def compare(self, shown, told):
        """Compare a reply with the page's; a stamp of the page stands for one and the same."""
        if isinstance(shown, dict):
            assert shown.keys() == told.keys()
            for key, value in shown.items():
                self.compare(value, told[key])
        elif isinstance(shown, list):
            assert len(shown) == len(told)
            for one, other in zip(shown, told, strict=True):
                self.compare(one, other)
        elif isinstance(shown, str) and _STAMP.fullmatch(shown):
            assert self.stamps.setdefault(shown, told) == told
        else:
            assert shown == told


def test_each_request_of_the_page_has_the_reply_of_the_page(tmp_path):
    blocks = [block for block in BLOCKS if block[0] in {"http", "json"}]
    assert len(blocks) > 15
    with FeedkeepProcess(tmp_path) as service, service.client(service.new_account()) as client:
        reader, told, merged = Reader(client), None, ""
        for kind, text in blocks:
            if kind == "http":
                told = reader.send(text)
                merged = text if "new_guid" in text else merged
            else:
                reader.compare(json.loads(text), told)
        shown = sorted(reader.stamps)
        assert [reader.stamps[stamp] for stamp in shown] == sorted(reader.stamps.values())

        # The page's section about undoing a merge.
        (former,) = re.findall(r"/subscriptions/(\S+)", merged)
        newest = client.get("/history").json()["changes"][0]
        assert newest["feeds"][0]["what"] == "merged"
        client.post(f"/history/{newest['stamp']}/undo").raise_for_status()
        since = reader.stamps[shown[-1]]
        listed = client.get(f"/subscriptions?since={since}").json()["subscriptions"]
        [back] = [entry for entry in listed if entry["guid"] == former]
        assert "new_guid" not in back
