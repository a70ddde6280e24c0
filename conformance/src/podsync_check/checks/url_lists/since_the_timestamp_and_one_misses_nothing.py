from podsync_check.checking import Level, check, expect
from podsync_check.checks.url_lists.since_the_timestamp_misses_nothing import (
    TRIES,
    changes_missed,
)
from podsync_check.servers import UrlLists


@check(
    Level.AGREED,
    why="A podcast added in the second of a poll never reaches Kasts.",
    seen="KDE/kasts stores timestamp + 1",
    spec="Silent about whether `since` includes its second.",
)
def since_the_timestamp_and_one_misses_nothing(server: UrlLists) -> None:
    """An app whose next `since` is the timestamp plus one misses no change."""
    missed = changes_missed(server, plus=1)
    expect(missed == 0, f"Of {TRIES} feeds added right after a poll, {missed} are lost.")
