"""First syncs of long lists."""

from __future__ import annotations

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
    runs_last=True,
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


ACTIONS = 10_000
IN_ONE_UPLOAD = 100


@check(
    Level.FAST,
    why="The app gives up after ten seconds, and starts over with the next sync.",
    seen="madeofpendletonwool/PinePods#636",
    spec="Silent.",
    runs_last=True,
)
def a_first_sync_of_many_actions_takes_seconds(server: UrlLists) -> None:
    """Each upload of 100 actions, and the poll of 10,000, takes less than ten seconds."""
    phone, laptop = server.apps(2)
    plays = [server.play(server.feed(), number) for number in range(ACTIONS)]
    slowest, began = 0.0, time.monotonic()
    for first in range(0, ACTIONS, IN_ONE_UPLOAD):
        before = time.monotonic()
        phone.upload_actions(*plays[first : first + IN_ONE_UPLOAD])
        slowest = max(slowest, time.monotonic() - before)
    uploaded = time.monotonic()
    told = {action["episode"] for action in laptop.played(server.feed())}
    polled = time.monotonic() - uploaded
    expect(len(told) == ACTIONS, f"Of {ACTIONS} actions, {len(told)} are returned.")
    server.note(f"Uploads {uploaded - began:.1f} s, poll {polled:.2f} s.")
    slower = max(slowest, polled)
    expect(slower < MAX_SECONDS, f"One request takes {slower:.1f} seconds.")
