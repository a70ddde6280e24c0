from podsync_check.checking import Level, check, expect
from podsync_check.servers import OpenPodcast


@check(
    Level.AGREED,
    why="Of two changes in the same second, a device that polls in between misses one.",
    seen="feedkeep, docs/contract.md, 4",
    spec="Silent about the resolution of times.",
    is_decision=True,
)
def stamps_only_rise(server: OpenPodcast) -> None:
    """Each change has a later timestamp than the one before."""
    guid = server.add_one(server.feed())["guid"]
    stamps = [
        str(server.patch(guid, is_subscribed=number % 2 == 0)["subscription_changed"])
        for number in range(6)
    ]
    expect(stamps == sorted(set(stamps)), f"The timestamps are {stamps}.")
