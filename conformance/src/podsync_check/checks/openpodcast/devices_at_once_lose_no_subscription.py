from concurrent.futures import ThreadPoolExecutor

from podsync_check.checking import Level, check, expect
from podsync_check.messages import Wrong
from podsync_check.servers import OpenPodcast


@check(
    Level.KEPT,
    why="Phone and tablet sync at the same moment; one of them gets a 500, or its feeds are lost.",
    seen="kd2org/opodsync#63",
    spec="Silent.",
)
def devices_at_once_lose_no_subscription(server: OpenPodcast) -> None:
    """When four devices add ten feeds each at once, all are accepted and kept."""
    feeds = server.feeds(40)

    def add(share: list[str]) -> list[str]:
        refused = []
        for feed in share:
            try:
                server.add_one(feed)
            except Wrong as wrong:
                refused.append(str(wrong))
        return refused

    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(add, [feeds[number::4] for number in range(4)])
        refused = [text for part in parts for text in part]
    expect(not refused, f"{len(refused)} of 40 requests failed, the first with: {refused[:1]}")
    got = {entry["feed_url"] for entry in server.listed()}
    expect(got == set(feeds), f"Of 40 acknowledged feeds, {len(got)} are in the list.")
