from podsync_check.watching.hard_cases import (
    Elsewhere,
    Play,
    feed,
    hard_case,
    never,
    some_polls,
    until_told,
)


@hard_case(
    asks="Let the app sync until this is over.",
    why="A podcast removed on the laptop is back the next morning.",
    seen="AntennaPod, gPodder and Kasts send their whole list with the first sync",
    spec="gpodder.net, Subscriptions API: `remove` has other devices' removals.",
)
def a_feed_removed_elsewhere_is_not_added_back(elsewhere: Elsewhere) -> Play:
    """A feed removed on another device is not added again."""
    url = feed()
    elsewhere.add(url)
    yield from until_told(url)
    elsewhere.remove(url)
    yield from some_polls(never(added=url, because=", which another device had removed"))
