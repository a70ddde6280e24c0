import time

from podsync_check.checking import Level, check, expect
from podsync_check.servers import UrlLists

FEEDS = 1_000
MAX_SECONDS = 10.0


@check(
    Level.FAST,
    why="The app gives up after ten seconds, and starts over with the next sync.",
    seen="OkHttp, of AntennaPod, gives up after 10 seconds without a byte",
    spec="Silent.",
)
def a_first_sync_of_many_feeds_takes_seconds(server: UrlLists) -> None:
    """The upload of 1,000 feeds, and the poll of all of them, take less than ten seconds each."""
    phone, laptop = server.apps(2)
    began = time.monotonic()
    phone.upload(add=server.feeds(FEEDS))
    uploaded = time.monotonic()
    told = server.mine(laptop.changes().add)
    polled = time.monotonic()
    expect(len(told) == FEEDS, f"Of {FEEDS} feeds, {len(told)} are returned.")
    server.note(f"Upload {uploaded - began:.2f} s, poll {polled - uploaded:.2f} s.")
    slower = max(uploaded - began, polled - uploaded)
    expect(slower < MAX_SECONDS, f"One of them takes {slower:.1f} seconds.")
