"""One fault of a server is one cause, however many checks it fails, and is named as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from in_process import new_server, run

from podsync_check.checks import all_checks
from podsync_check.messages import Reply
from podsync_check.reference.lists import ActionLog
from podsync_check.reference.server import Asked, Reference
from podsync_check.reporting import as_junit, as_page, as_text, by_cause


def test_a_stub_is_one_cause_in_each_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ActionLog, "since", lambda *_: [])
    checks = [one for one in all_checks() if "takes_seconds" not in one.name]
    report = run(*new_server(), checks)
    found = {group[0].cause: len(group) for group in by_cause(report.results)}
    path = "GET /index.php/apps/gpoddersync/episode_action"
    assert set(found) == {
        "GET /api/2/episodes/anna.json returns no action that was uploaded.",
        f"{path} returns no action that was uploaded.",
    }
    assert min(found.values()) >= 13
    for text in (as_text(report), as_page(report)):
        assert f"1 cause, {found[f'{path} returns no action that was uploaded.']} checks: " in text
    assert as_text(report).count("Why it matters") == 2
    assert '<p class="dim">podsync-check 0' in as_page(report)
    assert as_junit(report).count("<failure") == sum(found.values())


def test_a_path_that_is_missing_is_one_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reference, "whole_list", lambda *_: Reply(404, {}, b"not here"))
    names = {"a_whole_list_can_be_replaced", "a_change_of_a_device_is_answered_emptily"}
    report = run(*new_server(), [one for one in all_checks() if one.name in names])
    [group] = by_cause(report.results)
    assert group[0].cause == "GET /subscriptions/anna/….json: The status is 404, not 200"
    assert {one.check.name for one in group} == names


def test_a_device_that_is_made_but_not_listed_is_not_said_to_be_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = Reference.device_list

    def forgets(server: Reference, asked: Asked, named: Mapping[str, str]) -> Reply:
        reply = listed(server, asked, named)
        known = [one for one in reply.json() if one["id"] != "podsync-check-new"]
        return Reply(200, {}, json.dumps(known).encode())

    monkeypatch.setattr(Reference, "device_list", forgets)
    checks = [one for one in all_checks() if one.name == "an_unknown_device_is_made"]
    [result] = run(*new_server(), checks).results
    assert result.said == "Its upload is accepted, but it is not in the list of devices."
