from podsync_check.checking import Level, check, expect
from podsync_check.servers import DraftC


@check(
    Level.AGREED,
    why="A phone that was offline restores a podcast removed on the laptop since.",
    seen="OpenPodcastAPI/api-specs#171",
    spec="Draft C, sync: the action that occurred last wins, in any order of arrival.",
)
def an_older_sync_action_changes_nothing(server: DraftC) -> None:
    """Of two actions, the one that occurred last wins, even if it arrives first."""
    phone, laptop = server.client(), server.client()
    late = phone.subscribe(server.feed())
    done = laptop.act(laptop.subscribe(server.feed()))
    laptop.act(laptop.unsubscribe(done["data"]["sync_id"]))
    got = phone.act(late)
    expect(got["status"] == "ignored", f"The late action's result is {got}.")
