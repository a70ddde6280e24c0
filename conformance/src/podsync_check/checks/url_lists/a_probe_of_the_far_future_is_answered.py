from podsync_check.checking import Level, check
from podsync_check.servers import UrlLists


@check(
    Level.TOLERANT,
    why="Podcast Merlin asks so whether its login is right: with an error, it never connects.",
    seen="YehonatanVishna/Podcast-Merlin probes with since=2147483647",
    spec="Silent.",
    only_reads=True,
)
def a_probe_of_the_far_future_is_answered(server: UrlLists) -> None:
    """A poll since the far future is answered like any other."""
    told = server.app().changes(2**31 - 1)
    if told.add or told.remove:
        server.note("Asked since the far future, it tells everything, as to a clock that is wrong.")
