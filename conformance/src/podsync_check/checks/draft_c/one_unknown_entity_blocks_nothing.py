from podsync_check.checking import Level, check, expect
from podsync_check.servers import DraftC


@check(
    Level.TOLERANT,
    why="Another device deletes one podcast, and the phone never syncs again.",
    seen="OpenPodcastAPI/api-specs#171",
    spec="Draft C, sync: the actions of a request are independent; one of an unknown entity is"
    " rejected.",
)
def one_unknown_entity_blocks_nothing(server: DraftC) -> None:
    """An action on an unknown entity is rejected with a reason; others are applied."""
    phone = server.client()
    unknown = phone.unsubscribe("00000000-0000-4000-8000-000000000000")
    got = phone.act_all([unknown, phone.subscribe(server.feed())])
    statuses = {one["action_id"]: one["status"] for one in got}
    expect(statuses.get(unknown["action_id"]) == "rejected", f"The results are {got}.")
    expect(sorted(statuses.values()) == ["applied", "rejected"], f"The results are {got}.")
    reason = next(one.get("reason") for one in got if one["status"] == "rejected")
    expect(bool(reason), "The rejection has no reason.")
