"""One fetch of a feed: the response, its content, and the picture."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from feedkeep.feeds.pictures import MAX_BYTES as MAX_PICTURE_BYTES
from feedkeep.feeds.pictures import shrink
from feedkeep.feeds.reading import limit_of, newest_episodes, read_with_episodes
from feedkeep.feeds.web_pages import feeds_of_page, has_enclosures, may_be_feed
from feedkeep.model import (
    Episode,
    Failure,
    Feed,
    FeedContent,
    FetchResult,
    MovedFeed,
    Picture,
    Stamp,
    replace,
)
from feedkeep.model.errors import NotAFeed, NotAPicture
from feedkeep.outbound.client import Answer, GuardedClient, Meter
from feedkeep.outbound.failures import Exhausted, RequestError
from feedkeep.rules.clock import DAY_US, SECOND_US, shift
from feedkeep.rules.feed_schedule import wants_picture
from feedkeep.rules.moves import leads_to, may_move

_ACCEPT = (
    "application/rss+xml, application/atom+xml, application/feed+json;q=0.9,"
    " application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.5"
)
_ACCEPT_PICTURE = "image/webp, image/png, image/jpeg, image/gif;q=0.9, */*;q=0.5"
_MORE_SECONDS = 15.0
"""Timeout of all further requests of a fetch: the new address of a feed, and its picture.

The publisher of a feed chooses these, and delays other feeds by no more than that and a pending
name lookup.
"""

_MORE_REDIRECTS = 2
"""Maximum number of redirects of each further request."""

BRIEF_SECONDS = 5.0
"""Timeout of a brief fetch, for which a person waits; a pending name lookup outlasts it."""

MAX_BRIEF_BYTES = 2 * 1024 * 1024
"""Maximum size of a brief fetch: enough for the feed's own fields, and for a page's head."""

_MAX_HEADER = 1_000
_PERMANENT = {HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.PERMANENT_REDIRECT}
_FAILURES: dict[int, Failure] = {
    HTTPStatus.NOT_FOUND: Failure.NOT_FOUND,
    HTTPStatus.GONE: Failure.GONE,
}


class Fetcher:
    """Fetches feeds through the guarded client; a feed that cannot be read is a result, too.

    Args:
        episode_limit: Maximum number of episodes to read of each feed.
    """

    def __init__(self, client: GuardedClient, episode_limit: int = 0) -> None:
        self._client = client
        self._episode_limit = episode_limit
        self._decoding = asyncio.Lock()  # one picture at a time: a large one needs 260 MB

    async def look(self, feed: Feed, now: Stamp) -> FetchResult:
        """Fetch a feed, its new URL and its picture; other URLs in it are not requested (C10.7).

        Raises:
            Exhausted: This machine lacks resources.
            MemoryError: This machine lacks memory.
        """
        meter = Meter()
        looked = await self._look(feed, now, meter)
        return replace(looked, received_bytes=meter.received_bytes)

    async def look_briefly(self, feed: Feed, now: Stamp) -> FetchResult:
        """Fetch the beginning of a feed, in `BRIEF_SECONDS`; no other URL in it is requested.

        Raises as `look`.
        """
        meter = Meter()
        looked = FetchResult(failure=Failure.TOO_SLOW)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BRIEF_SECONDS):
                answer, looked = await self._requested(feed, now, meter, MAX_BRIEF_BYTES)
                if answer and looked.content:
                    has = await asyncio.to_thread(has_enclosures, answer.body)
                    looked = replace(looked, has_enclosures=has)
        return replace(looked, received_bytes=meter.received_bytes)

    async def _requested(
        self, feed: Feed, now: Stamp, meter: Meter, max_bytes: int | None = None
    ) -> tuple[Answer | None, FetchResult]:
        """Return the answer at a feed's URL, None without a usable one, and what was read in it."""
        # If the limit was changed, an answer that nothing changed would leave the old episodes.
        known = feed.content is not None and limit_of(feed.episodes) == self._episode_limit
        try:
            answer = await self._client.get(
                feed.url,
                accept=_ACCEPT,
                etag=feed.etag if known else "",
                last_modified=feed.last_modified if known else "",
                may_cut=True,
                is_feed=may_be_feed,
                max_bytes=max_bytes,
                meter=meter,
            )
        except Exhausted:
            raise
        except RequestError as error:
            return None, FetchResult(failure=error.kind, reason=str(error))
        looked = _answered(answer, now)
        if looked.failure is not None:
            return answer, looked
        if answer.status != HTTPStatus.NOT_MODIFIED:
            try:
                content, found = await _read(answer, now, self._episode_limit)
                newest = newest_episodes(found, self._episode_limit)
                episodes = newest if newest.validator != feed.episodes else None
                looked = replace(looked, content=content, episodes=episodes)
            except NotAFeed as error:
                page = (answer.body, answer.content_type, answer.url)
                named = await asyncio.to_thread(feeds_of_page, *page)
                # A cut document may still be a feed, such as JSON.
                failure = Failure.TOO_LARGE if answer.is_cut else Failure.NOT_A_FEED
                looked = replace(looked, failure=failure, reason=str(error), page_feeds=named)
        return answer, looked

    async def _look(self, feed: Feed, now: Stamp, meter: Meter) -> FetchResult:
        answer, looked = await self._requested(feed, now, meter)
        if answer is None or looked.failure is not None:
            return looked
        content = looked.content
        loop = asyncio.get_running_loop()
        until = loop.time() + _MORE_SECONDS
        moved_feed = await self._moved_feed(feed, content, answer, looked, until, now, meter)
        looked = replace(looked, moved_feed=moved_feed)
        shown = content or feed.content
        if shown is None or not wants_picture(feed, shown, now) or loop.time() >= until:
            return looked
        try:
            picture = await self._picture(shown.picture_url, until, meter)
        except (Exhausted, MemoryError):  # does not count as a try
            return looked
        return replace(looked, picture=picture, picture_tried=shown.picture_url)

    async def _moved_feed(
        self,
        feed: Feed,
        content: FeedContent | None,
        answer: Answer,
        looked: FetchResult,
        until: float,
        now: Stamp,
        meter: Meter,
    ) -> MovedFeed | None:
        """Return the feed at the new address, which a redirect or the feed itself names.

        A feed's own statement counts only at its own address, since a temporary redirect may return
        anything; and the feed at the new address must not name the old address in turn.
        """
        if looked.is_moved:
            return MovedFeed(answer.url, content) if content else None
        said = content or feed.content
        if answer.hops or said is None or not may_move(feed.url, said.new_feed_url):
            return None
        with contextlib.suppress(RequestError, NotAFeed, TimeoutError):
            async with asyncio.timeout_at(until):
                there = await self._client.get(
                    said.new_feed_url,
                    accept=_ACCEPT,
                    max_redirects=_MORE_REDIRECTS,
                    may_cut=True,
                    is_feed=may_be_feed,
                    meter=meter,
                )
            if there.status == HTTPStatus.OK and may_move(feed.url, there.url):
                found, _ = await _read(there, now, 0)
                if not leads_to(found.new_feed_url, feed.guid):
                    return MovedFeed(said.new_feed_url, found)
        return None

    async def _picture(self, url: str, until: float, meter: Meter) -> Picture | None:
        try:
            async with asyncio.timeout_at(until):
                answer = await self._client.get(
                    url,
                    accept=_ACCEPT_PICTURE,
                    max_bytes=MAX_PICTURE_BYTES,
                    max_redirects=_MORE_REDIRECTS,
                    meter=meter,
                )
            if answer.status == HTTPStatus.OK:
                async with self._decoding:
                    return await asyncio.to_thread(shrink, answer.body)
        except Exhausted:
            raise
        except (RequestError, NotAPicture, TimeoutError):
            pass
        return None


def _answered(answer: Answer, now: Stamp) -> FetchResult:
    """Translate the status and headers of a response."""
    permanent = [hop.status in _PERMANENT for hop in answer.hops]
    looked = FetchResult(
        is_moved=bool(permanent) and all(permanent),
        is_redirected=any(permanent),
        etag="" if answer.hops else _short(answer.etag),
        last_modified="" if answer.hops else _short(answer.last_modified),
        retry_after_seconds=_seconds_until(answer.retry_after, now),
    )
    if answer.status in {HTTPStatus.OK, HTTPStatus.NOT_MODIFIED}:
        return looked
    failure = _FAILURES.get(answer.status, Failure.ERROR_STATUS)
    return replace(looked, failure=failure, reason=f"The host answers {answer.status}.")


def _seconds_until(retry_after: str, now: Stamp) -> int:
    """Return the delay in seconds of a `Retry-After` header (RFC 9110, section 10.2.3)."""
    if retry_after.isdecimal():
        return min(int(retry_after[:9]), 10**9)
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        moment = parsedate_to_datetime(retry_after)
        return max(int((moment - datetime.fromtimestamp(now / SECOND_US, UTC)).total_seconds()), 0)
    return 0


def _short(header: str) -> str:
    return header if len(header) <= _MAX_HEADER else ""


async def _read(
    answer: Answer, now: Stamp, episode_limit: int
) -> tuple[FeedContent, Sequence[Episode]]:
    document = (answer.body, answer.content_type, answer.url)
    latest = shift(now, DAY_US)
    return await asyncio.to_thread(read_with_episodes, *document, latest, episode_limit)
