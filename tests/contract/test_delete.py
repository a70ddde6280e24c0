"""Contract, section 6: DELETE /subscriptions/{guid} and GET /deletions/{id}."""

import pytest
from names import G1, G2, UNKNOWN, A, delete, derived, entries, get, patch, status


# C6.11, C6.13
def test_a_deletion_is_accepted_and_can_be_asked_for(api, add):
    add(A)
    body = delete(api, derived(A))
    assert set(body) == {"deletion_id", "message"}
    reply = api.get(f"/deletions/{body['deletion_id']}")
    assert reply.status_code == 200
    assert set(reply.json()) == {"deletion_id", "status", "message"}
    assert reply.json()["deletion_id"] == body["deletion_id"]
    assert reply.json()["status"] == "SUCCESS"
    assert reply.json()["message"]


# C6.11
def test_the_entry_stays_as_a_tombstone(api, add):
    add(A)
    before = entries(api)[0]["subscription_changed"]
    delete(api, derived(A))
    (tombstone,) = entries(api, since=before)
    assert tombstone["is_subscribed"] is False
    assert "deleted" in tombstone
    assert status(api, derived(A)) == 410


# C3.8
def test_a_pointer_stands_for_its_subscription(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    delete(api, G1)
    assert status(api, G2) == 410


# C6.12
def test_what_is_unknown_or_deleted_already_is_404(api, add):
    add((A, G1))
    delete(api, G1)
    for guid in (G1, derived(A), UNKNOWN):
        reply = api.delete(f"/subscriptions/{guid}")
        assert reply.status_code == 404
        assert reply.json() == {"code": "404", "message": "The resource was not found."}


def test_each_deletion_has_an_id_of_its_own_that_outlives_a_revival(api, add):
    ids = set()
    for _ in range(3):
        add(A)
        ids.add(delete(api, derived(A))["deletion_id"])
    add(A)
    assert len(ids) == 3
    assert all(isinstance(number, int) and 1 <= number < 2**53 for number in ids)
    for number in ids:
        assert api.get(f"/deletions/{number}").json()["status"] == "SUCCESS"
    assert get(api, derived(A))["is_subscribed"] is True


@pytest.mark.parametrize(
    "text", ["0", "-1", "1.0", "x", "1e3", str(2**53), str(2**63), "9" * 5_000, "%20 1", "%D9%A1"]
)
def test_an_id_that_is_no_whole_number_from_1_to_2_to_the_53_is_405(api, text):
    reply = api.get(f"/deletions/{text}")
    assert reply.status_code == 405
    assert reply.headers["Allow"] == "GET, HEAD"


def test_an_unknown_id_is_404(api):
    for number in (1, 2**53 - 1):
        assert api.get(f"/deletions/{number}").status_code == 404


def test_a_deletion_of_another_account_is_unknown(api, add, feedkeep):
    add(A)
    number = delete(api, derived(A))["deletion_id"]
    with feedkeep.client(feedkeep.new_account()) as other:
        assert other.get(f"/deletions/{number}").status_code == 404
