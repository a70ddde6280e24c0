from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="One episode of a removed podcast makes every later upload of the phone fail.",
    seen="thrillfall/nextcloud-gpodder#109",
    spec="Silent.",
)
def an_action_of_a_feed_that_is_gone_is_kept(server: UrlLists) -> None:
    """An action of a feed outside the list is accepted, and reaches other devices."""
    phone, laptop = server.apps(2)
    phone.upload_actions(server.play(server.feed()))
    expect(bool(laptop.played(server.feed())), "The other device does not receive it.")
