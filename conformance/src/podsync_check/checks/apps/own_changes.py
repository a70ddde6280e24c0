"""An app's own changes, once the server has them."""

from __future__ import annotations

from podsync_check.messages import Wrong
from podsync_check.reference.elsewhere import OtherDevice
from podsync_check.watching.exchanges import URL_LISTS, Kind, WatchedExchange
from podsync_check.watching.hard_cases import (
    ADD_ONE,
    Play,
    Wait,
    hard_case,
    is_accepted,
    is_change,
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

    def look(exchange: WatchedExchange) -> None:
        if (old, True) in exchange.changes:
            raise Wrong(f"Request {exchange.number} adds {old}, which the server has corrected.")
        if (f"{old}#corrected", False) in exchange.changes:
            raise Wrong(f"Request {exchange.number} removes the corrected URL of {old}.")

    yield from some_polls(look)


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
