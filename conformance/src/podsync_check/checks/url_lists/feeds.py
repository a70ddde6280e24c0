"""Feeds of a list, added and removed by several devices."""

from __future__ import annotations

import time
from functools import partial

from podsync_check.checking import Level, NotApplicable, check, expect
from podsync_check.servers import UrlLists, failures


@check(
    Level.KEPT,
    why="A podcast added on the phone never shows up on the laptop.",
    seen="SamTV12345/PodFetch#453",
    spec="gpodder.net, Subscriptions API: other devices receive uploaded changes.",
)
def an_added_feed_is_kept(server: UrlLists) -> None:
    """A feed that one device adds is in the list of another."""
    phone, laptop = server.apps(2)
    phone.upload(add=[server.feed()])
    got = server.mine(laptop.changes().add)
    expect(got == [server.feed()], f"The other device receives {got} instead of the added feed.")


@check(
    Level.KEPT,
    why="A podcast removed on the phone stays on the laptop, or comes back.",
    seen="AntennaPod/AntennaPod#1116",
    spec="gpodder.net, Subscriptions API: `remove` has the feeds that were removed since.",
)
def a_removed_feed_is_gone_for_others(server: UrlLists) -> None:
    """A feed that one device removes is a removal for another, and in no list afterwards."""
    phone, laptop = server.apps(2)
    phone.upload(add=[server.feed()])
    server.wait_for_the_next_second()
    since = laptop.changes().timestamp
    server.wait_for_the_next_second()
    phone.upload(remove=[server.feed()])
    told = laptop.changes(since)
    expect(server.feed() in told.remove, "The other device does not receive the removal.")
    expect(server.feed() not in told.add, "The other device receives the removed feed as added.")
    expect(server.feed() not in laptop.changes().add, "A new device receives it as added.")


@check(
    Level.KEPT,
    why="A removed podcast is back the next morning.",
    seen="AntennaPod/AntennaPod#6709",
    spec="Silent: an upload does not concern feeds that it does not name.",
)
def a_removed_feed_stays_removed(server: UrlLists) -> None:
    """A removed feed stays removed when a device unaware of it uploads another feed."""
    phone, laptop = server.apps(2)
    first, second = server.feeds(2)
    phone.upload(add=[first])
    laptop.changes()
    phone.upload(remove=[first])
    laptop.upload(add=[second])
    got = server.mine(phone.changes().add)
    expect(got == [second], f"The list is {got}; it should be only the second feed.")


@check(
    Level.KEPT,
    why="A podcast that a user adds again is on the phone, but on no other device.",
    seen="thrillfall/nextcloud-gpodder, whose table of subscriptions keeps removed ones",
    spec="gpodder.net, Subscriptions API: each upload changes the list of the device.",
)
def a_feed_can_be_added_again(server: UrlLists) -> None:
    """A feed that is removed and added again is in the list of another device."""
    phone, laptop = server.apps(2)
    phone.upload(add=[server.feed()])
    phone.upload(remove=[server.feed()])
    since = laptop.changes().timestamp
    server.wait_for_the_next_second()
    phone.upload(add=[server.feed()])
    told = laptop.changes(since)
    expect(server.feed() in told.add, "The other device does not receive the feed again.")
    expect(server.feed() not in told.remove, "The other device also receives it as removed.")


@check(
    Level.KEPT,
    why="AntennaPod keeps a change until it is accepted: a rejected one blocks all later ones.",
    seen="gpodder/mygpo#786",
)
def a_removal_can_be_repeated(server: UrlLists) -> None:
    """Removing a feed that is gone or never existed is accepted, together with other changes."""
    phone, laptop = server.apps(2)
    first, second, third = server.feeds(3)
    phone.upload(add=[first])
    phone.upload(remove=[first])
    phone.upload(add=[third], remove=[first, second])
    got = server.mine(laptop.changes().add)
    expect(got == [third], f"The list is {got}; it should be only the third feed.")


@check(
    Level.KEPT,
    why="After a tunnel, the phone repeats an upload: sync stops, or every feed is duplicated.",
    seen="thrillfall/nextcloud-gpodder#175",
    spec="Silent; every app repeats requests without a reply.",
)
def an_upload_can_be_repeated(server: UrlLists) -> None:
    """An upload sent twice has the effect of one."""
    phone, laptop = server.apps(2)
    first, second = server.feeds(2)
    phone.upload(add=[second])
    for _ in range(2):
        phone.upload(add=[first], remove=[second])
    got = server.mine(laptop.changes().add)
    expect(got == [first], f"The list is {got}; it should be the first feed, once.")
    played = server.play(first)
    for _ in range(2):
        phone.upload_actions(played)
    plays = laptop.played(first)
    expect(bool(plays), "The play is not returned.")


@check(
    Level.KEPT,
    why="A new app without changes empties the list on every device.",
    seen="madeofpendletonwool/PinePods#502",
    spec="gpodder.net, Subscriptions API: the upload has the changes, not the list.",
)
def an_empty_upload_changes_nothing(server: UrlLists) -> None:
    """An empty upload changes nothing."""
    phone, laptop = server.apps(2)
    phone.upload(add=server.feeds(3))
    laptop.upload()
    got = server.mine(phone.changes().add)
    expect(got == sorted(server.feeds(3)), f"Of three feeds, {len(got)} are left.")


@check(
    Level.KEPT,
    why="A user with 500 podcasts moves in, and some of them are missing.",
    seen="AntennaPod, gPodder and Kasts send their whole list with the first sync",
    spec="Silent about a limit.",
)
def one_upload_of_many_is_kept(server: UrlLists) -> None:
    """All of 500 feeds in one upload are kept."""
    phone, laptop = server.apps(2)
    phone.upload(add=server.feeds(500))
    got = server.mine(laptop.changes().add)
    expect(len(got) == 500, f"Of 500 acknowledged feeds, {len(got)} are in the list.")


@check(
    Level.KEPT,
    why="Phone and tablet sync at the same hour; one of them gets a 500, or its feeds are lost.",
    seen="kd2org/opodsync#63",
    runs_last=True,
)
def devices_at_once_lose_nothing(server: UrlLists) -> None:
    """When four devices add ten feeds each at once, all are accepted and kept."""
    feeds = server.feeds(40)
    apps = server.logged_in_apps(4)
    refused = failures(
        [partial(app.upload, [feed]) for feed in feeds[number::4]]
        for number, app in enumerate(apps)
    )
    got = server.mine(apps[0].changes().add)
    expect(not refused, f"{len(refused)} of 40 uploads failed, the first with: {refused[:1]}")
    expect(got == sorted(feeds), f"Of 40 acknowledged feeds, {len(got)} are in the list.")


@check(
    Level.AGREED,
    why="A podcast is listed twice, and removing one of the two removes both or neither.",
    seen="AntennaPod/AntennaPod#2214",
    spec="gpodder.net, Subscriptions API: a list has each feed once.",
    runs_last=True,
)
def the_same_feed_at_once_is_one(server: UrlLists) -> None:
    """A feed that four devices add at once is listed once, and can be removed."""
    apps = server.logged_in_apps(4)
    alone = server.feed("alone")
    apps[0].upload(add=[alone])
    if alone not in apps[0].changes().add:
        raise NotApplicable("Earlier uploads at once have left it unable to keep even one feed.")
    apps[0].upload(remove=[alone])
    refused = failures([partial(app.upload, [server.feed()])] for app in apps)
    expect(not refused, f"{len(refused)} of 4 uploads failed, the first with: {refused[:1]}")
    got = server.mine(apps[0].changes().add)
    expect(got == [server.feed()], f"The list has it {len(got)} times.")
    apps[1].upload(remove=[server.feed()])
    expect(not server.mine(apps[0].changes().add), "It is still there after it was removed.")


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
    for change in ({"add": [back, gone]}, {"remove": [back, gone]}, {"add": [back]}):
        server.wait_for_the_next_second()  # other checks are about changes of one second
        phone.upload(**change)
    told = laptop.changes(since)
    both = set(server.mine(told.add)) & set(server.mine(told.remove))
    expect(not both, f"Both added and removed: {sorted(both)}.")
    expect(back in told.add, "The subscribed feed is not returned as added.")
    expect(gone not in told.add, "The removed feed is returned as added.")


@check(
    Level.AGREED,
    why="A podcast that was just added vanishes from the phone with its downloads.",
    seen="madeofpendletonwool/PinePods#502",
    spec="gpodder.net, Subscriptions API: only what was removed since is in `remove`.",
)
def what_was_uploaded_is_not_taken_back(server: UrlLists) -> None:
    """A feed that a device removed long ago and adds now is not returned as removed."""
    phone, laptop = server.apps(2)
    phone.upload(add=[server.feed()])
    phone.upload(remove=[server.feed()])
    since = laptop.changes().timestamp
    server.wait_for_the_next_second()
    laptop.upload(add=[server.feed()])
    for app, name in ((laptop, "it"), (phone, "the other device")):
        told = app.changes(since)
        expect(server.feed() not in told.remove, f"{name} receives the feed as removed.")


FEEDS = 1_000
MAX_SECONDS = 10.0


@check(
    Level.FAST,
    why="The app gives up after ten seconds, and starts over with the next sync.",
    seen="OkHttp, of AntennaPod, gives up after 10 seconds without a byte",
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
