from podsync_check.checking import Level, check, expect
from podsync_check.servers import DraftC


@check(
    Level.KEPT,
    why="A podcast removed on the phone stays on the laptop, and comes back from there.",
    seen="OpenPodcastAPI/api-specs#171",
    spec="Draft C, sync: unsubscribed entities are returned, too, with `unsubscribed_at`.",
)
def an_unsubscription_is_told_by_sync(server: DraftC) -> None:
    """A client's unsubscription reaches the other clients, with its time."""
    phone, laptop = server.client(), server.client()
    done = phone.act(phone.subscribe(server.feed()))
    laptop.told()
    phone.act(phone.unsubscribe(done["data"]["sync_id"]))
    told = laptop.told()
    is_told = [bool(one["data"].get("unsubscribed_at")) for one in told]
    expect(is_told == [True], f"The other client receives {told}.")
