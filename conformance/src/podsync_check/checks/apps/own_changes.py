"""An app's own requests: accepted, refused for now, or with a reply that is lost or late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podsync_check.messages import Wrong
from podsync_check.reference.server import OtherDevice
from podsync_check.watching.exchanges import SLOW_SECONDS, URL_LISTS, Fault, Kind, WatchedExchange
from podsync_check.watching.hard_cases import (
    ADD_ONE,
    PATIENCE_POLLS,
    Play,
    Wait,
    a_poll,
    hard_case,
    is_accepted,
    is_change,
    never,
    some_polls,
)


@hard_case(
    asks=ADD_ONE,
    why="App and server then disagree about the podcast, and it comes back.",
    seen="AntennaPod/AntennaPod#2267",
    spec="gpodder.net, Subscriptions API: clients should use the URLs in `update_urls`.",
    protocols=URL_LISTS,
)
def a_corrected_url_is_taken(elsewhere: OtherDevice) -> Play:
    """A URL that the server corrects in `update_urls` is not sent in its old form again."""

    def adds(exchange: WatchedExchange) -> bool:
        if exchange.kind is Kind.UPLOAD and exchange.added:
            elsewhere.correct(min(exchange.added), f"{min(exchange.added)}#corrected")
            return True
        return False

    first = yield Wait(adds)
    assert first is not None
    old = min(first.added)
    because = ", which the server has corrected"
    yield from some_polls(never(added=old, removed=f"{old}#corrected", because=because))


@hard_case(
    asks=ADD_ONE,
    why="A feed that another device removes meanwhile is added again with each sync.",
    seen="AntennaPod/AntennaPod#2553",
    spec="gpodder.net, Subscriptions API: only the changes since the last upload are sent.",
)
def what_was_accepted_is_not_sent_again(_: OtherDevice) -> Play:
    """An accepted change is not sent again."""
    first = None
    while first is None or not is_accepted(first):
        first = yield Wait(is_change)
    done, number = first.changes, first.number

    def look(exchange: WatchedExchange) -> None:
        if done & exchange.changes:
            raise Wrong(f"Request {exchange.number} repeats the changes of request {number}.")

    yield from some_polls(look)


def _not_reverted(fault: Fault) -> Play:
    """Inject a fault into a change, and require that nothing opposite is sent."""
    first = yield Wait(is_change, fault)
    assert first is not None
    opposite = {(url, not is_added) for url, is_added in first.changes}

    def look(exchange: WatchedExchange) -> None:
        if opposite & exchange.changes:
            raise Wrong(
                f"Request {exchange.number} reverts request {first.number}, which had taken effect."
            )

    yield from some_polls(look)


@hard_case(
    asks=ADD_ONE,
    why="The train enters a tunnel, and the podcast just removed is back.",
    seen="feedkeep's own tests of lost replies",
    spec="RFC 9110, 9.2.2: if a reply is lost, the request's outcome is unknown.",
)
def a_change_whose_reply_is_lost_is_not_reverted(_: OtherDevice) -> Play:
    """A change whose reply is lost is sent again or left alone, never reverted."""
    yield from _not_reverted(Fault.LOST)


@hard_case(
    asks=ADD_ONE,
    why="On a slow evening, each sync undoes what the one before has done.",
    seen=f"OkHttp, of AntennaPod, gives up after 10 seconds; this reply takes {SLOW_SECONDS:.0f}",
    spec="RFC 9110, 9.2.2: if no reply came in time, the request's outcome is unknown.",
)
def a_change_whose_reply_is_slow_is_not_reverted(_: OtherDevice) -> Play:
    """A change whose reply comes late is sent again or left alone, never reverted."""
    yield from _not_reverted(Fault.SLOW)


@hard_case(
    asks="Let the app sync twice.",
    why="The app never requests the missing half again.",
    seen="feedkeep's own tests of lost replies",
    spec="RFC 9110, 8.6: a body that is shorter than Content-Length is incomplete.",
)
def a_reply_that_breaks_off_is_not_believed(_: OtherDevice) -> Play:
    """After a truncated reply, the app repeats the request."""
    first = yield a_poll(Fault.TORN)
    assert first is not None
    later = yield a_poll()
    assert later is not None
    before, after = first.asked.get("since", ""), later.asked.get("since", "")
    # Compare seconds as numbers, and date-times as texts.
    if (later.since, after) > (first.since, before):
        raise Wrong(
            f"The reply to request {first.number}, since={before}, was truncated, and request"
            f" {later.number} polls since {after}."
        )


def _sent_again(
    fault: Fault,
    status: int,
    fits: Callable[[WatchedExchange], bool] = is_change,
    content: Callable[[WatchedExchange], frozenset[Any]] = lambda one: one.changes,
    within_polls: int = PATIENCE_POLLS,
) -> Play:
    """Refuse a request that fits, and require that all of its content is sent again."""
    first = yield Wait(fits, fault)
    assert first is not None
    missing, number = set(content(first)), first.number

    def completes(later: WatchedExchange) -> bool:
        if later is not first:
            missing.difference_update(content(later))
        return not missing

    yield Wait(
        completes,
        within_polls=within_polls,
        otherwise=f"Request {number} got {status}, and its content was not sent again.",
    )


@hard_case(
    asks=ADD_ONE,
    why="A podcast added while the server was down stays on that phone only, forever.",
    seen="AntennaPod/AntennaPod#569: 502 and timeouts, every day",
    spec="RFC 9110, 15.6.4: the service is unable to handle the request now.",
)
def a_change_that_meets_503_is_sent_again(_: OtherDevice) -> Play:
    """A change answered with 503 is sent again."""
    yield from _sent_again(Fault.UNAVAILABLE, 503)


@hard_case(
    asks=ADD_ONE,
    why="A household whose phones sync at the same minute loses what one of them added.",
    seen='AntennaPod shows "code 429" where a provider limits requests',
    spec="RFC 6585, 4: too many requests in a time; Retry-After says how long to wait.",
)
def a_change_that_meets_429_is_sent_again(_: OtherDevice) -> Play:
    """A change answered with 429 is sent again, after the time that the response names."""
    yield from _sent_again(Fault.TOO_MANY, 429)


@hard_case(
    asks=ADD_ONE,
    why="A proxy refuses one request with too many cookies, and a podcast is lost.",
    seen="nginx, large_client_header_buffers; feedkeep limits headers, too",
    spec="RFC 6585, 5: the request may be sent again with smaller headers.",
)
def a_change_that_meets_431_is_sent_again(_: OtherDevice) -> Play:
    """A change answered with 431 is sent again."""
    yield from _sent_again(Fault.LONG_HEADERS, 431)


@hard_case(
    asks=ADD_ONE,
    why="After the server moved to https, syncs succeed, but nothing that they upload arrives.",
    seen="gPodder: a redirect makes its POST a GET",
    spec="RFC 9110, 15.4.2: after 301, a client may change POST to GET, which uploads nothing.",
)
def a_change_that_is_redirected_is_not_lost(_: OtherDevice) -> Play:
    """A change answered with 301 is sent to the new address, or again to the old one."""
    yield from _sent_again(Fault.MOVED, 301)


@hard_case(
    asks="Add two new feeds in the app within one sync; let it sync until this is over.",
    why="A long list never reaches the server, and with it no later change.",
    seen="feedkeep, nginx and PHP limit the size of requests",
    spec="RFC 9110, 15.5.14: the content is larger than the server is able to process.",
)
def an_upload_that_meets_413_is_sent_in_parts(elsewhere: OtherDevice) -> Play:
    """An upload answered with 413 is sent in smaller parts."""
    elsewhere.limit_uploads(1)
    kept = set[tuple[str, bool]]()
    while len(kept) < 2:
        one = yield Wait(is_change)
        assert one is not None
        if one.status == 413:
            break
        kept |= one.changes
    else:
        return  # it never sends two in one request
    missing = set(one.changes)

    def completes(later: WatchedExchange) -> bool:
        missing.difference_update(later.changes if is_accepted(later) else ())
        return not missing

    yield Wait(
        completes,
        within_polls=PATIENCE_POLLS,
        otherwise=f"Request {one.number} got 413, and was not sent in smaller parts.",
    )


def _episodes(exchange: WatchedExchange) -> frozenset[str]:
    if exchange.kind is not Kind.PLAYS_UPLOAD or not isinstance(exchange.sent, list):
        return frozenset()
    return frozenset(str(one.get("episode")) for one in exchange.sent if isinstance(one, dict))


@hard_case(
    asks="Play an episode for a minute and pause it; then let the app sync until this is over.",
    why="The evening's episode starts from the beginning on the other device.",
    seen="AntennaPod/AntennaPod#569: 502 and timeouts, every day",
    spec="RFC 9110, 15.6.4: the service is unable to handle the request now.",
    protocols=URL_LISTS,
)
def a_play_that_meets_503_is_sent_again(_: OtherDevice) -> Play:
    """A played position answered with 503 is sent again."""
    yield from _sent_again(
        Fault.UNAVAILABLE, 503, lambda one: bool(_episodes(one)), _episodes, PATIENCE_POLLS + 3
    )
