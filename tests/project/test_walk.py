"""The request lifecycles of docs/design.md name what a request runs through."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess

ARCHITECTURE = Path(__file__).parents[2] / "docs" / "design.md"
STATIONS = re.compile(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`", re.MULTILINE)
MAX_STATIONS = 12
PASSWORD = "correct horse battery"


def stations(title: str) -> list[str]:
    """Return the stations of a walk, each a file and what runs in it."""
    _, _, behind = ARCHITECTURE.read_text("utf-8").partition(f"### {title}\n")
    walk, _, _ = behind.partition("\n#")
    return [" ".join(station) for station in STATIONS.findall(walk)]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What a POST of a feed, and an upload from an unknown device, run through."""
    folder = tmp_path_factory.mktemp("walk")
    process = FeedkeepProcess(folder)
    process.environment["CALLS"] = str(folder / "calls")
    process.run_first("calls_are_listed")
    with process:
        name = process.new_account(PASSWORD)
        with process.client(name) as client:
            feed = {"feed_url": "https://example.com/a"}
            added = client.post("/subscriptions", json={"subscriptions": [feed]})
            assert added.status_code == httpx.codes.OK
        with httpx.Client(base_url=process.base_url) as app:
            login = f"/api/2/auth/{name}/login.json"
            assert app.post(login, auth=(name, PASSWORD)).status_code == httpx.codes.OK
            path = f"/api/2/subscriptions/{name}/new-phone.json"
            uploaded = app.post(path, json={"add": ["https://example.com/b"], "remove": []})
            assert uploaded.status_code == httpx.codes.OK
    post, _, upload = map(json.loads, (folder / "calls").read_text().splitlines())
    return {"A write": post, "An app's sync": upload}


@pytest.mark.parametrize("title", ["A write", "An app's sync"])
def test_each_walk_names_what_runs_in_the_order_in_which_it_begins(
    calls: dict[str, list[str]], title: str
) -> None:
    walk = stations(title)
    assert 5 < len(walk) <= MAX_STATIONS
    missing = [station for station in walk if station not in calls[title]]
    assert missing == []
    assert walk == sorted(walk, key=calls[title].index)
