from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.KEPT,
    why="A user with 500 podcasts moves in, and some of them are missing.",
    seen="AntennaPod, gPodder and Kasts send their whole list with the first sync",
    spec="Silent about a limit.",
)
def one_upload_of_many_is_kept(server: UrlLists) -> None:
    """All of 500 feeds in one upload are kept."""
    phone, laptop = server.apps(2)
    phone.upload(add=server.feeds(500))
    got = server.mine(laptop.changes().add)
    expect(len(got) == 500, f"Of 500 acknowledged feeds, {len(got)} are in the list.")
