"""A loss that random scripts find is reported with its own requests, whatever comes later."""

from __future__ import annotations

import json
from typing import Any

import pytest
from in_process import new_server, run

from podsync_check.checks import all_checks
from podsync_check.connection import Spent
from podsync_check.messages import Reply
from podsync_check.reference.lists import FeedList, SecondClock
from podsync_check.reference.server import Reference, Refused
from podsync_check.reporting import commands
from podsync_check.running import Outcome, Result
from podsync_check.simulated import interleavings

change = FeedList.change


def result_of(monkeypatch: pytest.MonkeyPatch, afterwards: Exception | None) -> Result:
    """Run the random scripts; the first feed that is added is lost, and `afterwards` raised."""
    server, clock = new_server()
    lost = list[str]()

    def loses_once(kept: FeedList, add: list[str], remove: list[str]) -> Any:
        mine = [url for url in add if "/world-" in url]
        if mine and not lost:
            lost.append(mine[0])
        if afterwards and mine and not mine[0].startswith(lost[0].rpartition("/")[0]):
            raise afterwards
        return change(kept, [url for url in add if url not in lost], remove)

    monkeypatch.setattr(FeedList, "change", loses_once)
    checks = [one for one in all_checks() if one.name == "random_interleavings_lose_nothing"]
    found = run(server, clock, checks).results[0]
    assert lost[0] in found.said
    return found


@pytest.mark.parametrize("afterwards", [None, Refused(500), Spent()], ids=str)
def test_a_loss_that_is_not_seen_again_is_reported_with_its_requests(
    monkeypatch: pytest.MonkeyPatch, afterwards: Exception | None
) -> None:
    found = result_of(monkeypatch, afterwards)
    assert found.outcome is Outcome.FAILED
    assert "Repeated in part, it lost nothing." in found.said
    lost = found.said.partition("world-")[2].partition(" ")[0]
    uploads = [one for one in found.exchanges if f"world-{lost}".encode() in one.request.body]
    assert uploads
    url = f"world-{lost}".encode()
    sessions = {one.session for one in found.exchanges if url not in one.request.body}
    assert len(sessions) == 1  # of the device that lacks it
    told = "\n".join(commands(found.exchanges, 10**6))
    assert "-A " in told
    assert " s: 200 " in told


def test_a_loss_that_is_seen_again_is_shown_by_its_shortest_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = Reference.answer

    def forgets(server: Reference, how: str, target: str, headers: Any, body: bytes) -> Reply:
        if b"/world-" in body and b'"add": ["' in body:
            sent = json.loads(body)
            gone = [url for url in sent["add"] if not url.endswith("/b")]
            body = json.dumps({**sent, "add": gone}).encode()
        return answer(server, how, target, headers, body)

    server, clock = new_server()
    monkeypatch.setattr(Reference, "answer", forgets)
    checks = [one for one in all_checks() if one.name == "random_interleavings_lose_nothing"]
    found = run(server, clock, checks).results[0]
    assert "Repeated" not in found.said
    script = found.said.partition(": ")[2].split("; ")
    assert len(script) <= 2, found.said
    worlds = {
        one.request.body.partition(b"/world-")[2].partition(b"/")[0] for one in found.exchanges
    }
    assert len(worlds - {b""}) == 1


def worlds_of(monkeypatch: pytest.MonkeyPatch, *, is_thorough: bool) -> tuple[int, list[float]]:
    """Return the number of worlds of one check, and the pauses in them."""
    monkeypatch.setattr(interleavings, "_USUAL", (2, float("inf")))
    monkeypatch.setattr(interleavings, "_THOROUGH", (5, float("inf")))
    server, clock = new_server()
    pauses = list[float]()
    monkeypatch.setattr(clock, "sleep", pauses.append)
    checks = [one for one in all_checks() if one.name == "random_interleavings_lose_nothing"]
    report = run(server, clock, checks, is_thorough=is_thorough)
    assert report.is_complete
    urls = {url.rpartition("/")[0] for url in server.list.feeds if "/world-" in url}
    return len(urls), pauses


def test_a_thorough_run_plays_more_worlds_and_each_pauses_for_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count, pauses = worlds_of(monkeypatch, is_thorough=False)
    assert count == 4  # two in each protocol
    assert 0 < max(pauses) <= 0.9
    assert sum(pauses) <= 15 * count
    assert worlds_of(monkeypatch, is_thorough=True)[0] == 10


@pytest.mark.parametrize("is_pausing", [True, False])
def test_an_app_that_goes_on_from_its_own_clock_loses_something_only_with_pauses(
    monkeypatch: pytest.MonkeyPatch, is_pausing: bool
) -> None:
    monkeypatch.setattr(SecondClock, "first", lambda clock, app, second: second)
    monkeypatch.setattr(interleavings, "_SHRINKING_TRIES", 0)
    server, clock = new_server()
    if not is_pausing:
        monkeypatch.setattr(clock, "sleep", lambda _: None)
    checks = [one for one in all_checks() if one.name == "random_interleavings_lose_nothing"]
    report = run(server, clock, checks, seed=5)
    expected = {Outcome.FAILED} if is_pausing else {Outcome.PASSED}
    assert {one.outcome for one in report.results} == expected
