"""Contract, section 9: what changed in a list, taking it back, and the list as it was."""

import httpx
import pytest
from asking import delete, entries, get, patch, post, status, told
from feedkeep_process import FeedkeepProcess, from_elsewhere
from names import G1, G2, NOT_FOUND, UNKNOWN, A, B, C, D, derived

from feedkeep.model.stamps import read_stamp, write_stamp

PASSWORD = "correct horse battery"
LATER = "2999-01-01T00:00:00Z"
INVALID = "The input could not be validated."


def history(api, **query):
    return told(api.get("/history", params=query))


def newest(api):
    return history(api, per_page=1)["changes"][0]


def undo(api, change, **body):
    return told(api.post(f"/history/{change['stamp']}/undo", json=body))


def restore(api, at, **body):
    return told(api.post("/restore", json={"at": at, **body}))


def preview(api, at, **query):
    return told(api.get("/restore", params={"at": at, **query}))


def subscribed(api):
    """Return the feeds that an account is subscribed to: their URLs by their guids."""
    listed = entries(api, per_page=1_000)
    own = [one for one in listed if one["is_subscribed"] and "new_guid" not in one]
    return {one["guid"]: one["feed_url"] for one in own}


# C9.4
def test_what_changed_is_listed_newest_first_with_who_did_it_and_when(api, add):
    add(A)
    reply = api.patch(f"/subscriptions/{derived(A)}", json={"new_feed_url": B})
    last, first = history(api)["changes"]
    assert first["feeds"] == [{"what": "added", "guid": derived(A), "feed_url": A}]
    moved = {"what": "moved", "guid": derived(A), "feed_url": B, "old": A}
    assert (last["feeds"], last["feeds_count"]) == ([moved], 1)
    assert last["request"] == reply.headers["X-Request-Id"]
    assert last["by"] == {"kind": "token", "name": "test", "device": "", "token": 1}
    assert last["at"] == write_stamp(last["stamp"])
    assert last["stamp"] > first["stamp"]
    assert last["at"] <= reply.json()["subscription_changed"]


def test_an_app_is_named_with_its_device(feedkeep):
    name = feedkeep.new_account(PASSWORD)
    with httpx.Client(
        base_url=feedkeep.base_url,
        headers={"User-Agent": "AntennaPod/3.5.0"} | from_elsewhere(),
        auth=(name, PASSWORD),
    ) as app:
        assert app.post(f"/api/2/auth/{name}/login.json").is_success
        path = f"/api/2/subscriptions/{name}/phone.json"
        assert app.post(path, json={"add": [A], "remove": []}, auth=None).is_success
        by = newest(app)["by"]
        assert by.pop("token") > 0
        assert by == {"kind": "session", "name": "AntennaPod/3.5.0", "device": "phone"}


# C9.8, C9.9, C9.19, C9.20
def test_a_change_is_undone_and_that_can_be_undone_as_well(api, add):
    add(A)
    patch(api, derived(A), is_subscribed=False)
    since = max(one["subscription_changed"] for one in entries(api))
    done = undo(api, newest(api))
    assert done == {"stamp": newest(api)["stamp"], "changed": 1, "left": 0}
    assert newest(api)["feeds"][0]["what"] == "subscribed"
    assert [one["is_subscribed"] for one in entries(api, since=since)] == [True]
    assert undo(api, newest(api))["changed"] == 1
    assert subscribed(api) == {}
    assert len(history(api)["changes"]) == 4
    off = newest(api)
    assert told(api.post(f"/v1/history/{off['stamp']}/undo"))["changed"] == 1
    assert subscribed(api) == {derived(A): A}
    before = entries(api)
    assert undo(api, off) == {"stamp": None, "changed": 0, "left": 0}  # as it was already
    assert entries(api) == before


# C9.5, C9.6
def test_one_request_is_one_change_of_which_100_feeds_are_listed(api, add):
    urls = [f"https://{number:03}.example/feed" for number in range(120)]
    add(*urls)
    (change,) = history(api)["changes"]
    assert [feed["feed_url"] for feed in change["feeds"]] == urls[:100]
    assert change["feeds_count"] == 120
    assert [undo(api, change)["changed"] for _ in range(2)] == [120, 0]
    assert subscribed(api) == {}
    assert undo(api, newest(api))["changed"] == 120
    assert subscribed(api) == {derived(url): url for url in urls}


# C7.5, C9.9, C9.10
def test_a_feed_alone_is_brought_back_by_its_guid_and_what_is_not_there_is_404(api, add):
    add(A, B)
    adding = newest(api)
    assert undo(api, adding, guids=[derived(B).upper()])["changed"] == 1
    assert subscribed(api) == {derived(A): A}
    stamp = adding["stamp"]
    for guids in ([UNKNOWN], []):
        reply = api.post(f"/history/{stamp}/undo", json={"guids": guids})
        assert told(reply, 404) == NOT_FOUND
    for number in (1, stamp - 1, stamp + 1, 2**53 - 1):
        assert told(api.post(f"/history/{number}/undo"), 404) == NOT_FOUND


# C3.8, C9.9
@pytest.mark.parametrize("is_renamed_first", [True, False])
def test_a_feed_is_named_by_each_guid_that_leads_to_it(api, add, is_renamed_first):
    add((A, G1))
    if is_renamed_first:
        patch(api, G1, new_guid=G2)
    patch(api, G1, is_subscribed=False)
    unsubscribing = newest(api)
    if not is_renamed_first:
        patch(api, G1, new_guid=G2)
    for guid in (G1, G2):
        done = undo(api, unsubscribing, guids=[guid], changed_since="overwrite")
        assert done["changed"] <= 1
    assert A in subscribed(api).values()


# C7.1, C7.8, C9.11
def test_feeds_that_were_changed_again_are_a_conflict_until_the_client_chooses(api, add):
    add((A, G1), (B, G2))
    adding = newest(api)
    patch(api, G1, is_subscribed=False)
    since = newest(api)["stamp"]
    before = entries(api)
    for body in ({}, {"changed_since": "ask"}):
        problem = told(api.post(f"/history/{adding['stamp']}/undo", json=body), 409)
        message = problem.pop("message")
        assert problem == {"code": "409", "changed_since": [since]}
        assert message.startswith("It cannot be undone as it is. 1 of the feeds")
    assert entries(api) == before

    left = undo(api, adding, changed_since="leave")
    assert (left["changed"], left["left"]) == (1, 1)
    assert get(api, G1)["is_subscribed"] is False
    assert status(api, G2) == 410

    undo(api, newest(api))
    taken_back = undo(api, adding, changed_since="overwrite")
    assert (taken_back["changed"], taken_back["left"]) == (2, 0)
    assert [status(api, guid) for guid in (G1, G2)] == [410, 410]


# C9.12, C9.18
@pytest.mark.parametrize("is_restored", [True, False])
def test_feeds_that_were_merged_are_two_again_each_as_it_was(api, add, is_restored):
    add((A, G1), (B, G2))
    patch(api, G2, is_subscribed=False)
    at = newest(api)["at"]
    patch(api, G1, new_guid=G2, new_feed_url=C)
    assert subscribed(api) == {G2: C}
    merging = newest(api)
    assert [feed["what"] for feed in merging["feeds"]].count("merged") == 1
    restore(api, at) if is_restored else undo(api, merging)
    assert [get(api, guid)["is_subscribed"] for guid in (G1, G2)] == [True, False]
    assert [get(api, guid)["feed_url"] for guid in (G1, G2)] == [A, B]
    assert [get(api, derived(url))["new_guid"] for url in (A, B)] == [G1, G2]


# C9.14, C9.15, C9.20
@pytest.mark.parametrize("keep_added", [True, False])
def test_a_preview_says_what_restoring_then_does(api, add, keep_added):
    add((A, G1), (B, G2), C, D)
    at = newest(api)["at"]
    for guid in subscribed(api):  # as an app does that was reset: it syncs its empty list
        patch(api, guid, is_subscribed=False)
    patch(api, G1, new_feed_url="https://login.example/page")
    delete(api, derived(C))
    add("https://new.example")
    query = {"keep_added": str(keep_added).lower()}
    before = preview(api, at, **query)
    assert before["at"] == at
    kinds = ("come_back", "go", "change")
    assert [before[f"{kind}_count"] for kind in kinds] == [4, 0 if keep_added else 1, 1]
    done = restore(api, at, keep_added=keep_added)
    feeds = [feed for kind in kinds for feed in before[kind]]
    assert sorted(map(str, feeds)) == sorted(map(str, newest(api)["feeds"]))
    assert done["stamp"] == newest(api)["stamp"]
    assert done["changed"] == len({feed["guid"] for feed in feeds})
    added = {"https://new.example"} if keep_added else set()
    there = {G1: A, G2: B} | {derived(url): url for url in {C, D} | added}
    assert subscribed(api) == there
    after = preview(api, at, **query)
    assert [after[kind] for kind in kinds] == [[], [], []]
    assert restore(api, at, keep_added=keep_added) == {"stamp": None, "changed": 0, "left": 0}


# C1.21, C9.16, C9.17
def test_what_was_added_stays_unless_one_says_otherwise(api, add):
    add(A)
    at = newest(api)["at"]
    add(B)
    assert preview(api, at)["go"] == []
    for omitted in ({}, {"keep_added": None}):
        assert restore(api, at, **omitted)["stamp"] is None
        assert subscribed(api) == {derived(A): A, derived(B): B}
    assert restore(api, at, keep_added=False)["changed"] == 1
    assert subscribed(api) == {derived(A): A}
    add(B)
    assert undo(api, newest(api), guids=None, changed_since=None)["changed"] == 1
    assert subscribed(api) == {derived(A): A}


# C9.14
def test_a_long_preview_shows_the_first_1000_feeds_and_how_many_there_are(api, add):
    add(*(f"https://{number:04}.example" for number in range(1_100)))
    at = write_stamp(newest(api)["stamp"] - 1)
    shown = preview(api, at, keep_added="false")
    assert (len(shown["go"]), shown["go_count"]) == (1_000, 1_100)


# C9.15, C9.19
def test_a_restored_list_is_as_before_once_that_is_undone(api, add):
    add((A, G1), B)
    at = newest(api)["at"]
    patch(api, G1, new_guid=G2)
    delete(api, derived(B))
    before = subscribed(api)
    restore(api, at)
    assert subscribed(api) == {G1: A, derived(B): B}
    undo(api, newest(api))
    assert subscribed(api) == before == {G2: A}


# C9.7
def test_pages_of_a_history_have_no_hole_while_others_write(api, add):
    for number in range(12):
        add(f"https://{number}.example")
    there = [change["stamp"] for change in history(api)["changes"]]
    found, url = [], "/history?per_page=5"
    while url:
        page = told(api.get(url))
        found += [change["stamp"] for change in page["changes"]]
        add(f"https://other.example/{len(found)}")
        patch(api, derived("https://0.example"), is_subscribed=len(found) % 2 == 0)
        url = page.get("next")
        assert url is None or url.startswith(str(api.base_url))
    assert found == there
    assert len(there) == 12


# C9.10
def test_a_history_of_another_account_is_never_seen(api, add, feedkeep):
    add(A)
    change = newest(api)
    with feedkeep.client(feedkeep.new_account()) as other:
        assert history(other)["changes"] == []
        for body in ({}, {"changed_since": "overwrite"}, {"guids": [derived(A)]}):
            assert told(other.post(f"/history/{change['stamp']}/undo", json=body), 404) == NOT_FOUND
        nothing = preview(other, change["at"])
        assert (nothing["come_back"], nothing["change"]) == ([], [])
    assert subscribed(api) == {derived(A): A}


# C9.2
def test_a_moment_from_which_nothing_is_kept_is_refused(api, add):
    add(A)
    known_from = history(api)["known_from"]
    assert read_stamp(known_from) < newest(api)["stamp"]
    before = write_stamp(read_stamp(known_from) - 1)
    for at in ("1970-01-01T00:00:00Z", "0000-01-01T00:00:00Z", before):
        for reply in (
            api.get("/restore", params={"at": at}),
            api.post("/restore", json={"at": at}),
        ):
            message = told(reply, 405)["message"]
            assert message.startswith(f"{INVALID} The history of this list does")
    assert preview(api, LATER)["change_count"] == 0


def test_what_is_not_valid_is_405(api):
    for path in (
        "/history?before=0",
        "/history?before=",
        "/history?before=x",
        "/history?before=9007199254740992",
        "/history?before=1&before=2",
        "/history?per_page=0",
        "/history?per_page=1001",
        "/restore",
        "/restore?at=",
        "/restore?at=yesterday",
        f"/restore?at={LATER}&keep_added=yes",
        f"/restore?at={LATER}&keep_added=",
    ):
        assert told(api.get(path), 405)["message"].startswith(f"{INVALID} "), path
    for path, body in (
        ("/history/x/undo", {}),
        ("/history/0/undo", {}),
        ("/history/1/undo", []),
        ("/history/1/undo", {"guids": ["x"]}),
        ("/history/1/undo", {"guids": [G1] * 10_001}),
        ("/history/1/undo", {"changed_since": "sometimes"}),
        ("/restore", {}),
        ("/restore", {"at": None}),
        ("/restore", {"at": "yesterday"}),
        ("/restore", {"at": LATER, "keep_added": "true"}),
    ):
        assert told(api.post(path, json=body), 405)["message"].startswith(f"{INVALID} "), path
    for path in ("/history/1/undo", "/restore"):
        assert api.post(path, content=b" " * (4 * 1024 * 1024 + 1)).status_code == 413
        assert api.post(path, content=b"{").status_code == 405
    assert api.post("/restore").status_code == 405


# C9.3
def test_without_a_history_nothing_is_kept_or_shown_and_that_is_said(tmp_path):
    with FeedkeepProcess(tmp_path) as process:
        name = process.new_account()
        with process.client(name) as api:
            post(api, A)
            patch(api, derived(A), is_subscribed=False)
            assert len(history(api)["changes"]) == 2
    process.environment["FEEDKEEP_HISTORY_DAYS"] = "0"
    with process, process.client(name) as api:
        assert history(api)["changes"] == []
        post(api, A)
        stamp = entries(api)[0]["subscription_changed"]
        patch(api, derived(A), is_subscribed=False)
        body = history(api)
        assert body["changes"] == []
        assert body["known_from"] > stamp
        for reply in (
            api.post(f"/history/{read_stamp(stamp)}/undo"),
            api.get("/restore", params={"at": stamp}),
            api.post("/restore", json={"at": stamp}),
        ):
            assert "No history is kept here" in told(reply, 405)["message"]
        assert subscribed(api) == {}


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("unsubscribed", {"is_subscribed": False}),
        ("moved", {"new_feed_url": C}),
        ("renamed", {"new_guid": UNKNOWN}),
        ("merged", {"new_guid": G2}),
    ],
)
def test_each_feed_that_a_change_lists_is_brought_back_by_its_guid(api, add, what, change):
    add((A, G1), (B, G2))
    before = subscribed(api)
    patch(api, G1, **change)
    listed = newest(api)
    assert what in [feed["what"] for feed in listed["feeds"]]
    undo(api, listed, guids=[feed["guid"] for feed in listed["feeds"] if feed["what"] == what])
    assert subscribed(api) == before


def test_what_leads_to_a_feed_or_was_merged_into_it_is_taken_back_by_its_guid(api, add):
    add((A, G1), (B, G2))
    add((C, G1))
    (led,) = newest(api)["feeds"]
    assert led == {"what": "led", "guid": G1, "feed_url": A}
    undo(api, newest(api), guids=[G1])
    assert status(api, derived(C)) == 404
    add((A, G2))
    (merged,) = newest(api)["feeds"]
    assert merged == {"what": "merged", "guid": G2, "feed_url": B, "old": A}
    undo(api, newest(api), guids=[G2])
    assert subscribed(api) == {G1: A, G2: B}
