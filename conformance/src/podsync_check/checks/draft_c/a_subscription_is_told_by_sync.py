from podsync_check.checking import Level, check, expect
from podsync_check.servers import DraftC


@check(
    Level.KEPT,
    why="A podcast added on the phone never shows up on the laptop.",
    seen="OpenPodcastAPI/api-specs#171",
    spec="Draft C, sync: `subscribe` is applied, and GET returns the entity.",
)
def a_subscription_is_told_by_sync(server: DraftC) -> None:
    """A client's new subscription reaches the other clients."""
    phone, laptop = server.client(), server.client()
    done = phone.act(phone.subscribe(server.feed()))
    expect(done["status"] == "applied", f"The result is {done}.")
    told = [one["data"]["feed_url"] for one in laptop.told()]
    expect(told == [server.feed()], f"The other client receives {told}.")
