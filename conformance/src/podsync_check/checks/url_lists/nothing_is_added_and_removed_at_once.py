from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists


@check(
    Level.AGREED,
    why="Apps treat it differently: AntennaPod deletes the downloads, gPodder does not.",
    seen="gpodder/mygpo returns the difference between then and now",
    spec="gpodder.net, Subscriptions API: a feed is added or removed, not both.",
)
def nothing_is_added_and_removed_at_once(server: UrlLists) -> None:
    """A feed that was added, removed and added again is listed as added only."""
    phone, laptop = server.apps(2)
    back, gone = server.feeds(2)
    since = laptop.changes().timestamp
    phone.upload(add=[back, gone])
    phone.upload(remove=[back, gone])
    phone.upload(add=[back])
    told = laptop.changes(since)
    both = set(server.mine(told.add)) & set(server.mine(told.remove))
    expect(not both, f"Both added and removed: {sorted(both)}.")
    expect(back in told.add, "The subscribed feed is not returned as added.")
    expect(gone not in told.add, "The removed feed is returned as added.")
