from podsync_check.messages import Wrong
from podsync_check.watching.exchanges import URL_LISTS, Kind, WatchedExchange
from podsync_check.watching.hard_cases import Elsewhere, Play, Wait, hard_case, some_polls


@hard_case(
    asks="Add one new feed in the app, and leave it alone; let it sync until this is over.",
    why="App and server then disagree about the podcast, and it comes back.",
    seen="AntennaPod/AntennaPod#2267",
    spec="gpodder.net, Subscriptions API: clients should use the URLs in `update_urls`.",
    protocols=URL_LISTS,
)
def a_corrected_url_is_taken(elsewhere: Elsewhere) -> Play:
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
        if exchange.kind is Kind.UPLOAD and old in exchange.added:
            raise Wrong(f"Request {exchange.number} adds {old}, which the server has corrected.")
        if exchange.kind is Kind.UPLOAD and f"{old}#corrected" in exchange.removed:
            raise Wrong(f"Request {exchange.number} removes the corrected URL of {old}.")

    yield from some_polls(look)
