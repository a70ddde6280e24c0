"""Lists of the Open Podcast API, and several devices that follow them."""

from __future__ import annotations

from functools import partial

from podsync_check.checking import Level, check, expect
from podsync_check.protocols.openpodcast import STAMPS
from podsync_check.servers import OpenPodcast, failures
from podsync_check.simulated.interleavings import expect_no_loss


@check(
    Level.AGREED,
    why="A podcast added in the second of a sync never reaches the other device.",
    seen="OpenPodcastAPI/api-specs, subscriptions/get-all.mdx",
    spec="Draft A: `since` returns later changes.",
)
def following_the_list_misses_nothing(server: OpenPodcast) -> None:
    """A device whose next `since` is the greatest timestamp it received misses no change."""
    known, since = set[str](), ""
    feeds = server.feeds(12)
    for feed in feeds:
        server.add_one(feed)
        entries = server.entries(since)
        known |= {entry["feed_url"] for entry in entries}
        stamps = [str(entry[name]) for entry in entries for name in STAMPS if entry.get(name)]
        since = max([*stamps, since])
    missed = set(feeds) - known
    expect(not missed, f"Of {len(feeds)} feeds, {len(missed)} were not returned.")
    expect(not server.listed(since), "A poll since the last timestamp returns an entry again.")


@check(
    Level.AGREED,
    why="In a long list, entries between two pages are missing.",
    seen="OpenPodcastAPI/api-specs, subscriptions/get-all.mdx",
    spec="Draft A: `page`, `per_page`, `next` and `previous`.",
)
def pages_have_everything_once(server: OpenPodcast) -> None:
    """The pages linked by `next` have each of 25 feeds once."""
    feeds = server.feeds(25)
    server.add(*({"feed_url": feed} for feed in feeds))
    got = sorted(entry["feed_url"] for entry in server.listed(per_page=10))
    expect(
        got == sorted(feeds),
        f"Of {len(feeds)} feeds, {len(set(got))} are returned, in {len(got)} entries.",
    )


@check(
    Level.AGREED,
    why="Phone and laptop show different lists after a day without a network.",
    seen="madeofpendletonwool/PinePods#526",
    spec="OpenPodcastAPI/api-specs, subscriptions: `since`, and requests that can be repeated.",
    runs_last=True,
)
def random_orders_lose_nothing(server: OpenPodcast) -> None:
    """Strict apps end with the same list, whatever the order of requests and lost replies."""
    expect_no_loss(server)


@check(
    Level.KEPT,
    why="Phone and tablet sync at the same moment; one of them gets a 500, or its feeds are lost.",
    seen="kd2org/opodsync#63",
    runs_last=True,
)
def devices_at_once_lose_no_subscription(server: OpenPodcast) -> None:
    """When four devices add ten feeds each at once, all are accepted and kept."""
    feeds = server.feeds(40)
    refused = failures(
        [partial(server.add_one, feed) for feed in feeds[number::4]] for number in range(4)
    )
    expect(not refused, f"{len(refused)} of 40 requests failed, the first with: {refused[:1]}")
    got = {entry["feed_url"] for entry in server.listed()}
    expect(got == set(feeds), f"Of 40 acknowledged feeds, {len(got)} are in the list.")
