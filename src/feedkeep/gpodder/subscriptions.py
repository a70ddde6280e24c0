"""Subscriptions by URL: changes in the advanced API, whole lists in the simple API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import structlog
from msgspec.structs import astuple
from starlette.responses import Response

from feedkeep.formats import opml
from feedkeep.formats.feed_list import Format, decoded_exactly, read_urls, write_feed_list
from feedkeep.formats.listed_feed import ListedFeed
from feedkeep.gpodder.wire import PodcastReply, UpdatesReply, episode_reply, podcast_reply
from feedkeep.http.json_bodies import LIST, decode, encode, text
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.http.responses import JsonResponse
from feedkeep.http.routing import Resource, done
from feedkeep.model import Subscription
from feedkeep.model.errors import InvalidInput, UnknownSubscription
from feedkeep.rules.feed_names import Card
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.url_changes import UrlChanges
from feedkeep.runtime.cooperative import LONG_BYTES, LONG_LIST, in_thread_if
from feedkeep.url_sync.handlers import device_of
from feedkeep.url_sync.messages import read_since

_log: structlog.stdlib.BoundLogger = structlog.get_logger()

FORMATS = "json|opml|txt"
"""Formats of a whole list; paths with these extensions belong to this protocol."""

_URL_TIMES = 4
"""Occurrences of the URL in the JSON of an unfetched podcast: two names, title, web site."""

_CONTENT_TYPES = {
    "opml": "text/xml; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
}


class _WithCards(Resource):
    """Base of resources that show podcast data."""

    async def _cards(
        self, request: AdmittedRequest, feeds: Sequence[Subscription]
    ) -> Mapping[str, Card]:
        """Return podcast data by feed URL, with the titles shown to the list's owner."""
        known = await self.service.known_feeds.cards(feeds)
        return await self._titled(request, [feed.feed_url for feed in feeds], known)

    async def _titled(
        self, request: AdmittedRequest, urls: Sequence[str], cards: Mapping[str, Card]
    ) -> Mapping[str, Card]:
        """Set the titles shown to the list's owner.

        Folders are omitted: an app that reads only the first level of OPML would upload the feeds
        inside as removed.
        """
        if not urls:
            return {}
        labels = await self.service.feed_labels.of(request.admitted.account.id)
        return await in_thread_if(len(urls) > LONG_LIST, labels.cards, urls, cards)


class UpdatesResource(_WithCards):
    """/api/2/updates/{user}/{device}.json: changes with podcast data.

    `updates` is empty, since feedkeep does not track new episodes.
    """

    async def get(self, request: AdmittedRequest) -> Response:
        since = read_since(request.query("since"))
        found = await self.service.url_lists.changes(
            request.admitted, since, device_of(request), request.header("user-agent")
        )
        changes, timestamp = found.changes, found.timestamp
        request.hold(chain(changes.add, changes.removed_texts))  # before other requests run
        known = await self.service.known_feeds.cards_of(changes.had)
        cards = await self._titled(request, changes.add, known)
        podcasts = chain.from_iterable([changes.add] * _URL_TIMES)
        request.hold(chain(podcasts, changes.removed_texts, _texts(cards)))
        return JsonResponse(
            await in_thread_if(
                len(changes.add) > LONG_LIST,
                _updates,
                changes,
                timestamp,
                cards,
                self.base_url(request),
            )
        )


class PodcastResource(_WithCards):
    """/api/2/data/podcast.json: data of one podcast in the account's list."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Send the podcast under the requested URL.

        Feeds outside the list are 404, so that accounts cannot discover private feeds of others.

        Raises:
            InvalidFeedUrl: The query has no valid feed URL.
            UnknownSubscription: The account is not subscribed to the feed.
        """
        url = parse_feed_url(request.query("url"))
        found = await self.service.subscriptions.view(request.admitted.account.id, url.guid)
        if found is None or not found.subscription.is_subscribed:
            raise UnknownSubscription
        feed = found.subscription
        cards = await self._cards(request, [feed])
        podcast = podcast_reply(url.text, cards.get(feed.feed_url), self.base_url(request))
        return JsonResponse(encode(podcast))


class FavoritesResource(_WithCards):
    """/api/2/favorites/{user}.json: episodes that apps have marked as favorites."""

    async def get(self, request: AdmittedRequest) -> Response:
        found = await self.service.devices.favorites(request.admitted.account.id)
        request.hold(chain.from_iterable([astuple(episode) for episode in found] * 2))
        urls = [episode.podcast for episode in found]
        known = await self.service.known_feeds.cards_at(request.admitted.account.id, urls)
        cards = await self._titled(request, urls, known)
        base_url = self.base_url(request)
        replies = [
            episode_reply(episode.podcast, episode.episode, cards.get(episode.podcast), base_url)
            for episode in found
        ]
        return JsonResponse(encode(replies))


class WholeListResource(_WithCards):
    """A whole list, which can be replaced."""

    async def put(self, request: AdmittedRequest) -> Response:
        body = await self.body(request)
        feeds = await in_thread_if(
            len(body) > LONG_BYTES, self._read, body, request.parameters["format"]
        )
        urls = [feed.feed_url for feed in feeds]
        refused = await self.service.url_lists.replace(
            request.admitted, urls, request.author(device_of(request))
        )
        account_id = request.admitted.account.id
        await self.service.feed_labels.take(account_id, [feed.filed() for feed in feeds])
        if refused:  # without the texts: no log has URLs
            _log.warning(
                "full list has invalid feed URLs; no feed removed",
                request_id=request.id,
                refused=refused,
            )
        return done()

    async def post(self, request: AdmittedRequest) -> Response:
        """Same as PUT, for apps that cannot send it."""
        return await self.put(request)

    def _read(self, body: bytes, kind: str) -> Sequence[ListedFeed]:
        """Parse a whole list.

        Raises:
            InvalidInput: The list is unreadable, has too many feeds, or is empty in a format other
                than JSON, where that may be a mistake. A broken list is rejected completely, since
                its unreadable part would be removed.
        """
        if kind == "json":
            items = decode(LIST, body)
            self.check_count(len(items))
            urls = [_url_of(item) if isinstance(item, dict) else text(item) for item in items]
            return [ListedFeed(0, url, None) for url in urls]
        text_of_list = decoded_exactly(body)
        read = opml.read_whole if kind == "opml" else read_urls
        feeds = read(text_of_list, self.max_items)
        if not feeds:
            raise InvalidInput("No feed URL was sent, so nothing was changed.")
        return feeds


class DeviceListResource(WholeListResource):
    """/subscriptions/{user}/{device}.{format}: the whole list, the same for each device."""

    async def get(self, request: AdmittedRequest) -> Response:
        found = await self.service.url_lists.subscribed(request.admitted.account.id)
        urls = [feed.feed_url for feed in found]
        request.hold(urls)
        is_opml = request.parameters["format"] == "opml"
        cards = await self._cards(request, found if is_opml else ())
        return await written(request, found, cards, lambda: encode(urls))


class AccountListResource(WholeListResource):
    """/subscriptions/{user}.{format}: the whole list with podcast data."""

    async def get(self, request: AdmittedRequest) -> Response:
        found = await self.service.url_lists.subscribed(request.admitted.account.id)
        urls = [feed.feed_url for feed in found]
        request.hold(urls)
        is_text = request.parameters["format"] == "txt"
        cards = await self._cards(request, () if is_text else found)
        base_url = self.base_url(request)
        return await written(
            request, found, cards, lambda: encode(_podcasts(urls, cards, base_url)), _URL_TIMES
        )


async def written(
    request: Request,
    subscriptions: list[Subscription],
    cards: Mapping[str, Card],
    as_json: Callable[[], bytes],
    url_times: int = 1,
) -> Response:
    """Return a list as JSON, OPML or text, as the path requests.

    `cards` are by feed URL; the response has each URL up to `url_times` times.
    """
    is_long = len(subscriptions) > LONG_LIST
    urls = [item.feed_url for item in subscriptions]
    request.hold(chain(chain.from_iterable([urls] * url_times), _texts(cards)))
    name = request.parameters.get("format", "json")
    if name == "json":
        return JsonResponse(await in_thread_if(is_long, as_json))
    kind = Format.OPML if name == "opml" else Format.URLS
    headers = {"Content-Type": _CONTENT_TYPES[name]}
    return JsonResponse(
        await in_thread_if(is_long, write_feed_list, subscriptions, kind, cards), headers=headers
    )


def _podcasts(urls: Iterable[str], cards: Mapping[str, Card], base_url: str) -> list[PodcastReply]:
    return [podcast_reply(url, cards.get(url), base_url) for url in urls]


def _updates(
    changes: UrlChanges, timestamp: int, cards: Mapping[str, Card], base_url: str
) -> bytes:
    added = _podcasts(changes.add, cards, base_url)
    return encode(UpdatesReply(added, changes.removed_texts, changes.removed_texts, [], timestamp))


def _texts(cards: Mapping[str, Card]) -> Iterator[str]:
    """Yield the texts of podcast data, which can be long."""
    return chain.from_iterable(map(astuple, cards.values()))


def _url_of(item: dict[str, Any]) -> str:
    return text(item.get("url")) or text(item.get("feed"))
