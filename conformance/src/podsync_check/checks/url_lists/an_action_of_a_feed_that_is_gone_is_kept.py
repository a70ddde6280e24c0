"""Whether an action is kept whose feed is not in the list."""

from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="One episode of a podcast that was removed makes every later upload of the phone fail.",
    seen="thrillfall/nextcloud-gpodder#109",
    spec="Silent.",
)
def an_action_of_a_feed_that_is_gone_is_kept(server: UrlLists) -> None:
    """What was played of a feed that is not in the list is taken, and told to others."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed()))
    expect(bool(laptop.played(server.feed())), "The other device is not told of it.")
