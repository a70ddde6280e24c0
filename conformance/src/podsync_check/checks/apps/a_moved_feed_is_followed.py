from podsync_check.messages import Wrong
from podsync_check.watching.exchanges import Kind, WatchedExchange
from podsync_check.watching.hard_cases import (
    Elsewhere,
    Play,
    feed,
    hard_case,
    some_polls,
    until_told,
)


@hard_case(
    asks="Let the app sync until this is over.",
    why="Each podcast that changes its host is listed twice.",
    seen="AntennaPod/AntennaPod#2214",
    spec="gpodder.net's API has the old URL in `remove` and the new one in `add`; in the Open"
    " Podcast API, the entry of the guid has the new URL.",
)
def a_moved_feed_is_followed(elsewhere: Elsewhere) -> Play:
    """A feed that moved on another device is not sent by its old URL, nor its new one removed."""
    old, new = feed(), feed()
    elsewhere.add(old)
    yield from until_told(old)
    elsewhere.move(old, new)

    def look(exchange: WatchedExchange) -> None:
        if exchange.kind is Kind.UPLOAD and (old in exchange.added or new in exchange.removed):
            raise Wrong(f"Request {exchange.number} undoes the move of {old} to {new}.")

    yield from some_polls(look)
