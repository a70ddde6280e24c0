"""Objections of a strict reader of the contract to requests, and their absence."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from podsync_check.checks.apps.objections import Hint, StrictReader
from podsync_check.watching.exchanges import MAX_READ_BYTES, WatchedExchange

DERIVED, RANDOM = "9b024349-ccf0-5f69-a609-6b82873eab3c", "5e5d964c-e942-4b1f-b5e7-55a72f9bbfb8"
URL = "https://podnews.net/rss"
FIRST, LAST = "2026-11-27T07:00:00.000001Z", "2026-11-27T07:00:00.000002Z"
ENTRY = {"feed_url": URL, "guid": DERIVED, "is_subscribed": True, "subscription_changed": FIRST}


class Talk:
    """Messages between one client and a service, one exchange each second."""

    def __init__(self) -> None:
        self.reader = StrictReader()
        self.seconds = 0.0

    def __call__(
        self,
        request: str,
        body: object = None,
        reply: object = None,
        status: int | None = 200,
        name: str = "an-app/1",
        **headers: str,
    ) -> str:
        self.seconds += 1.0
        method, _, target = request.partition(" ")
        path, _, query = target.partition("?")
        sent = {"user-agent": name, "authorization": "Bearer x"}
        exchange = WatchedExchange(1, self.seconds, method, path, query, sent)
        exchange.body += b"" if body is None else json.dumps(body).encode()
        exchange.reply += b"" if reply is None else json.dumps(reply).encode()
        exchange.status = status
        headers.setdefault("feedkeep_epoch", "a")
        exchange.reply_headers = {key.replace("_", "-"): value for key, value in headers.items()}
        if headers.get("content_encoding"):
            exchange.reply = bytearray(gzip.compress(bytes(exchange.reply)))
        self.found = self.reader.read(exchange)
        exchange.shorten()
        return " ".join(self.found)


@pytest.fixture
def talk() -> Talk:
    return Talk()


def page(*entries: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"total": 9, "page": 1, "per_page": 50, "subscriptions": list(entries), **more}


def test_since_is_the_greatest_stamp_of_a_list_page(talk: Talk) -> None:
    deleted = {**ENTRY, "deleted": LAST}
    assert talk("GET /subscriptions", reply=page(ENTRY, deleted), content_encoding="gzip") == ""
    for written in (LAST, LAST.replace("Z", "%2B0000"), LAST.replace("Z", "%2B00:00")):
        assert talk(f"GET /subscriptions?since={written}", reply=page()) == ""
    assert "C6.10" in talk(f"GET /subscriptions?since={FIRST}", reply=page())
    assert "C6.10" in talk(f"GET /subscriptions?since={LAST[:23]}Z", reply=page())  # a Date of JS
    posted = {
        "success": [{**ENTRY, "subscription_changed": "2026-11-27T07:00:00.000009Z"}],
        "failure": [],
    }
    talk("POST /subscriptions", {"subscriptions": []}, posted)
    assert "C6.10" in talk("GET /subscriptions?since=2026-11-27T07:00:00.000009Z", reply=page())
    told = talk("GET /subscriptions?since=x", reply={"code": "405", "message": "No."}, status=405)
    assert told == "It is not valid: No."


def test_pages_are_followed_and_not_counted(talk: Talk) -> None:
    talk("GET /subscriptions", reply=page(ENTRY))
    assert talk(f"GET /subscriptions?page=2&after={FIRST}&epoch=x", reply=page()) == ""
    assert "C6.8" in talk("GET /subscriptions?page=3", reply=page())
    assert talk("GET /subscriptions?page=2", reply=page()) == ""  # `previous`
    assert talk("GET /subscriptions?page=99999999999", reply=page()) == ""
    following = "http://other.example/v1/subscriptions?page=2&per_page=9"
    assert talk("GET /subscriptions", reply=page(ENTRY, next=following)) == ""
    assert talk("GET /subscriptions?per_page=9&page=2", reply=page()) == ""
    assert "C6.8" in talk("GET /subscriptions?per_page=8&page=3", reply=page())


def test_what_a_server_told_before_is_no_guess(talk: Talk) -> None:
    since = f"/subscriptions?since={LAST}"
    assert talk(f"GET {since}", reply=page(ENTRY)) == ""
    assert "C6.10" in talk(f"GET {since}", reply=page())
    poll = "/apps/gpoddersync/{}?since=7"
    for path in ("subscriptions", "episode_action"):
        assert talk(f"GET {poll.format(path)}", reply={"timestamp": 9}) == ""
        assert "in no reply" in talk(f"GET {poll.format(path)}", reply={"timestamp": 9})


def test_another_epoch_makes_a_client_ask_for_everything(talk: Talk) -> None:
    talk("GET /subscriptions", reply=page(ENTRY), feedkeep_epoch="a")
    assert talk(f"GET /subscriptions?since={FIRST}", reply=page(), feedkeep_epoch="b") == ""
    assert "C6.7" in talk(f"GET /subscriptions?since={FIRST}", reply=page(), feedkeep_epoch="b")
    assert talk("GET /subscriptions", reply=page(), feedkeep_epoch="b") == ""
    assert talk(f"GET /subscriptions?since={FIRST}", reply=page(), feedkeep_epoch="b") == ""
    assert talk(f"GET /subscriptions?since={FIRST}", status=304, feedkeep_epoch="c") == ""
    assert "C6.7" in talk(f"GET /subscriptions?since={FIRST}", reply=page(), feedkeep_epoch="c")


def test_random_guids_and_unknown_fields_are_told(talk: Talk) -> None:
    def add(**item: object) -> str:
        return talk(
            "POST /subscriptions", {"subscriptions": [item]}, {"success": [], "failure": []}
        )

    assert (
        add(feed_url=URL) == add(feed_url=URL, guid=None) == add(feed_url=URL, guid=DERIVED) == ""
    )
    assert "C5.10" in add(feed_url=URL, guid=RANDOM.upper())
    assert "C5.10" in add(feed_url="no URL", guid=RANDOM)
    assert all(isinstance(one, Hint) for one in talk.found)
    assert "POST ignores title, url" in add(url=URL, title="x")
    talk("GET /subscriptions", reply=page({**ENTRY, "guid": RANDOM}))
    assert add(feed_url=URL, guid=RANDOM) == ""  # the service has named it itself
    assert talk("POST /subscriptions", {"subscriptions": ["x", 1]}) == ""
    assert (
        talk("POST /subscriptions", ["x"])
        == talk("POST /subscriptions", {"subscriptions": 1})
        == ""
    )
    assert "C5.18" in talk(f"PATCH /subscriptions/{DERIVED}", {})
    assert "PATCH ignores feed_url" in talk(f"PATCH /subscriptions/{DERIVED}", {"feed_url": URL})


def test_what_was_refused_or_is_gone_is_not_sent_again(talk: Talk) -> None:
    refused = {"success": [], "failure": [{"feed_url": "x", "message": "No."}]}
    body = {"subscriptions": [{"feed_url": "x"}]}
    assert talk("POST /subscriptions", body, refused) == ""
    assert "C5.3" in talk("POST /subscriptions", body, refused)
    for method in ("DELETE", "PATCH"):
        assert talk(f"{method} /subscriptions/{DERIVED}", {"is_subscribed": True}, status=404) == ""
        again = talk(f"{method} /subscriptions/{DERIVED}", {"is_subscribed": True}, status=404)
        assert "C8.4" in again
    assert talk(f"GET /subscriptions/{DERIVED}", status=410) == ""
    assert talk(f"GET /subscriptions/{DERIVED}", status=410) == ""


def test_a_client_waits_for_as_long_as_it_was_told(talk: Talk) -> None:
    assert talk("GET /subscriptions", status=503, retry_after="3") == ""
    assert "2.0 seconds before" in talk("GET /subscriptions", status=None)
    assert talk("GET /subscriptions", name="other-app/1", reply=page()) == ""
    assert talk("POST /subscriptions", {"subscriptions": []}) == ""
    assert talk("GET /subscriptions", reply=page()) == ""


def test_a_client_that_is_not_let_in_stops(talk: Talk) -> None:
    assert talk("GET /subscriptions", status=401) == ""
    assert "401 before" in talk("GET /subscriptions", status=None)
    assert "401 before" in talk("GET /subscriptions", reply=page())
    assert talk("GET /subscriptions", reply=page()) == ""


def test_credentials_in_addresses_and_clients_without_a_name_are_told(talk: Talk) -> None:
    assert "token in an address" in talk("GET /subscriptions?token=fk_x", reply=page())
    for name in ("", "python-requests/2.32", "Go-http-client/1.1", "OpenAPI-Generator/1.0.0/go"):
        assert "does not name itself" in talk("GET /livez", name=name)
        assert talk("GET /livez", name=name) == ""  # once


def test_what_cannot_be_read_whole_is_passed_over(talk: Talk) -> None:
    exchange = WatchedExchange(1, 1.0, "POST", "/subscriptions", "", {})
    exchange.body += b"[" * MAX_READ_BYTES
    assert talk.reader.read(exchange) == []
    exchange.shorten()
    assert len(exchange.body) < 5_000
    assert exchange.target == "/subscriptions"


def test_what_it_remembers_is_bounded(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podsync_check.checks.apps.objections._MAX_KNOWN", 3)
    for number in range(10):
        talk(
            "GET /subscriptions", reply=page({**ENTRY, "guid": str(number)}), name=f"app-{number}/1"
        )
    reader = talk.reader
    assert max(len(reader._clients), len(reader._guids), len(reader._ends)) <= 5
