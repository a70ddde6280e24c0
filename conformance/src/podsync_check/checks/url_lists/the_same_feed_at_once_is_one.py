from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists, failures


@check(
    Level.AGREED,
    why="A podcast is listed twice, and removing one of the two removes both or neither.",
    seen="AntennaPod/AntennaPod#2214",
    spec="gpodder.net, Subscriptions API: a list has each feed once.",
)
def the_same_feed_at_once_is_one(server: UrlLists) -> None:
    """A feed that four devices add at once is listed once, and can be removed."""
    apps = server.logged_in_apps(4)
    shares = [[(app, server.feed())] for app in apps]
    refused = failures(lambda app, feed: app.upload([feed]), shares)
    expect(not refused, f"{len(refused)} of 4 uploads failed, the first with: {refused[:1]}")
    got = server.mine(apps[0].changes().add)
    expect(got == [server.feed()], f"The list has it {len(got)} times.")
    apps[1].upload(remove=[server.feed()])
    expect(not server.mine(apps[0].changes().add), "It is still there after it was removed.")
