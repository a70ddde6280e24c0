"""Contract, section 6: GET /subscriptions."""

from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from asking import delete, entries, get, patch, told
from names import G1, G2, G3, UNKNOWN, A, B, C, derived

FIELDS = {"total", "page", "per_page", "subscriptions"}


def follow(api, following):
    """Return all entries from a URL to the end of its `next` links."""
    found = []
    while following:
        body = api.get(following).json()
        found += body["subscriptions"]
        following = body.get("next")
    return found


# C3.10, C4.5, C6.1
def test_entries_come_by_their_last_change_and_pointers_before_what_they_lead_to(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, new_guid=G3)
    assert [entry["guid"] for entry in entries(api)] == [G2, G1, G3]
    patch(api, G2, is_subscribed=False)
    assert [entry["guid"] for entry in entries(api)] == [G1, G3, G2]
    patch(api, G2, new_feed_url=C)  # its pointer was never announced
    assert [entry["guid"] for entry in entries(api)] == [G1, G3, G2]


# C4.3, C6.1
def test_a_deleted_subscription_is_listed_with_its_stamp_and_as_not_subscribed(api, add):
    changed = add((A, G1))["subscription_changed"]
    patch(api, G1, new_guid=G2)
    delete(api, G2)
    pointer, tombstone = entries(api)
    shown = {"feed_url": A, "guid": G2, "is_subscribed": False, "subscription_changed": changed}
    stamps = {name: tombstone[name] for name in ("deleted", "guid_changed")}
    assert tombstone == shown | stamps
    assert tombstone["deleted"] > changed
    assert set(pointer) == {"feed_url", "guid", "is_subscribed", "new_guid", "guid_changed"}
    assert (pointer["guid"], pointer["new_guid"], pointer["is_subscribed"]) == (G1, G2, False)


# C6.1
def test_since_gives_only_what_changed_after_it(api, add):
    first = add(A)["subscription_changed"]
    second = add(B)["subscription_changed"]
    assert [entry["feed_url"] for entry in entries(api, since=first)] == [B]
    assert entries(api, since=second) == []
    assert told(api.get("/subscriptions", params={"since": first}))["total"] == 1


# C6.3
def test_since_may_have_any_offset_and_digits_past_the_sixth_are_cut(api, add):
    stamp = datetime.fromisoformat(add(A)["subscription_changed"])
    for write in (
        lambda moment: moment.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat(),
        lambda moment: moment.astimezone(timezone(-timedelta(hours=12))).isoformat(),
        lambda moment: moment.strftime("%Y-%m-%dt%H:%M:%S.%fz"),
        lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S.%fZ"),
        lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%S.%f999Z"),
    ):
        assert len(entries(api, since=write(stamp - timedelta(microseconds=1)))) == 1
        assert entries(api, since=write(stamp)) == []
    now = (datetime.now(UTC) - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%S")
    for offset in ("+00:00", quote("+00:00")):  # also a plus sign that was not encoded
        assert api.get(f"/subscriptions?since={now}{offset}").json()["total"] == 1


# C6.3
def test_since_may_be_any_moment_that_rfc_3339_can_write(api, add):
    add(A, B)
    for since in (
        "9999-12-31T23:59:59-23:59",
        "9999-12-31T23:59:59.999999-12:00",
        "9999-12-31T23:59:60Z",
        "0000-02-29T00:00:00+23:59",
        "0000-01-01T00:00:00+23:59",
        "0001-01-01T00:00:00+23:59",
        "1969-12-31T23:59:59.999999Z",
        "2016-12-31T23:59:60Z",
    ):
        page = told(api.get("/subscriptions", params={"since": since, "page": 2, "per_page": 1}))
        assert told(api.get(page["previous"]))["total"] == page["total"] == 2


INVALID = {
    "since": (
        "", "x", "5", "2026-01-01", "2026-01-01T00:00:00", "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z", "2026-01-01T00:00:00%2B24:00", "2026-01-01T00:00:00%2B00:60",
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Z&since=2026-01-01T00:00:00Z",
        "%EF%BC%92026-01-01T00:00:00Z",
    ),
    "page": ("", "0", "-1", "1.0", "x", "1000000001", "9" * 5_000, "1&page=2", "%D9%A1"),
    "per_page": ("", "0", "1001", "x"),
    "after": ("x",),
}  # fmt: skip


# C6.2
@pytest.mark.parametrize("name", INVALID)
def test_a_value_that_is_not_valid_is_405(api, name):
    for query in (f"{name}={value}" for value in INVALID[name]):
        reply = api.get(f"/subscriptions?{query}")
        assert name in told(reply, 405)["message"], query
        assert reply.headers["Allow"] == "GET, HEAD, POST"
    if name == "page":
        assert name in told(api.get("/subscriptions?page"), 405)["message"]


# C6.2
def test_pages_are_empty_past_the_end_and_values_at_the_ends_of_their_ranges_are_taken(api, add):
    empty = {"total": 0, "page": 1, "per_page": 50, "subscriptions": []}
    assert told(api.get("/subscriptions")) == empty
    for query in ("page=1000000000", "per_page=1", "per_page=1000", "other=5"):
        assert api.get(f"/subscriptions?{query}").status_code == 200
    add(A)
    body = told(api.get("/subscriptions?page=7&per_page=3"))
    assert (body["total"], body["page"], body["subscriptions"]) == (1, 7, [])
    assert "next" not in body


def test_pages_have_numbers_and_links_to_their_neighbours(api, add, feedkeep):
    stamps = [add(f"https://{number}.example")["subscription_changed"] for number in range(5)]
    since = stamps[0]
    first = told(api.get("/subscriptions", params={"since": since, "per_page": 2}))
    assert set(first) == FIELDS | {"next"}
    assert (first["total"], first["page"], first["per_page"]) == (4, 1, 2)
    second = told(api.get(first["next"]))
    assert set(second) == FIELDS | {"previous"}
    assert (second["total"], second["page"], second["per_page"]) == (4, 2, 2)
    assert told(api.get(second["previous"])) == first
    shown = first["subscriptions"] + second["subscriptions"]
    assert [entry["subscription_changed"] for entry in shown] == stamps[1:]
    for prefix in ("", "/v1"):
        body = told(api.get(f"{prefix}/subscriptions?per_page=1&page=2"))
        for name in ("next", "previous"):
            assert body[name].startswith(f"{feedkeep.base_url}{prefix}/subscriptions?")
            assert parse_qs(urlsplit(body[name]).query)["per_page"] == ["1"]


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
def test_following_next_skips_nothing_and_shows_what_changes_meanwhile_again(api, add):
    urls = [f"https://{number}.example" for number in range(12)]
    add(*urls)
    assert [entry["feed_url"] for entry in follow(api, "/subscriptions?per_page=5")] == urls
    body = told(api.get("/subscriptions?per_page=3"))
    seen = body["subscriptions"]
    changes = iter(urls[:3])
    while "next" in body:
        if url := next(changes, None):  # what was shown already changes, and moves to the end
            patch(api, derived(url), is_subscribed=False)
        body = told(api.get(body["next"]))
        seen += body["subscriptions"]
    assert {entry["feed_url"] for entry in seen} == set(urls)
    assert [entry["feed_url"] for entry in seen if not entry["is_subscribed"]] == urls[:3]


# C6.10, C8.5
def test_a_device_that_was_away_follows_from_its_last_stamp_to_exactly_the_list(api, add):
    add((A, G1), (B, G2), (C, G3))
    copy = {entry["guid"]: entry for entry in follow(api, "/subscriptions?per_page=2")}
    stamps = ("subscription_changed", "guid_changed", "deleted")
    since = max(entry[name] for entry in copy.values() for name in stamps if name in entry)
    patch(api, G1, new_guid=UNKNOWN)
    patch(api, UNKNOWN, new_guid=G2)
    delete(api, G3)
    add("https://d.example")
    news = follow(api, f"/subscriptions?per_page=2&since={since}")
    copy |= {entry["guid"]: entry for entry in news}

    def target(guid):
        return target(copy[guid]["new_guid"]) if "new_guid" in copy[guid] else guid

    assert {target(guid) for guid in (G1, G2, UNKNOWN)} == {G2}
    subscribed = {
        guid: entry["feed_url"]
        for guid, entry in copy.items()
        if entry["is_subscribed"] and target(guid) == guid
    }
    assert subscribed == {G2: A, derived("https://d.example"): "https://d.example"}
    assert get(api, G1)["new_guid"] == G2
