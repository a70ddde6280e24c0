from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists, failures


@check(
    Level.KEPT,
    why="Phone and tablet sync at the same hour; one of them gets a 500, or its feeds are lost.",
    seen="kd2org/opodsync#63",
    spec="Silent.",
)
def devices_at_once_lose_nothing(server: UrlLists) -> None:
    """When four devices add ten feeds each at once, all are accepted and kept."""
    feeds = server.feeds(40)
    apps = server.logged_in_apps(4)
    shares = [[(app, feed) for feed in feeds[number::4]] for number, app in enumerate(apps)]
    refused = failures(lambda app, feed: app.upload([feed]), shares)
    got = server.mine(apps[0].changes().add)
    expect(not refused, f"{len(refused)} of 40 uploads failed, the first with: {refused[:1]}")
    expect(got == sorted(feeds), f"Of 40 acknowledged feeds, {len(got)} are in the list.")
