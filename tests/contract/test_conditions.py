"""Contract, section 5: changes only of what a client has seen (If-Match)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import entries, get, patch, told
from names import G1, G2, UNKNOWN, A, B, C, derived

OFF = {"is_subscribed": False}


def tag(api, guid):
    return api.get(f"/subscriptions/{guid}").headers["ETag"]


def if_match(api, method, guid, tag, body=None):
    headers = {"If-Match": tag}
    return api.request(method, f"/subscriptions/{guid}", headers=headers, json=body).status_code


# C5.27, C7.17
@pytest.mark.parametrize(("method", "done"), [("PATCH", 200), ("DELETE", 202)])
def test_what_changed_is_changed_only_by_who_has_seen_that(api, add, method, done):
    add((A, G1))
    seen = tag(api, G1)
    patch(api, G1, new_feed_url=B)
    before = entries(api)
    reply = api.request(method, f"/subscriptions/{G1}", headers={"If-Match": seen}, json=OFF)
    assert told(reply, 412) == {
        "code": "412",
        "message": "The subscription has changed. Read it again, and send what still applies.",
    }
    for other in (f'"other", {seen}', '"nonsense', "W/" + seen):
        assert if_match(api, method, G1, other, OFF) == 412
    assert entries(api) == before
    assert if_match(api, method, G1, f'"other", {tag(api, G1)}', OFF) == done


# Forms that nginx and Apache give to a tag when they compress a reply; "*" is any state.
@pytest.mark.parametrize("form", ["W/{}", "{}-gzip", "*"])
def test_a_tag_counts_in_the_forms_that_proxies_give_it(api, add, form):
    add((A, G1))
    seen = form.format(tag(api, G1))
    if form.endswith("-gzip"):
        seen = seen.replace('"-gzip', '-gzip"')
    assert api.get(f"/subscriptions/{G1}", headers={"If-None-Match": seen}).status_code == 304
    assert if_match(api, "PATCH", G1, seen, OFF) == 200


def test_what_is_not_valid_or_not_there_is_told_before_what_changed(api, add):
    add((A, G1), (B, G2), (C, UNKNOWN))
    api.delete(f"/subscriptions/{UNKNOWN}")
    for method in ("PATCH", "DELETE"):
        for other in ('"other"', "*"):
            assert if_match(api, method, UNKNOWN, other, OFF) == 404
        assert if_match(api, method, "no-guid", '"other"', OFF) == 405
    assert if_match(api, "PATCH", G1, '"other"', {"new_guid": "no-guid"}) == 405
    assert if_match(api, "PATCH", G1, '"other"', {"new_feed_url": B}) == 412
    assert if_match(api, "PATCH", G1, tag(api, G1), {"new_feed_url": B}) == 405


# C5.28
def test_the_tag_of_a_patch_counts_at_the_present_guid_and_at_each_former_one(api, add):
    add((A, G1))
    seen, guids = tag(api, G1), [G1, G2]
    for change in ({}, OFF, {"new_feed_url": B}, {"new_guid": G2}, {"is_subscribed": True}, {}):
        reply = api.patch(f"/subscriptions/{guids[0]}", json=change, headers={"If-Match": seen})
        seen = reply.headers["ETag"]
        assert (reply.status_code, seen) == (200, tag(api, get(api, G1).get("new_guid", G1)))
        assert reply.headers["Cache-Control"] == "no-store"
        guids = guids if "new_guid" not in get(api, G1) else guids[::-1]  # each in turn
    assert seen != tag(api, G1)
    reply = api.patch(f"/subscriptions/{derived(B)}", json={"new_feed_url": A})
    assert (reply.status_code, reply.headers["ETag"]) == (200, tag(api, G2))
    assert api.get(f"/subscriptions/{derived(B)}").status_code == 404  # the move was undone


# C5.27
@pytest.mark.parametrize("seen_at", [G1, G2])
@pytest.mark.parametrize(("method", "done"), [("PATCH", 200), ("DELETE", 202)])
def test_a_former_guid_takes_its_own_and_the_present_tag(api, add, seen_at, method, done):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    seen = tag(api, seen_at)
    assert if_match(api, method, G1, seen, OFF) == done
    assert if_match(api, "PATCH", G1, seen, OFF) == (412 if method == "PATCH" else 404)


def test_of_many_who_have_seen_the_same_state_one_changes_it(api, add):
    add((A, G1))
    seen = tag(api, G1)
    with ThreadPoolExecutor(12) as pool:
        methods = ["DELETE", "PATCH", "PATCH"] * 4
        results = sorted(pool.map(lambda method: if_match(api, method, G1, seen, OFF), methods))
    assert results[0] in {200, 202}
    assert set(results[1:]) <= {412, 404}
