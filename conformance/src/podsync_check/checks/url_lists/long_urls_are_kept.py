from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.TOLERANT,
    why="Episodes of publishers with long addresses make every upload fail.",
    seen="thrillfall/nextcloud-gpodder#81",
    spec="Silent.",
)
def long_urls_are_kept(server: UrlLists) -> None:
    """A feed and an episode with URLs of 1,500 characters are kept."""
    phone, laptop = server.apps(2)
    feed = server.feed("x" * 1_460)
    phone.upload(add=[feed])
    expect(feed in laptop.changes().add, "The feed is not kept.")
    phone.upload_actions(server.play(feed))
    expect(bool(laptop.played(feed)), "Its play is not kept.")
