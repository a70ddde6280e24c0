"""Contract, section 5: GET /subscriptions/{guid}; and ETags."""

import pytest
from names import G1, G2, G3, UNKNOWN, A, B, delete, derived, entries, get, patch, status


def test_a_subscription_shows_its_four_fields(api, add):
    item = add(A)
    assert get(api, item["guid"]) == {
        "feed_url": A,
        "guid": derived(A),
        "is_subscribed": True,
        "subscription_changed": item["subscription_changed"],
    }


def test_a_subscription_shows_guid_changed_if_its_guid_ever_changed(api, add):
    add((A, G1))
    changed = patch(api, G1, new_guid=G2)["guid_changed"]
    shown = get(api, G2)
    assert set(shown) == {
        "feed_url",
        "guid",
        "is_subscribed",
        "subscription_changed",
        "guid_changed",
    }
    assert shown["guid_changed"] == changed


# C4.4, C5.15
def test_an_announced_pointer_shows_the_present_state_and_its_own_stamp(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    patch(api, G2, new_feed_url=B, is_subscribed=False)
    shown = get(api, G1)
    assert set(shown) == {"feed_url", "guid", "is_subscribed", "new_guid", "guid_changed"}
    assert (shown["feed_url"], shown["guid"], shown["new_guid"]) == (B, G1, G2)
    assert shown["is_subscribed"] is False


# C3.7, C5.15
def test_a_pointer_that_was_never_announced_shows_no_stamp(api, add):
    add((A, G1))
    assert get(api, derived(A)) == {
        "feed_url": A,
        "guid": derived(A),
        "is_subscribed": True,
        "new_guid": G1,
    }


# C3.9
def test_a_pointer_points_straight_at_the_present_guid(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    patch(api, G2, new_guid=G3)
    assert get(api, G1)["new_guid"] == G3
    assert get(api, G2)["new_guid"] == G3
    assert get(api, derived(A))["new_guid"] == G3


# C3.5
def test_a_guid_in_any_case_is_found_and_given_back_in_lower_case(api, add):
    add(A)
    assert get(api, derived(A).upper())["guid"] == derived(A)


@pytest.mark.parametrize("text", ["x", "1", G1[:-1], f"{{{G1}}}", G1.replace("-", ""), "ü"])
def test_a_text_that_is_no_guid_is_405(api, text):
    for reply in (
        api.get(f"/subscriptions/{text}"),
        api.patch(f"/subscriptions/{text}", json={}),
        api.delete(f"/subscriptions/{text}"),
    ):
        assert reply.status_code == 405
        assert reply.headers["Allow"] == "GET, HEAD, PATCH, DELETE"
        assert "Not a guid" in reply.json()["message"]


# C5.14, C7.2, C7.5
def test_an_unknown_guid_is_404(api):
    reply = api.get(f"/subscriptions/{UNKNOWN}")
    assert reply.status_code == 404
    assert reply.json() == {"code": "404", "message": "The resource was not found."}


# C5.14, C7.2, C7.7
def test_a_deleted_subscription_is_410_also_through_its_pointers(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    delete(api, G2)
    for guid in (G2, G1, derived(A)):
        reply = api.get(f"/subscriptions/{guid}")
        assert reply.status_code == 410
        assert reply.json() == {"code": "410", "message": "The subscription has been deleted."}


# C1.17
def test_an_etag_that_is_known_gives_304_without_a_body(api, add):
    add(A)
    for path in (f"/subscriptions/{derived(A)}", "/subscriptions"):
        first = api.get(path)
        etag = first.headers["ETag"]
        assert first.headers["Cache-Control"] == "private, no-cache"
        assert first.headers["Vary"] == "Authorization, Accept-Encoding"
        for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            again = api.get(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["ETag"] == etag
            assert again.headers["Cache-Control"] == "private, no-cache"
            assert again.headers["Vary"] == "Authorization, Accept-Encoding"
        twice = [("If-None-Match", '"other"'), ("If-None-Match", etag)]
        assert api.get(path, headers=twice).status_code == 304
        assert api.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
        assert api.get(path, headers={"If-None-Match": "nonsense"}).status_code == 200


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


def test_the_etag_of_a_pointer_does_not_outlive_its_subscription(api, add):
    add((A, G1))
    etag = api.get(f"/subscriptions/{derived(A)}").headers["ETag"]
    delete(api, G1)
    reply = api.get(f"/subscriptions/{derived(A)}", headers={"If-None-Match": etag})
    assert reply.status_code == 410


def test_head_gives_the_headers_of_get_and_no_body(api, add):
    add(A)
    for path in (f"/subscriptions/{derived(A)}", "/subscriptions"):
        get_reply, head_reply = api.get(path), api.head(path)
        assert (head_reply.status_code, head_reply.content) == (200, b"")
        for name in ("ETag", "Content-Length", "Content-Type", "Cache-Control"):
            assert head_reply.headers[name] == get_reply.headers[name]
    assert api.head(f"/subscriptions/{UNKNOWN}").status_code == 404


def test_lists_and_reads_agree(api, add):
    add((A, G1), (B, G2))
    patch(api, G1, new_guid=G3)
    for entry in entries(api):
        assert entry == get(api, entry["guid"])
    assert status(api, G1) == 200
