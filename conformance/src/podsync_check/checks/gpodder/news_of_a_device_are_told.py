from podsync_check.checking import Level, check, expect
from podsync_check.messages import Request, expect_status
from podsync_check.servers import Gpodder


@check(
    Level.COMPLETE,
    why="Apps that request everything at once show nothing.",
    seen="gpodder/mygpoclient, download_updates",
    spec="gpodder.net, Device API: `/api/2/updates/{user}/{device}.json`.",
)
def news_of_a_device_are_told(server: Gpodder) -> None:
    """One request returns the feeds added and removed since, with a timestamp."""
    app = server.app()
    app.upload(add=[server.feed()])
    target = f"/api/2/updates/{server.user}/{app.calls.device}.json?since=0"
    reply = app.session.send(Request("GET", target))
    expect_status(reply, 200)
    told = reply.json()
    added = {one.get("url") if isinstance(one, dict) else one for one in told["add"]}
    expect(server.feed() in added, "The added feed is missing.")
    expect(isinstance(told.get("timestamp"), int), "It has no timestamp.")
