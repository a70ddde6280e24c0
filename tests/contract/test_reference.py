"""The reference for people: openapi.yaml tells of the routes that there are, and shows offline."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import yaml
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL
from hypothesis import given
from hypothesis import strategies as st
from names import G1, A, derived, patch

from feedkeep.api import wire
from feedkeep.api.app import routes
from feedkeep.api.reference import openapi_document
from feedkeep.api.routing import Route
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.guids import parse_guid
from feedkeep.settings import Settings

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
CASES_FOR_AN_OPERATION = 10_000 if IS_FULL else 60

# Its own lists of statuses, with one more in each: a guid that is valid may be one that was
# deleted, what is not valid may be too large as well, and the valid feed URL of a PATCH may belong
# to another subscription. Asking without being let in is a failure, since it would test nothing.
SCHEMATHESIS_CONFIG = """
[warnings]
fail-on = ["missing_auth"]
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "410", "429", "5xx"]
[checks.negative_data_rejection]
expected-statuses = [
    "400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429", "5xx",
]
[[operations]]
include-name = "PATCH /subscriptions/{guid}"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "405", "409", "429", "5xx"]
"""


def schema(name: str) -> dict[str, Any]:
    components = cast("dict[str, Any]", openapi_document()["components"])
    found: dict[str, Any] = components["schemas"][name]
    return found


def test_routes_and_document_name_the_same_operations() -> None:
    served = {
        (path, method.lower())
        for path, resource in routes(cast("Any", None), Settings()).items()
        for method in Route(path, resource).methods
        if method != "HEAD"
    }
    paths = cast("dict[str, dict[str, Any]]", openapi_document()["paths"])
    methods = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
    told = {(path, name) for path, item in paths.items() for name in methods & set(item)}
    assert served == told


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("AddReply", wire.AddReply),
        ("Entry", wire.SubscriptionReply),
        ("UpdateReply", wire.UpdateReply),
        ("Page", wire.PageReply),
        ("DeletedReply", wire.DeletedReply),
        ("DeletionReply", wire.DeletionReply),
        ("Status", wire.StatusReply),
        ("Error", wire.Problem),
        ("AddRequest", wire.AddRequest),
        ("UpdateRequest", wire.UpdateRequest),
    ],
)
def test_document_and_wire_types_name_the_same_fields(name: str, reply: type) -> None:
    told = schema(name)
    assert set(told["properties"]) == set(reply.__struct_fields__)
    if name not in {"AddRequest", "UpdateRequest"}:
        assert told["additionalProperties"] is False


@given(st.from_regex(schema("FeedUrl")["pattern"], fullmatch=True))
def test_whatever_the_document_takes_for_a_feed_url_is_one(url: str) -> None:
    assert parse_feed_url(url).text == url


@given(st.from_regex(schema("Guid")["pattern"], fullmatch=True))
def test_whatever_the_document_takes_for_a_guid_is_one(guid: str) -> None:
    assert parse_guid(guid) == guid.lower()


def test_the_document_is_served_as_json(api: httpx.Client) -> None:
    served = api.get("/openapi.json").json()
    source = Path(wire.__file__).with_name("openapi.yaml").read_text("utf-8")
    assert served == yaml.safe_load(source)


def test_the_page_needs_nothing_from_anywhere_else(api: httpx.Client) -> None:
    page = api.get("/docs")
    assert page.headers["Content-Type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    files = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(files) == 3
    for prefix in ("", "/v1"):
        for file in files:
            assert not file.startswith(("http", "/"))
            reply = api.get(f"{prefix}/{file}")
            assert reply.status_code == 200
            assert len(reply.content) > 50


@pytest.fixture
def own(tmp_path: Path) -> Iterator[FeedkeepProcess]:
    """A service of its own: the wrong passwords that are tried here count against their address."""
    with FeedkeepProcess(tmp_path) as process:
        yield process


def test_schemathesis_finds_nothing_with_any_of_its_checks(
    own: FeedkeepProcess, tmp_path: Path
) -> None:
    config = tmp_path / "schemathesis.toml"
    config.write_text(SCHEMATHESIS_CONFIG)
    name = own.new_account()
    token = own.new_token(name)
    with own.client(name) as client:
        body = {"subscriptions": [{"feed_url": A, "guid": G1}, {"feed_url": "https://b.example"}]}
        client.post("/subscriptions", json=body)
        patch(client, G1, new_guid=derived("https://c.example"))
    done = subprocess.run(
        [
            SCHEMATHESIS,
            f"--config-file={config}",
            "run",
            Path(wire.__file__).with_name("openapi.yaml"),
            f"--url={own.base_url}",
            f"--header=Authorization: Bearer {token}",
            "--checks=all",
            f"--max-examples={CASES_FOR_AN_OPERATION}",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=5 * CASES_FOR_AN_OPERATION,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5_000:]
    (generated,) = re.findall(r"([0-9]+) generated", done.stdout)
    assert int(generated) > 11 * CASES_FOR_AN_OPERATION / 2
