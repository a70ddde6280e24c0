"""Contract, section 6: GET /subscriptions."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from names import G1, G2, G3, A, B, C, delete, derived, entries, get, patch

FIELDS = {"total", "page", "per_page", "subscriptions"}


def follow(api: httpx.Client, url: str) -> list[dict[str, Any]]:
    """Return all entries from `url` to the end of its `next` links."""
    found: list[dict[str, Any]] = []
    following: str | None = url
    while following:
        body = api.get(following).json()
        found += body["subscriptions"]
        following = body.get("next")
    return found


# C6.2
def test_an_empty_list_is_a_page_with_nothing_on_it(api):
    expected = {"total": 0, "page": 1, "per_page": 50, "subscriptions": []}
    assert api.get("/subscriptions").json() == expected


# C3.10, C4.5, C6.1
def test_entries_come_by_their_last_change_and_pointers_before_what_they_lead_to(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, new_guid=G3)
    assert [entry["guid"] for entry in entries(api)] == [G2, G1, G3]
    patch(api, G2, is_subscribed=False)
    assert [entry["guid"] for entry in entries(api)] == [G1, G3, G2]


# C3.10, C6.1
def test_pointers_that_were_never_announced_are_in_no_list(api, add):
    add((A, G1))
    patch(api, G1, new_feed_url=B)
    assert [entry["guid"] for entry in entries(api)] == [G1]


# C4.3, C6.1
def test_a_deleted_subscription_is_listed_with_its_stamp_and_as_not_subscribed(api, add):
    changed = add(A)["subscription_changed"]
    delete(api, derived(A))
    (entry,) = entries(api)
    assert set(entry) == {
        "feed_url",
        "guid",
        "is_subscribed",
        "subscription_changed",
        "deleted",
    }
    assert entry["is_subscribed"] is False
    assert entry["subscription_changed"] == changed
    assert entry["deleted"] > changed


def test_an_announced_pointer_to_a_deleted_subscription_stays_listed(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    delete(api, G2)
    pointer, tombstone = entries(api)
    assert set(pointer) == {"feed_url", "guid", "is_subscribed", "new_guid", "guid_changed"}
    assert (pointer["guid"], pointer["new_guid"], pointer["is_subscribed"]) == (G1, G2, False)
    assert tombstone["guid"] == G2


# C6.1
def test_since_gives_only_what_changed_after_it(api, add):
    first = add(A)["subscription_changed"]
    second = add(B)["subscription_changed"]
    assert [entry["feed_url"] for entry in entries(api, since=first)] == [B]
    assert entries(api, since=second) == []
    assert api.get("/subscriptions", params={"since": first}).json()["total"] == 1


# C6.3
@pytest.mark.parametrize(
    "write",
    [
        lambda moment: moment.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat(),
        lambda moment: moment.astimezone(timezone(-timedelta(hours=12))).isoformat(),
        lambda moment: moment.strftime("%Y-%m-%dt%H:%M:%S.%fz"),
        lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S.%fZ"),
        lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%S.%f999Z"),
    ],
)
def test_since_may_have_any_offset_and_digits_past_the_sixth_are_cut(api, add, write):
    stamp = datetime.fromisoformat(add(A)["subscription_changed"])
    assert len(entries(api, since=write(stamp - timedelta(microseconds=1)))) == 1
    assert entries(api, since=write(stamp)) == []


def test_a_plus_sign_in_since_that_was_not_encoded_is_understood(api, add):
    add(A)
    now = (datetime.now(UTC) - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%S")
    assert api.get(f"/subscriptions?since={now}+00:00").json()["total"] == 1
    assert api.get(f"/subscriptions?since={now}{quote('+00:00')}").json()["total"] == 1


# C6.3
@pytest.mark.parametrize(
    ("since", "total"),
    [
        ("9999-12-31T23:59:59-23:59", 1),
        ("9999-12-31T23:59:60Z", 1),
        ("0000-02-29T00:00:00+23:59", 1),
        ("0001-01-01T00:00:00+23:59", 1),
        ("1969-12-31T23:59:59.999999Z", 1),
        ("2016-12-31T23:59:60Z", 1),
    ],
)
def test_since_may_be_any_moment_that_rfc_3339_can_write(api, add, since, total):
    add(A)
    assert api.get("/subscriptions", params={"since": since}).json()["total"] == total


@pytest.mark.parametrize("since", ["0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_links_can_be_written_for_any_moment(api, add, since):
    add(A, B)
    body = api.get("/subscriptions", params={"since": since, "page": 2, "per_page": 1}).json()
    previous = api.get(body["previous"])
    assert previous.json()["total"] == body["total"]


# C6.2
@pytest.mark.parametrize(
    "query",
    [
        "since=",
        "since=x",
        "since=5",
        "since=2026-01-01",
        "since=2026-01-01T00:00:00",
        "since=2026-02-29T00:00:00Z",
        "since=2026-13-01T00:00:00Z",
        "since=2026-01-01T24:00:00Z",
        "since=2026-01-01T00:60:00Z",
        "since=2026-01-01T00:00:61Z",
        "since=2026-01-01T00:00:00%2B24:00",
        "since=2026-01-01T00:00:00%2B00:60",
        "since=2026-01-01T00:00:00.Z",
        "since=2026-01-01T00:00:00Z&since=2026-01-01T00:00:00Z",
        "since=%EF%BC%92026-01-01T00:00:00Z",
        "page=",
        "page",
        "page=0",
        "page=-1",
        "page=1.0",
        "page=x",
        "page=1000000001",
        "page=" + "9" * 5_000,
        "page=1&page=2",
        "page=%D9%A1",
        "per_page=",
        "per_page=0",
        "per_page=1001",
        "per_page=x",
        "after=x",
    ],
)
def test_a_value_that_is_not_valid_is_405(api, query):
    reply = api.get(f"/subscriptions?{query}")
    assert reply.status_code == 405
    assert reply.headers["Allow"] == "GET, HEAD, POST"
    assert query.partition("=")[0] in reply.json()["message"]


# C6.2
@pytest.mark.parametrize("query", ["page=1000000000", "per_page=1", "per_page=1000", "other=5"])
def test_values_at_the_ends_of_their_ranges_are_taken(api, query):
    assert api.get(f"/subscriptions?{query}").status_code == 200


def test_pages_have_numbers_and_links_to_their_neighbours(api, add):
    stamps = [add(f"https://{number}.example")["subscription_changed"] for number in range(5)]
    since = stamps[0]
    first = api.get("/subscriptions", params={"since": since, "per_page": 2}).json()
    assert set(first) == FIELDS | {"next"}
    assert (first["total"], first["page"], first["per_page"]) == (4, 1, 2)
    second = api.get(first["next"]).json()
    assert set(second) == FIELDS | {"previous"}
    assert (second["total"], second["page"], second["per_page"]) == (4, 2, 2)
    assert api.get(second["previous"]).json() == first
    shown = first["subscriptions"] + second["subscriptions"]
    assert [entry["subscription_changed"] for entry in shown] == stamps[1:]


def test_a_page_past_the_end_is_empty(api, add):
    add(A)
    body = api.get("/subscriptions?page=7&per_page=3").json()
    assert (body["total"], body["page"], body["subscriptions"]) == (1, 7, [])
    assert "next" not in body


def test_links_are_absolute_and_keep_the_prefix(api, add, feedkeep):
    add(A, B, C)
    for prefix in ("", "/v1"):
        body = api.get(f"{prefix}/subscriptions?per_page=1&page=2").json()
        for name in ("next", "previous"):
            assert body[name].startswith(f"{feedkeep.base_url}{prefix}/subscriptions?")
            assert parse_qs(urlsplit(body[name]).query)["per_page"] == ["1"]


def test_following_next_gives_every_entry_once_when_no_client_writes(api, add):
    urls = [f"https://{number}.example" for number in range(23)]
    add(*urls)
    assert [entry["feed_url"] for entry in follow(api, "/subscriptions?per_page=5")] == urls


# C6.4, C6.8
def test_every_reply_to_a_list_names_its_epoch_and_next_links_keep_it(api, add, feedkeep):
    stamp = add(A, B)["success"][0]["subscription_changed"]
    first = api.get("/subscriptions?per_page=1")
    epoch = first.headers["Feedkeep-Epoch"]
    known = {"If-None-Match": first.headers["ETag"]}
    for reply, status in (
        (api.get("/v1/subscriptions", params={"since": stamp}), 200),
        (api.head("/subscriptions"), 200),
        (api.get("/subscriptions?per_page=1", headers=known), 304),
    ):
        assert (reply.status_code, reply.headers["Feedkeep-Epoch"]) == (status, epoch)
    following = parse_qs(urlsplit(first.json()["next"]).query)
    assert (following["after"], following["epoch"]) == ([stamp], [epoch])
    with feedkeep.client(feedkeep.new_account()) as other:
        assert other.get("/subscriptions").headers["Feedkeep-Epoch"] != epoch


# C6.8
def test_following_next_while_others_write_skips_nothing_and_shows_changes_again(api, add):
    urls = [f"https://{number}.example" for number in range(12)]
    add(*urls)
    body = api.get("/subscriptions?per_page=3").json()
    seen = body["subscriptions"]
    changes = iter(urls[:3])
    while "next" in body:
        if url := next(changes, None):  # what was shown already changes, and moves to the end
            patch(api, derived(url), is_subscribed=False)
        body = api.get(body["next"]).json()
        seen += body["subscriptions"]
    assert {entry["feed_url"] for entry in seen} == set(urls)
    again = [entry["feed_url"] for entry in seen if not entry["is_subscribed"]]
    assert again == urls[:3]


# C6.10, C8.5
def test_a_device_that_was_away_follows_from_its_last_stamp_to_exactly_the_list(api, add):
    add((A, G1), (B, G2), (C, G3))
    copy = {entry["guid"]: entry for entry in follow(api, "/subscriptions?per_page=2")}
    since = max(
        entry[name]
        for entry in copy.values()
        for name in ("subscription_changed", "guid_changed", "deleted")
        if name in entry
    )
    patch(api, G1, new_guid=UNSEEN)
    patch(api, UNSEEN, new_guid=G2)
    delete(api, G3)
    add("https://d.example")
    news = follow(api, f"/subscriptions?per_page=2&since={since}")
    copy |= {entry["guid"]: entry for entry in news}

    def target(guid):
        return target(copy[guid]["new_guid"]) if "new_guid" in copy[guid] else guid

    assert {target(guid) for guid in (G1, G2, UNSEEN)} == {G2}
    subscribed = {g: e["feed_url"] for g, e in copy.items() if e["is_subscribed"]}
    subscribed = {g: url for g, url in subscribed.items() if target(g) == g}
    assert subscribed == {G2: A, derived("https://d.example"): "https://d.example"}
    assert get(api, G1)["new_guid"] == G2


UNSEEN = "00000000-0000-4000-8000-00000000000f"
