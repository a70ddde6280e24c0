import uuid

from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast

NAMESPACE = uuid.UUID("ead4c236-bf58-58c6-a2c6-a6b28d128cb6")


@check(
    Level.AGREED,
    why="After a move to another server, every podcast has another guid.",
    seen="Podcasting 2.0, the tag podcast:guid",
    spec="Draft A: a UUID; its text refers to the podcast:guid tag for its derivation.",
)
def a_guid_comes_from_the_url(server: OpenPodcast) -> None:
    """The guid of a feed added without one is Podcasting 2.0's."""
    plain = server.feed().removeprefix("https://")
    got = server.add_one(server.feed())["guid"]
    expect(got == str(uuid.uuid5(NAMESPACE, plain)), f"It is {got}.")
