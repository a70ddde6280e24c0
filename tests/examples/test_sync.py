"""The example programs of docs/apps.md, on two devices, against a real service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from feedkeep_process import FeedkeepProcess

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
NODE = shutil.which("node")
PROGRAMS = [[sys.executable, str(EXAMPLES / "sync.py")]]
if NODE:  # where it is not, the end of the tests says so
    PROGRAMS.append([NODE, str(EXAMPLES / "sync.mjs")])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeedkeepProcess]:
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
        return found


@pytest.fixture
def account(service: FeedkeepProcess) -> Iterator[httpx.Client]:
    with service.client(service.new_account()) as client:
        yield client


@pytest.fixture(params=PROGRAMS, ids=lambda program: Path(program[1]).name)
def devices(
    request: pytest.FixtureRequest, service: FeedkeepProcess, account: httpx.Client, tmp_path: Path
) -> tuple[Device, Device]:
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
                found[entry["guid"]] = {key: entry[key] for key in ("feed_url", "is_subscribed")}
        url = page.get("next")
    return found


def guid_of(device: Device, url: str) -> str:
    return next(guid for guid, feed in device.feeds().items() if feed["feed_url"] == url)


def test_two_devices_have_the_list_of_the_account_whatever_happened_to_it(
    account: httpx.Client, devices: tuple[Device, Device]
) -> None:
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


def test_a_change_whose_reply_was_lost_is_sent_again_and_is_there_once(
    account: httpx.Client, devices: tuple[Device, Device]
) -> None:
    one, _ = devices
    one.must("add", "https://lost.example/feed")
    before = one.file.read_bytes()
    one.must()
    one.file.write_bytes(before)  # as if it had been killed before it noted the reply
    one.must()
    assert one.feeds() == listed(account)
    assert len(one.feeds()) == 1


def test_a_device_that_was_away_through_thousands_of_changes_has_the_list(
    account: httpx.Client, devices: tuple[Device, Device]
) -> None:
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


def test_a_token_that_is_not_valid_ends_it_with_a_sentence_and_the_list_is_kept(
    devices: tuple[Device, Device],
) -> None:
    one, _ = devices
    one.must("add", "https://kept.example/feed")
    one.must()
    feeds = one.feeds()
    one.environment["FEEDKEEP_TOKEN"] = "fk_no"
    done = one.run()
    assert done.returncode == 1
    assert done.stderr.startswith("The token is not valid any more.")
    assert one.feeds() == feeds
