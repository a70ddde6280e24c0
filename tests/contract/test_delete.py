"""Contract, section 6: DELETE /subscriptions/{guid} and GET /deletions/{id}."""

from asking import delete, entries, get, patch, status, told
from names import G1, G2, NOT_FOUND, UNKNOWN, A, derived


# C6.11, C6.13
def test_a_deletion_has_an_id_of_its_own_and_can_be_asked_for_also_after_a_revival(
    api, add, feedkeep
):
    ids = set()
    for _ in range(3):
        changed = add(A)["subscription_changed"]
        body = delete(api, derived(A))
        assert set(body) == {"deletion_id", "message"}
        ids.add(body["deletion_id"])
    (tombstone,) = entries(api, since=changed)
    assert tombstone["is_subscribed"] is False
    assert "deleted" in tombstone
    assert status(api, derived(A)) == 410
    add(A)
    assert get(api, derived(A))["is_subscribed"] is True
    assert len(ids) == 3
    assert all(isinstance(number, int) and 1 <= number < 2**53 for number in ids)
    with feedkeep.client(feedkeep.new_account()) as other:
        for number in ids:
            reply = told(api.get(f"/deletions/{number}"))
            assert reply.pop("message")
            assert reply == {"deletion_id": number, "status": "SUCCESS"}
            assert other.get(f"/deletions/{number}").status_code == 404


# C3.8, C6.12
def test_a_pointer_is_deleted_with_its_subscription_and_what_is_not_there_is_404(api, add):
    add((A, G1))
    patch(api, G1, new_guid=G2)
    delete(api, G1)
    assert status(api, G2) == 410
    for guid in (G1, G2, derived(A), UNKNOWN):
        assert told(api.delete(f"/subscriptions/{guid}"), 404) == NOT_FOUND


def test_an_id_that_is_no_whole_number_from_1_to_2_to_the_53_is_405_and_others_are_404(api):
    largest = 2**53 - 1
    for text in (
        "0", "-1", "1.0", "x", "1e3", largest + 1, 2**63, "9" * 5_000, "%20 1", "%D9%A1",
    ):  # fmt: skip
        reply = api.get(f"/deletions/{text}")
        assert (reply.status_code, reply.headers["Allow"]) == (405, "GET, HEAD"), text
    for number in (1, largest):
        assert api.get(f"/deletions/{number}").status_code == 404
