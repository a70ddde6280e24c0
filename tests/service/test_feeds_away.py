"""What is known of feeds decorates a list, which is there without it."""

from structlog.testing import capture_logs

from feedkeep.model import Subscription
from feedkeep.model.errors import StoreUnavailable
from feedkeep.rules.feed_urls import parse_feed_url

URL = "https://show.example/feed"


async def test_lists_have_no_titles_while_what_is_known_of_feeds_cannot_be_read(
    monkeypatch, service, store, clock
):
    async def away(*_):
        raise StoreUnavailable("one machine of the cluster is away")

    monkeypatch.setattr(store.feeds, "known", away)
    feed = Subscription(parse_feed_url(URL).guid, URL, True, clock())
    with capture_logs() as logs:
        assert await service.known_feeds.headlines([feed]) == {}
        assert await service.known_feeds.cards([feed]) == {}
        assert await service.known_feeds.of(feed) is None
    assert {log["log_level"] for log in logs} == {"warning"}
