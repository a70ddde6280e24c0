from podsync_check.checking import Level, check, expect
from podsync_check.servers import DraftC


@check(
    Level.FEEDKEEP,
    why="A subscription made on a flight never reaches the laptop, which synced meanwhile.",
    seen="AntennaPod/AntennaPod#2121",
    spec="Draft C compares `since` with `last_updated`, but does not say by whose clock.",
)
def a_late_sync_action_reaches_the_others(server: DraftC) -> None:
    """An action sent late reaches a client that has synced since it occurred."""
    phone, laptop = server.client(), server.client()
    late = phone.subscribe(server.feed("late"))
    laptop.act(laptop.subscribe(server.feed("early")))
    laptop.told()
    phone.act(late)
    told = [one["data"]["feed_url"] for one in laptop.told()]
    expect(server.feed("late") in told, f"The other client receives {told}.")
