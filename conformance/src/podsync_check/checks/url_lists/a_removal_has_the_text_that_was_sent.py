from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.AGREED,
    why="AntennaPod removes a podcast only by its exact URL text; otherwise it stays.",
    seen="AntennaPod/AntennaPod, SyncService.java",
    spec="gpodder.net, Subscriptions API: lists of feed URLs; `update_urls` has changed texts.",
)
def a_removal_has_the_text_that_was_sent(server: UrlLists) -> None:
    """A feed is removed by exactly the text by which it was added."""
    phone, laptop = server.apps(2)
    feed = server.feed("Caf%C3%A9/feed?user=a%3Ab&x=1+2")
    phone.upload(add=[feed])
    told = laptop.changes()
    added = server.mine(told.add)
    expect(len(added) == 1, f"The other device receives {added} as added.")
    server.wait_for_the_next_second()
    phone.upload(remove=[feed])
    removed = server.mine(laptop.changes(told.timestamp).remove)
    expect(added[0] in removed, f"{added[0]} was added, but {removed} is removed.")
    if added != [feed]:
        server.note(f"It keeps {feed} as {added[0]}.")
