"""The reference for people: openapi.yaml tells of the routes that there are, and shows offline."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import msgspec
import pytest
import yaml
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, IS_LONG
from hypothesis import given
from hypothesis import strategies as st
from names import G1, A, derived, patch
from route_table import all_routes, bare, choices

import feedkeep
from feedkeep.edges import DOCUMENTED
from feedkeep.gpodder import wire as gpodder_wire
from feedkeep.http import health, json_bodies
from feedkeep.http.routing import PublicRoute
from feedkeep.openpodcast import history, wire
from feedkeep.openpodcast.reference import openapi_document
from feedkeep.rules.devices import is_device_id
from feedkeep.rules.feed_urls import parse_new_feed_url
from feedkeep.rules.guids import parse_guid
from feedkeep.url_sync import messages as sync_json

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
CASES_FOR_AN_OPERATION = 10_000 if IS_FULL else 6 if IS_LONG else 1
PHASES = ["examples"]
if IS_LONG:  # any values, one after the other, and each one at the edge of what the document says
    PHASES += ["fuzzing", "stateful", "coverage"]
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}

# Its own lists of statuses, with one more in each: a guid that is valid may be one that was
# deleted, what is not valid may be too large as well, and the valid feed URL of a PATCH may belong
# to another subscription. Asking without being let in is a failure, since it would test nothing.
#
# What apps send is read leniently, so that what is not valid need not be refused. What is valid can
# be one device too many, a list that is not written as the path's ending says, or a URL that is too
# long for a query; and of settings it has to be told which. A made-up login is rejected.
SCHEMATHESIS_CONFIG = """
[warnings]
fail-on = ["missing_auth"]
[parameters]
"path.user" = "{user}"
[generation]
with-security-parameters = false
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "410", "412", "429", "5xx"]
[checks.negative_data_rejection]
expected-statuses = [
    "400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429", "5xx",
]
[[operations]]
include-name = "PATCH /subscriptions/{guid}"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "405", "409", "412", "429", "5xx"]
[[operations]]
include-path = ["/restore", "/history/{stamp}/undo"]
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "405", "409", "429", "5xx"]
[[operations]]
include-tag = ["gpodder.net", "Nextcloud gpoddersync"]
[operations.checks.negative_data_rejection]
expected-statuses = [
    "200", "400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429",
    "431", "5xx",
]
[[operations]]
include-path-regex = "^/(api|subscriptions)/.*({device}|{format}|settings|episodes)"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "400", "401", "403", "404", "429", "431", "5xx"]
[[operations]]
include-path-regex = "flow"
warnings = false
"""


@cache
def document() -> dict[str, Any]:
    return openapi_document(DOCUMENTED)


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = document()["components"]["schemas"][name]
    return found


def operations() -> set[tuple[str, str]]:
    paths: dict[str, dict[str, Any]] = document()["paths"]
    return {(path, name) for path, item in paths.items() for name in METHODS & set(item)}


def test_routes_and_document_name_the_same_operations():
    served = {
        (bare(target.path), method.lower())
        for target in all_routes()
        for method in target.route.methods
        if method != "HEAD"
    }
    served.remove(("/docs/", "get"))  # it leads to the page without the slash
    served.remove(("/v1/docs/", "get"))
    under_v1 = {(path, method) for path, method in served if path.startswith("/v1/")}
    assert served - under_v1 == operations()
    assert {(path.removeprefix("/v1"), method) for path, method in under_v1} <= served


def test_routes_and_document_name_the_same_choices():
    found = []
    for target in all_routes():
        item = document()["paths"].get(bare(target.path), {})
        for name, wanted in choices(target.path).items():
            found.append((target.path, name, wanted, told_choices(item, name)))
    assert len(found) == 7
    assert [one for one in found if one[2] != one[3]] == []


def told_choices(item: dict[str, Any], name: str) -> list[str]:
    shared = document()["components"]["parameters"]
    for parameter in item["parameters"]:
        told = shared[parameter["$ref"].rpartition("/")[2]] if "$ref" in parameter else parameter
        if told["name"] == name:
            found: list[str] = told["schema"]["enum"]
            return found
    return []


def test_the_document_says_of_each_route_whether_it_is_open_to_everyone():
    for target in all_routes():
        item = document()["paths"].get(bare(target.path), {})
        for method in METHODS & set(item):
            is_open = item[method].get("security", document()["security"]) == []
            assert is_open is isinstance(target.route, PublicRoute), target.path


def test_each_operation_may_refuse_headers_that_are_too_large():
    paths = document()["paths"]
    without = [
        (path, name) for path, name in operations() if "431" not in paths[path][name]["responses"]
    ]
    assert without == []


def test_a_field_has_one_type_beside_null():
    """Some generators refuse a field of several types, others make an empty type of it."""

    def several(thing):
        if isinstance(thing, dict):
            kinds = thing.get("anyOf", thing["type"] if isinstance(thing.get("type"), list) else [])
            if len([kind for kind in kinds if kind not in ("null", {"type": "null"})]) > 1:
                yield thing
        for value in thing.values() if isinstance(thing, dict) else thing:
            if isinstance(value, dict | list):
                yield from several(value)

    assert list(several(document())) == []


def test_everything_that_the_document_refers_to_is_in_it():
    referred = set(re.findall(r"#/components/(\w+)/(\w+)", json.dumps(document())))
    kinds = ("schemas", "parameters", "responses")
    there = {(kind, name) for kind in kinds for name in document()["components"][kind]}
    assert referred == there
    told = [item[name]["operationId"] for item in document()["paths"].values()
            for name in METHODS & set(item)]  # fmt: skip
    assert len(told) == len(set(told)) == len(operations())


def resolved(thing: dict[str, Any]) -> dict[str, Any]:
    """Return a thing, or what it refers to."""
    while "$ref" in thing:
        _, _, kind, name = thing["$ref"].split("/")
        thing = document()["components"][kind][name]
    return thing


def contents() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield all that is sent or answered: its operation, what it is there, and how it is told."""
    for path, name in sorted(operations()):
        operation = document()["paths"][path][name]
        there = {status: resolved(reply) for status, reply in operation["responses"].items()}
        if "requestBody" in operation:
            there["request"] = operation["requestBody"]
        for what, thing in there.items():
            for kind, told in thing.get("content", {}).items():
                yield f"{name.upper()} {path}", f"{what} as {kind}", told


def test_all_that_is_sent_or_answered_has_an_example_that_is_as_the_document_says():
    wrong = []
    for operation, what, told in contents():
        if "example" not in told:
            wrong.append(f"{operation}: {what} has no example")
            continue
        whole = {**told["schema"], "components": document()["components"]}
        errors = jsonschema_rs.validator_for(whole).iter_errors(told["example"])
        wrong += [f"{operation}: {what}: {error.message}" for error in errors]
    assert wrong == []


def test_the_example_of_an_error_has_its_own_status():
    errors = [(what[:3], told) for _, what, told in contents() if what[:1] in {"4", "5"}]
    assert len(errors) > 100
    json_errors = [(code, told) for code, told in errors if isinstance(told["example"], dict)]
    assert {code for code, told in json_errors if told["example"]["code"] != code} == set()


def test_no_key_of_the_document_is_a_stray_sentence():
    """As a comma makes one of a description, in the short form of a mapping."""

    def keys(thing):
        if isinstance(thing, dict):
            for key, value in thing.items():
                yield key if value is not None or key == "logo_url" else f"{key}: null"
                yield from keys(value)
        elif isinstance(thing, list):
            for value in thing:
                yield from keys(value)

    assert [key for key in keys(document()) if not re.fullmatch(r"[\w./{}$-]+", key)] == []


def test_two_parts_of_the_document_cannot_define_the_same_thing():
    with pytest.raises(AssertionError, match="the same thing"):
        openapi_document(["feedkeep.openpodcast", "feedkeep.gpodder", "feedkeep.gpodder"])


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("AddReply", wire.AddReply),
        ("AddedFeed", wire.SuccessItem),
        ("RefusedFeed", wire.FailureItem),
        ("Entry", wire.SubscriptionReply),
        ("Feed", wire.FeedReply),
        ("UpdateReply", wire.UpdateReply),
        ("Page", wire.PageReply),
        ("DeletedReply", wire.DeletedReply),
        ("DeletionReply", wire.DeletionReply),
        ("HealthReply", health.StatusReply),
        ("History", history.HistoryReply),
        ("Change", history.ChangeReply),
        ("Author", history.AuthorReply),
        ("FeedChange", history.FeedChangeReply),
        ("BroughtBack", history.ListRestoredReply),
        ("Preview", history.PreviewReply),
        ("Error", json_bodies.Problem),
        ("Conflict", json_bodies.Conflict),
        ("UndoRequest", history.UndoRequest),
        ("RestoreRequest", history.RestoreRequest),
        ("AddRequest", wire.AddRequest),
        ("UpdateRequest", wire.UpdateRequest),
        ("UrlChanges", sync_json.ChangesReply),
        ("Uploaded", sync_json.UploadReply),
        ("EpisodeAction", sync_json.ActionReply),
        ("EpisodeActions", sync_json.ActionsReply),
        ("Device", gpodder_wire.DeviceReply),
        ("Podcast", gpodder_wire.PodcastReply),
        ("Favorite", gpodder_wire.EpisodeReply),
        ("Updates", gpodder_wire.UpdatesReply),
    ],
)
def test_document_and_wire_types_name_the_same_fields(name, reply):
    told = schema(name)
    assert set(told["properties"]) == {field.name for field in msgspec.structs.fields(reply)}
    if not name.endswith("Request"):
        assert told["additionalProperties"] is False


@given(st.from_regex(schema("FeedUrl")["pattern"], fullmatch=True))
def test_whatever_the_document_takes_for_a_feed_url_is_one(url):
    assert parse_new_feed_url(url).text == url


@given(st.from_regex(schema("Guid")["pattern"], fullmatch=True))
def test_whatever_the_document_takes_for_a_guid_is_one(guid):
    assert parse_guid(guid) == guid.lower()


@given(st.from_regex(schema("DeviceId")["pattern"], fullmatch=True))
def test_whatever_the_document_takes_for_a_device_id_is_one(device_id):
    assert is_device_id(device_id)


def test_the_document_is_served_as_json_with_all_that_its_parts_say(api):
    served = api.get("/openapi.json").json()
    sources = sorted(Path(feedkeep.__file__).parent.glob("*/openapi.yaml"))
    assert len(sources) == 3
    count = 0
    for source in sources:
        part = yaml.safe_load(source.read_text("utf-8"))
        assert all(served["paths"][path] == item for path, item in part["paths"].items())
        assert all(tag in served["tags"] for tag in part["tags"])
        for kind, components in part["components"].items():
            assert all(served["components"][kind][name] == components[name] for name in components)
        count += len(part["paths"])
    assert len(served["paths"]) == count
    assert "x-root" not in served


def test_the_document_of_each_protocol_alone_has_all_that_it_refers_to_and_no_more(api):
    paths: list[str] = []
    for package in DOCUMENTED:
        alone = api.get(f"/docs/{package.rpartition('.')[2]}.json").json()
        paths += alone["paths"]
        referred = set(re.findall(r'"#/components/(\w+)/(\w+)"', json.dumps(alone)))
        there = {(kind, name) for kind, known in alone["components"].items() for name in known}
        assert {one for one in there if one[0] != "securitySchemes"} == referred
        assert all(document()["components"][kind][name] == alone["components"][kind][name]
                   for kind, name in there)  # fmt: skip
        assert alone["info"]["title"].startswith("feedkeep")
    assert sorted(paths) == sorted(document()["paths"])
    alone = api.get("/docs/openpodcast.json").json()
    assert len(alone["tags"]) == 3
    assert set(alone["components"]["securitySchemes"]) == {"token", "password"}


@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_a_slash_too_many_leads_to_the_page(feedkeep, prefix):
    reply = httpx.get(f"{feedkeep.base_url}{prefix}/docs/")
    assert (reply.status_code, reply.content) == (302, b"")
    page = httpx.get(reply.url.join(reply.headers["Location"]))
    assert page.status_code == 200
    assert page.url.path == f"{prefix}/docs"


@pytest.fixture
def own(tmp_path):
    """A service of its own, in which wrong passwords cost nothing and do not count.

    With each operation some are tried, in the short form more than may come from one address.
    """
    process = FeedkeepProcess(tmp_path)
    process.run_first("hashes_are_cheap", "wrong_passwords_do_not_count")
    with process:
        yield process


def test_schemathesis_finds_nothing_with_any_of_its_checks(own, tmp_path):
    config = tmp_path / "schemathesis.toml"
    name = own.new_account()
    config.write_text(SCHEMATHESIS_CONFIG.replace("{user}", name))
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
            f"{own.base_url}/openapi.json",
            f"--url={own.base_url}",
            f"--header=Authorization: Bearer {token}",
            "--checks=all",
            f"--phases={','.join(PHASES)}",
            f"--max-examples={CASES_FOR_AN_OPERATION}",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300 + 15 * CASES_FOR_AN_OPERATION,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5_000:]
    (generated,) = re.findall(r"([0-9]+) generated", done.stdout)
    assert int(generated) > len(operations()) * CASES_FOR_AN_OPERATION / 2
