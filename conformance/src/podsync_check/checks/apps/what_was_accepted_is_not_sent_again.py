from podsync_check.messages import Wrong
from podsync_check.watching.exchanges import Kind, WatchedExchange
from podsync_check.watching.hard_cases import (
    Elsewhere,
    Play,
    Wait,
    hard_case,
    is_accepted,
    is_change,
    some_polls,
)


@hard_case(
    asks="Add one new feed in the app, and leave it alone; let it sync until this is over.",
    why="A feed that another device removes meanwhile is added again with each sync.",
    seen="AntennaPod/AntennaPod#2553",
    spec="gpodder.net, Subscriptions API: only the changes since the last upload are sent.",
)
def what_was_accepted_is_not_sent_again(_: Elsewhere) -> Play:
    """An accepted change is not sent again."""
    first = None
    while first is None or not is_accepted(first):
        first = yield Wait(is_change)
    added, removed, number = first.added, first.removed, first.number

    def look(exchange: WatchedExchange) -> None:
        if exchange.kind is Kind.UPLOAD and (added & exchange.added or removed & exchange.removed):
            raise Wrong(f"Request {exchange.number} repeats the changes of request {number}.")

    yield from some_polls(look)
