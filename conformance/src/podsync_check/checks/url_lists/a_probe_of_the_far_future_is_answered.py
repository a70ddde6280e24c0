from podsync_check.checking import Level, check
from podsync_check.servers import UrlLists


@check(
    Level.TOLERANT,
    why="Podcast Merlin tests its login by this poll: with an error, it never connects.",
    seen="YehonatanVishna/Podcast-Merlin probes with since=2147483647",
    spec="Silent.",
    only_reads=True,
)
def a_probe_of_the_far_future_is_answered(server: UrlLists) -> None:
    """A poll since the far future is answered like any other."""
    told = server.app().changes(2**31 - 1)
    if told.add or told.remove:
        server.note("A poll since the far future returns everything, as for a wrong clock.")
