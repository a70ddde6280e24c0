from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists

PATHS = ("a%3Ab", "a:b", "x?a=1&b=2", "x?q=a+b", "caf%C3%A9", "x?a=%7Bb%7D", "~me/feed.xml")


@check(
    Level.TOLERANT,
    why="The app finds an unknown feed and adds it: the list grows with each sync.",
    seen="AntennaPod/AntennaPod#2267",
    spec="gpodder.net: URLs may be cleaned, and `update_urls` says how.",
)
def signs_in_urls_are_kept(server: UrlLists) -> None:
    """URLs with escapes and queries are returned unchanged, or corrected by `update_urls`."""
    phone, laptop = server.apps(2)
    feeds = [server.feed(path) for path in PATHS]
    changed = dict(phone.upload(add=feeds).update_urls)
    got = set(laptop.changes().add)
    lost = [feed for feed in feeds if (changed.get(feed) or feed) not in got]
    expect(not lost, f"These are changed without notice: {lost}.")
