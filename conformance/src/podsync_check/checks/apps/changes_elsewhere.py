"""Changes of another device, which an app has to follow."""

from __future__ import annotations

from podsync_check.messages import Wrong
from podsync_check.reference.server import OtherDevice
from podsync_check.watching.exchanges import OPEN_PODCAST, URL_LISTS, Kind, WatchedExchange
from podsync_check.watching.hard_cases import (
    ADD_ONE,
    Play,
    Wait,
    a_poll,
    feed,
    hard_case,
    is_accepted,
    is_change,
    never,
    some_polls,
    until_told,
)

_SYNC = "Let the app sync until this is over."
_ONLY_OPEN_PODCAST = frozenset({OPEN_PODCAST})
_PAGE, _FEEDS = 10, 45


@hard_case(
    asks=_SYNC,
    why="A podcast removed on the laptop is back the next morning.",
    seen="AntennaPod, gPodder and Kasts send their whole list with the first sync",
    spec="gpodder.net, Subscriptions API: `remove` has other devices' removals.",
)
def a_feed_removed_elsewhere_is_not_added_back(elsewhere: OtherDevice) -> Play:
    """A feed removed on another device is not added again."""
    url = feed()
    elsewhere.add(url)
    yield from until_told(url)
    elsewhere.remove(url)
    yield from some_polls(never(added=url, because=", which another device had removed"))


@hard_case(
    asks=_SYNC,
    why="A user who adds the podcast again on another device at that moment loses it.",
    seen="AntennaPod/AntennaPod, SyncService.java",
    spec="gpodder.net, Subscriptions API: an upload has the changes of the device itself.",
)
def a_removal_told_is_not_sent_as_its_own(elsewhere: OtherDevice) -> Play:
    """A removal received from the server is not uploaded as the app's own."""
    url = feed()
    elsewhere.add(url)
    yield from until_told(url)
    elsewhere.remove(url)
    yield from some_polls(never(removed=url, because=", whose removal it had received"))


@hard_case(
    asks=ADD_ONE,
    why="A tablet back from a week offline removes a podcast, and the phone restores it.",
    seen="AntennaPod/AntennaPod#1116",
    spec="gpodder.net, Subscriptions API: `since` is compared with the time of the upload.",
)
def a_removal_that_comes_late_is_followed(elsewhere: OtherDevice) -> Play:
    """A feed that the app has added is not added again after another device's late removal."""
    first = None
    while first is None or not is_accepted(first):
        first = yield Wait(lambda one: is_change(one) and bool(one.added))
    url = min(first.added)
    yield a_poll()
    elsewhere.remove(url)
    is_listed = None
    while is_listed is None:
        poll = yield Wait(lambda one: one.kind is Kind.POLL)
        is_listed = poll.told.get(url) if poll and is_accepted(poll) else None
    if not is_listed:  # else it was added again before the app could know
        yield from some_polls(never(added=url, because=", which another device had removed"))


@hard_case(
    asks=_SYNC,
    why="Each podcast that changes its host is listed twice.",
    seen="AntennaPod/AntennaPod#2214",
    spec="gpodder.net's API has the old URL in `remove` and the new one in `add`; in the Open"
    " Podcast API, the entry of the guid has the new URL.",
)
def a_moved_feed_is_followed(elsewhere: OtherDevice) -> Play:
    """A feed that moved on another device is not sent by its old URL, nor its new one removed."""
    old, new = feed(), feed()
    elsewhere.add(old)
    yield from until_told(old)
    elsewhere.move(old, new)
    because = f", though {old} moved to {new}"
    yield from some_polls(never(added=old, removed=new, because=because))


@hard_case(
    asks=_SYNC,
    why="A podcast that got its publisher's guid is added anew by each phone, or removed.",
    seen="OpenPodcastAPI/api-specs, subscriptions/update.mdx",
    spec="Draft A: an entry with `new_guid` stands for the subscription of that guid.",
    protocols=_ONLY_OPEN_PODCAST,
)
def a_renamed_guid_is_followed(elsewhere: OtherDevice) -> Play:
    """A feed whose guid another device changes is neither added nor removed."""
    url = feed()
    elsewhere.add(url)
    yield from until_told(url)
    elsewhere.rename(url)
    because = ", whose guid had only changed"
    yield from some_polls(never(added=url, removed=url, because=because))


@hard_case(
    asks=_SYNC,
    why="Two entries become one, and the phone unsubscribes from what is left.",
    seen="OpenPodcastAPI/api-specs, subscriptions/update.mdx",
    spec="Draft A: an entry with `new_guid` stands for the subscription of that guid.",
    protocols=_ONLY_OPEN_PODCAST,
)
def a_merge_is_followed(elsewhere: OtherDevice) -> Play:
    """Of two feeds that another device merges, neither is added nor removed."""
    one, other = feed(), feed()
    elsewhere.add(one, other)
    yield from until_told(one, other)
    elsewhere.merge(one, other)

    def look(exchange: WatchedExchange) -> None:
        for url in (one, other):
            never(added=url, removed=url, because=", which was only merged")(exchange)

    yield from some_polls(look)


@hard_case(
    asks=_SYNC,
    why="Whoever has more podcasts than a page holds never sees the rest.",
    seen="OpenPodcastAPI/api-specs, subscriptions/get-all.mdx",
    spec="Draft A: `next` is the URL of the next page (C6.8).",
    protocols=_ONLY_OPEN_PODCAST,
)
def every_page_is_requested(elsewhere: OtherDevice) -> Play:
    """A list of several pages is requested to its end within one sync."""
    urls = {feed() for _ in range(_FEEDS)}
    elsewhere.limit_pages(_PAGE)
    elsewhere.add(*urls)
    missing = set(urls)

    def completes(exchange: WatchedExchange) -> bool:
        missing.difference_update(exchange.told if is_accepted(exchange) else ())
        return not missing

    def begins(exchange: WatchedExchange) -> bool:
        return completes(exchange) or (is_accepted(exchange) and len(missing) < len(urls))

    try:
        first = yield Wait(begins)
        assert first is not None
        if missing:
            yield Wait(
                completes,
                within_polls=2,  # one sync may break off
                otherwise=f"Request {first.number} got a page with `next`, and the pages after it"
                " were not requested.",
            )
    finally:
        elsewhere.limit_pages(None)


@hard_case(
    asks=_SYNC,
    why="After a backup was restored, what was added since is on the phone only, forever.",
    seen="feedkeep, docs/contract.md, 6",
    spec="Feedkeep-Epoch changes with a restore: request the whole list, and add what it lacks"
    " (C6.7).",
    protocols=_ONLY_OPEN_PODCAST,
)
def a_restore_is_noticed(elsewhere: OtherDevice) -> Play:
    """When the epoch changes, the app adds the feeds that the list lacks."""
    stays, gone = feed(), feed()
    elsewhere.add(stays, gone)
    yield from until_told(stays, gone)
    elsewhere.restore_without(gone)
    yield Wait(
        lambda one: gone in one.added,
        within_polls=4,
        otherwise=f"A restore has lost {gone}, which the app had received, and it was not added.",
        watch=never(removed=stays, because=", which the restored list has"),
    )


@hard_case(
    asks="Let the app sync twice.",
    why="Two devices of a family sync in the same second, and one never learns of the podcast.",
    seen="KDE/kasts stores timestamp + 1",
    spec="gpodder.net, Subscriptions API: clients send the timestamp as the next `since`.",
    protocols=URL_LISTS,
)
def an_upload_in_the_same_second_is_asked_for(_: OtherDevice) -> Play:
    """The next poll's `since` is at most the last timestamp, to include its second."""
    first, told = None, None
    while first is None or told is None:
        first = yield a_poll()
        told = first.timestamp if first and is_accepted(first) else None
    later = yield a_poll()
    if later and later.since > told:
        raise Wrong(
            f"Request {first.number} received {told}, and request {later.number} polls since"
            f" {later.since}: it misses later uploads of the same second."
        )


@hard_case(
    asks=_SYNC,
    why="The phone has not synced since a restart of the server, unnoticed for months.",
    seen="kd2org/opodsync#38",
    spec="gpodder.net, Authentication API: 401 if the session is invalid.",
    protocols=frozenset({"gpodder.net"}),  # the other protocols have no sessions
)
def an_ended_session_begins_again(elsewhere: OtherDevice) -> Play:
    """An app whose session ended logs in again and continues."""
    yield a_poll()
    elsewhere.end_sessions()

    def is_let_in(exchange: WatchedExchange) -> bool:
        return exchange.kind is Kind.POLL and exchange.status in {None, 200}

    yield Wait(
        is_let_in,
        within_polls=5,
        otherwise="Its session has ended, and no later request was authenticated.",
    )
