"""Changes that a server refuses for now, or by their size: none of them is lost."""

from __future__ import annotations

from podsync_check.reference.elsewhere import OtherDevice
from podsync_check.watching.exchanges import URL_LISTS, Kind, WatchedExchange
from podsync_check.watching.faults import Fault
from podsync_check.watching.hard_cases import (
    ADD_ONE,
    PATIENCE_POLLS,
    Play,
    Wait,
    hard_case,
    is_accepted,
    is_change,
)


def _sent_again(fault: Fault, status: int) -> Play:
    """Refuse a change, and require that all of it is sent again."""
    first = yield Wait(is_change, fault)
    assert first is not None
    missing = set(first.changes)

    def completes(later: WatchedExchange) -> bool:
        if later is not first:
            missing.difference_update(later.changes)
        return not missing

    yield Wait(
        completes,
        within_polls=PATIENCE_POLLS,
        otherwise=f"Request {first.number} got {status}, and its content was not sent again.",
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
    sent = exchange.sent if isinstance(exchange.sent, list) else []
    return frozenset(str(one.get("episode")) for one in sent if isinstance(one, dict))


@hard_case(
    asks="Play an episode for a minute and pause it; then let the app sync until this is over.",
    why="The evening's episode starts from the beginning on the other device.",
    seen="AntennaPod/AntennaPod#569: 502 and timeouts, every day",
    spec="RFC 9110, 15.6.4: the service is unable to handle the request now.",
    protocols=URL_LISTS,
)
def a_play_that_meets_503_is_sent_again(_: OtherDevice) -> Play:
    """A played position answered with 503 is sent again."""
    first = yield Wait(
        lambda one: one.kind is Kind.PLAYS_UPLOAD and bool(_episodes(one)), Fault.UNAVAILABLE
    )
    assert first is not None
    missing, number = set(_episodes(first)), first.number

    def completes(later: WatchedExchange) -> bool:
        if later.kind is Kind.PLAYS_UPLOAD and later is not first:
            missing.difference_update(_episodes(later))
        return not missing

    yield Wait(
        completes,
        within_polls=PATIENCE_POLLS + 3,
        otherwise=f"Request {number} got 503, and its content was not sent again.",
    )
