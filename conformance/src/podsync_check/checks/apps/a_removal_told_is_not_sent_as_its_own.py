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
    why="A user who adds the podcast again on another device at that moment loses it.",
    seen="AntennaPod/AntennaPod, SyncService.java",
    spec="gpodder.net, Subscriptions API: an upload has the changes of the device itself.",
)
def a_removal_told_is_not_sent_as_its_own(elsewhere: Elsewhere) -> Play:
    """A removal received from the server is not uploaded as the app's own."""
    url = feed()
    elsewhere.add(url)
    yield from until_told(url)
    elsewhere.remove(url)
    yield from some_polls(never(removed=url, because=", whose removal it had received"))
