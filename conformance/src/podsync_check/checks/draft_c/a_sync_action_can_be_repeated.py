from podsync_check.checking import Level, check, expect
from podsync_check.servers import DraftC


@check(
    Level.KEPT,
    why="After a tunnel, the phone repeats an upload, and each podcast is listed twice.",
    seen="OpenPodcastAPI/api-specs#171",
    spec="Draft C, sync: actions not later than the entity's last change are ignored.",
)
def a_sync_action_can_be_repeated(server: DraftC) -> None:
    """An action sent twice is applied once; the repetition is ignored."""
    phone = server.client()
    action = phone.subscribe(server.feed())
    statuses = [phone.act(action)["status"] for _ in range(2)]
    expect(statuses == ["applied", "ignored"], f"The statuses are {statuses}.")
    told = server.client().told()
    expect(len(told) == 1, f"Another client receives {len(told)} subscriptions.")
