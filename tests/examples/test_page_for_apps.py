"""docs/apps.md: each request that it shows, sent to a real service, has the reply that it shows."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from feedkeep_process import FeedkeepProcess

PAGE = Path(__file__).parents[2] / "docs" / "apps.md"
_BLOCK = re.compile(r"^```(http|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with FeedkeepProcess(tmp_path_factory.mktemp("page")) as process:
        yield process


class Reader:
    """Does what the page shows, with the stamps that it is told in place of those of the page."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.stamps: dict[str, str] = {}

    def send(self, text: str) -> Any:
        head, _, body = text.partition("\n")
        method, path = _STAMP.sub(lambda found: self.stamps[found[0]], head).split()
        reply = self.client.request(method, path, content=body)
        told = reply.json()
        assert reply.status_code == int(told.get("code", reply.status_code)), text
        assert "code" in told or reply.is_success, text
        return told

    def compare(self, shown: Any, told: Any) -> None:
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


def test_each_request_of_the_page_has_the_reply_of_the_page(service):
    blocks = _BLOCK.findall(PAGE.read_text("utf-8"))
    assert len(blocks) > 15
    with service.client(service.new_account()) as client:
        reader, told, merged = Reader(client), None, ""
        for language, text in blocks:
            if language == "http":
                told = reader.send(text)
                merged = text if "new_guid" in text else merged
            else:
                reader.compare(json.loads(text), told)
        shown = sorted(reader.stamps)
        assert [reader.stamps[stamp] for stamp in shown] == sorted(reader.stamps.values())

        # What the page says of taking a merge back.
        former = re.search(r"/subscriptions/(\S+)", merged)
        assert former is not None
        newest = client.get("/history").json()["changes"][0]
        assert newest["feeds"][0]["what"] == "merged"
        client.post(f"/history/{newest['stamp']}/undo").raise_for_status()
        since = reader.stamps[shown[-1]]
        listed = client.get(f"/subscriptions?since={since}").json()["subscriptions"]
        [back] = [entry for entry in listed if entry["guid"] == former[1]]
        assert "new_guid" not in back
