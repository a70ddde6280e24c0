"""The reference for people: openapi.yaml tells of the routes that there are, and shows offline."""

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import jsonschema_rs
import msgspec
import pytest
import yaml
from asking import patch
from documented import METHODS, document, operations, resolved
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, IS_LONG
from hypothesis import given
from hypothesis import strategies as st
from names import G1, A, B, C, derived
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
CASES_FOR_AN_OPERATION = 2_000 if IS_FULL else 6 if IS_LONG else 1
PHASES = ["examples"]
if IS_LONG:  # any values, one after the other, and each one at the edge of what the document says
    PHASES += ["fuzzing", "stateful", "coverage"]

# Its own lists of statuses, with one more in each: a guid that is valid may be one that was
# deleted, what is not valid may be too large as well, and the valid feed URL of a PATCH may belong
# to another subscription. Asking without being let in is a failure, since it would test nothing.
#
# Requests of apps are read leniently, so invalid ones need not be rejected. Valid ones can name
# one device too many, have a list in another format than the path's ending, or a URL that is too
# long for a query; and settings need their parameters. A made-up login is rejected.
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


def schema(name):
    return document()["components"]["schemas"][name]


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
    assert served - under_v1 == set(operations())
    assert {(path.removeprefix("/v1"), method) for path, method in under_v1} <= served


def test_routes_and_document_name_the_same_choices():
    count = 0
    for target in all_routes():
        item = document()["paths"].get(bare(target.path), {})
        for name, wanted in choices(target.path).items():
            (parameter,) = (one for one in map(resolved, item["parameters"]) if one["name"] == name)
            assert parameter["schema"]["enum"] == wanted, (target.path, name)
            count += 1
    assert count == 7


def test_each_operation_says_whether_it_is_open_to_everyone_and_may_refuse_large_headers():
    for target in all_routes():
        item = document()["paths"].get(bare(target.path), {})
        for method in METHODS & set(item):
            is_open = item[method].get("security", document()["security"]) == []
            assert is_open is isinstance(target.route, PublicRoute), target.path
    told = {operation: set(item["responses"]) for operation, item in operations().items()}
    assert [operation for operation, statuses in told.items() if "431" not in statuses] == []


def mappings(thing):
    """Yield each mapping in a part of the document."""
    if isinstance(thing, dict):
        yield thing
        thing = thing.values()
    for value in thing:
        if isinstance(value, dict | list):
            yield from mappings(value)


def test_a_field_has_one_type_beside_null():
    """Some generators refuse a field of several types, others make an empty type of it."""
    for one in mappings(document()):
        kinds = one.get("anyOf", one["type"] if isinstance(one.get("type"), list) else [])
        assert len([kind for kind in kinds if kind not in ("null", {"type": "null"})]) <= 1, one


def test_no_key_of_the_document_is_a_stray_sentence():
    """As a comma makes one of a description, in the short form of a mapping."""
    keys = [(key, value) for one in mappings(document()) for key, value in one.items()]
    assert [key for key, _ in keys if not re.fullmatch(r"[\w./{}$-]+", key)] == []
    assert {key for key, value in keys if value is None} <= {"logo_url"}


def test_everything_that_the_document_refers_to_is_in_it():
    referred = set(re.findall(r"#/components/(\w+)/(\w+)", json.dumps(document())))
    kinds = ("schemas", "parameters", "responses")
    there = {(kind, name) for kind in kinds for name in document()["components"][kind]}
    assert referred == there
    assert len({item["operationId"] for item in operations().values()}) == len(operations())


def contents():
    """Yield all that is sent or answered: its operation, what it is there, and how it is told."""
    for (path, name), operation in sorted(operations().items()):
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
    errors = [(what[:3], told) for _, what, told in contents() if what[:1] in {"4", "5"}]
    assert len(errors) > 100
    json_errors = [(code, told) for code, told in errors if isinstance(told["example"], dict)]
    assert {code for code, told in json_errors if told["example"]["code"] != code} == set()


def test_two_parts_of_the_document_cannot_define_the_same_thing():
    with pytest.raises(AssertionError, match="the same thing"):
        openapi_document(["feedkeep.openpodcast", "feedkeep.gpodder", "feedkeep.gpodder"])


REPLIES = {
    "AddReply": wire.AddReply, "AddedFeed": wire.SuccessItem, "RefusedFeed": wire.FailureItem,
    "Entry": wire.SubscriptionReply, "Feed": wire.FeedReply, "UpdateReply": wire.UpdateReply,
    "Page": wire.PageReply, "DeletedReply": wire.DeletedReply,
    "DeletionReply": wire.DeletionReply, "HealthReply": health.StatusReply,
    "History": history.HistoryReply, "Change": history.ChangeReply,
    "Author": history.AuthorReply, "FeedChange": history.FeedChangeReply,
    "BroughtBack": history.ListRestoredReply, "Preview": history.PreviewReply,
    "Error": json_bodies.Problem, "Conflict": json_bodies.Conflict,
    "UndoRequest": history.UndoRequest, "RestoreRequest": history.RestoreRequest,
    "AddRequest": wire.AddRequest, "UpdateRequest": wire.UpdateRequest,
    "UrlChanges": sync_json.ChangesReply, "Uploaded": sync_json.UploadReply,
    "EpisodeAction": sync_json.ActionReply, "EpisodeActions": sync_json.ActionsReply,
    "Device": gpodder_wire.DeviceReply, "Podcast": gpodder_wire.PodcastReply,
    "Favorite": gpodder_wire.EpisodeReply, "Updates": gpodder_wire.UpdatesReply,
}  # fmt: skip


@pytest.mark.parametrize(("name", "reply"), REPLIES.items())
def test_document_and_wire_types_name_the_same_fields(name, reply):
    told = schema(name)
    assert set(told["properties"]) == {field.name for field in msgspec.structs.fields(reply)}
    if not name.endswith("Request"):
        assert told["additionalProperties"] is False


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        # U+FEFF is white space around a URL, but not in every regular expression.
        ("FeedUrl", lambda text: parse_new_feed_url(text).text == text.rstrip("\ufeff")),
        ("Guid", lambda text: parse_guid(text) == text.lower()),
        ("DeviceId", is_device_id),
    ],
)
@given(data=st.data())
def test_whatever_the_document_takes_for_a_text_of_a_kind_is_one(name, is_one, data):
    assert is_one(data.draw(st.from_regex(schema(name)["pattern"], fullmatch=True)))


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
    paths = []
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


def test_a_slash_too_many_leads_to_the_page(feedkeep):
    for prefix in ("", "/v1"):
        reply = httpx.get(f"{feedkeep.base_url}{prefix}/docs/")
        assert (reply.status_code, reply.content) == (302, b"")
        page = httpx.get(reply.url.join(reply.headers["Location"]))
        assert (page.status_code, page.url.path) == (200, f"{prefix}/docs")


def test_schemathesis_finds_nothing_with_any_of_its_checks(tmp_path):
    """On a service of its own, in which wrong passwords cost nothing and do not count.

    With each operation some are tried, in the short form more than may come from one address.
    """
    process = FeedkeepProcess(tmp_path)
    process.run_first("hashes_are_cheap", "wrong_passwords_do_not_count")
    with process:
        check_with_schemathesis(process, tmp_path)


def check_with_schemathesis(own, folder):
    config = folder / "schemathesis.toml"
    name = own.new_account()
    config.write_text(SCHEMATHESIS_CONFIG.replace("{user}", name))
    token = own.new_token(name)
    with own.client(name) as client:
        items = [{"feed_url": A, "guid": G1}, {"feed_url": B}]
        client.post("/subscriptions", json={"subscriptions": items})
        patch(client, G1, new_guid=derived(C))
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
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300 + 15 * CASES_FOR_AN_OPERATION,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5_000:]
    (generated,) = re.findall(r"([0-9]+) generated", done.stdout)
    assert int(generated) > len(operations()) * CASES_FOR_AN_OPERATION / 2
