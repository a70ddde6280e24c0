"""Contract, section 5: GET /subscriptions/{guid}; and ETags."""

import pytest
from asking import delete, entries, get, patch, status, told
from names import G1, G2, G3, NOT_FOUND, UNKNOWN, A, B, derived


# C3.5, C3.7, C5.15
def test_a_subscription_and_a_pointer_never_announced_show_four_fields(api, add):
    item = add(A)
    shown = {"feed_url": A, "guid": derived(A), "is_subscribed": True}
    stamp = {"subscription_changed": item["subscription_changed"]}
    for guid in (item["guid"], derived(A).upper()):
        assert get(api, guid) == shown | stamp
    add((B, G1))
    shown = {"feed_url": B, "guid": derived(B), "is_subscribed": True}
    assert get(api, derived(B)) == shown | {"new_guid": G1}


# C3.9, C4.4, C5.15
def test_an_announced_pointer_shows_the_present_state_and_its_own_stamp(api, add):
    add((A, G1))
    changed = patch(api, G1, new_guid=G2)["guid_changed"]
    shown = get(api, G2)
    stamps = {"subscription_changed", "guid_changed"}
    assert set(shown) == {"feed_url", "guid", "is_subscribed"} | stamps
    assert shown["guid_changed"] == changed
    patch(api, G2, new_feed_url=B, is_subscribed=False)
    shown = get(api, G1)
    assert set(shown) == {"feed_url", "guid", "is_subscribed", "new_guid", "guid_changed"}
    assert (shown["feed_url"], shown["guid"], shown["new_guid"]) == (B, G1, G2)
    assert shown["is_subscribed"] is False
    patch(api, G2, new_guid=G3)
    assert [get(api, guid)["new_guid"] for guid in (G1, G2, derived(A))] == [G3] * 3


def test_a_text_that_is_no_guid_is_405(api):
    for text in ("x", "1", G1[:-1], f"{{{G1}}}", G1.replace("-", ""), "ü"):
        path = f"/subscriptions/{text}"
        for reply in (api.get(path), api.patch(path, json={}), api.delete(path)):
            assert "Not a guid" in told(reply, 405)["message"]
            assert reply.headers["Allow"] == "GET, HEAD, PATCH, DELETE"


# C5.14, C7.2, C7.5, C7.7
def test_an_unknown_guid_is_404_and_a_deleted_one_410_also_through_its_pointers(api, add):
    assert told(api.get(f"/subscriptions/{UNKNOWN}"), 404) == NOT_FOUND
    assert api.head(f"/subscriptions/{UNKNOWN}").status_code == 404
    add((A, G1))
    etag = api.get(f"/subscriptions/{derived(A)}").headers["ETag"]
    patch(api, G1, new_guid=G2)
    delete(api, G2)
    for guid in (G2, G1, derived(A)):
        reply = api.get(f"/subscriptions/{guid}", headers={"If-None-Match": etag})
        assert told(reply, 410) == {
            "code": "410", "message": "The subscription has been deleted.",
        }  # fmt: skip


# C1.17
def test_an_etag_that_is_known_gives_304_without_a_body(api, add):
    add(A)
    for path in (f"/subscriptions/{derived(A)}", "/subscriptions"):
        first, head = api.get(path), api.head(path)
        assert (head.status_code, head.content) == (200, b"")
        for name in ("ETag", "Content-Length", "Content-Type", "Cache-Control"):
            assert head.headers[name] == first.headers[name]
        etag = first.headers["ETag"]
        cached = ("private, no-cache", "Authorization, Accept-Encoding")
        assert (first.headers["Cache-Control"], first.headers["Vary"]) == cached
        for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            again = api.get(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
            assert (again.headers["Cache-Control"], again.headers["Vary"]) == cached
        twice = [("If-None-Match", '"other"'), ("If-None-Match", etag)]
        assert api.get(path, headers=twice).status_code == 304
        for other in ('"other"', "nonsense"):
            assert api.get(path, headers={"If-None-Match": other}).status_code == 200


# C1.18
@pytest.mark.parametrize(
    "change", [{"is_subscribed": False}, {"new_feed_url": B}, {"new_guid": G3}]
)
def test_an_etag_covers_all_that_is_shown(api, add, change):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    paths = (f"/subscriptions/{G1}", "/subscriptions")
    before = {path: api.get(path).headers["ETag"] for path in paths}
    patch(api, G2, **change)
    for path, etag in before.items():
        assert api.get(path, headers={"If-None-Match": etag}).status_code == 200


def test_lists_and_reads_agree(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, new_guid=G3)
    for entry in entries(api):
        assert entry == get(api, entry["guid"])
    assert status(api, G1) == 200
