"""The page of one feed: its details and possible duplicates; moving, merging and deleting it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from starlette.responses import Response

from feedkeep.http.error_responses import BAD_REQUEST, OK
from feedkeep.http.pages.forms import Form, read_form
from feedkeep.http.pages.notes import Note
from feedkeep.http.requests import AdmittedRequest
from feedkeep.model import (
    Episode,
    Failure,
    Feed,
    FeedContent,
    Fetch,
    Guid,
    Pointer,
    Snapshot,
    Stamp,
    Subscription,
    Value,
    View,
)
from feedkeep.model.errors import (
    DeletedSubscription,
    FeedUrlTaken,
    InvalidInput,
    Sentence,
    UnknownSubscription,
)
from feedkeep.rules.duplicates import Pair, pair_of
from feedkeep.rules.episodes import Playing
from feedkeep.rules.feed_labels import MAX_FOLDER, NO_LABELS, Labels
from feedkeep.rules.feed_names import (
    Headline,
    Trouble,
    address_of,
    headline_of,
    moved_to,
    name_of,
    possible_duplicates,
    title_of,
    trouble_of,
    web_url,
)
from feedkeep.rules.feed_urls import as_typed, parse_feed_url
from feedkeep.rules.first_looks import advice
from feedkeep.rules.moves import found_by_https
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.rules.text_limits import MAX_DESCRIPTION, MAX_LANGUAGE, MAX_TITLE, line_of
from feedkeep.runtime.cooperative import LONG_LIST, in_thread_if
from feedkeep.web.changes import lines_of, shown_urls
from feedkeep.web.page import Page, stamps_text
from feedkeep.web.rows import folders_of, live, row_of


class NotFetched(StrEnum):
    """Reason why a feed was never fetched."""

    OFF = "off"
    """Fetching is disabled."""
    PERSONAL = "personal"
    """The address looks personal, and such feeds are not fetched."""
    UNSUBSCRIBED = "unsubscribed"
    """Only feeds with a subscriber are fetched."""
    SOON = "soon"
    """The feed is new."""


class About(Value, frozen=True):
    """A feed's details and the state of its fetches. Texts are "" if missing.

    Attributes:
        description: One paragraph.
        site_url: URL of the website, safe to link to.
        language: Language tag such as "de-AT".
        not_fetched: None if it was fetched.
        looked: Time of the last fetch.
        answered: Time of the last successful fetch.
        newest: Publication time of the newest episode; None if unknown.
        picture_looked: Time of the last fetch of the picture.
        trouble: Reading problem; None while the feed is readable.
        moved_to: New URL according to the feed.
        page_feeds: URLs of feeds named by the web page at the feed's address.
        is_page: Whether the address is a web page instead of a feed.
        advice: What to do about an address without a feed; None if there is nothing to do.
        was_read: Whether a fetch ever succeeded.
        can_permit: Whether it is fetched only if its subscriber permits it.
        by_https: The list's address with https, if the feed was found there.
    """

    description: str = ""
    site_url: str = ""
    language: str = ""
    author: str = ""
    not_fetched: NotFetched | None = None
    looked: Stamp | None = None
    answered: Stamp | None = None
    newest: Stamp | None = None
    picture_host: str = ""
    picture_looked: Stamp | None = None
    trouble: Trouble | None = None
    moved_to: str = ""
    page_feeds: Sequence[str] = ()
    is_page: bool = False
    advice: Sentence | None = None
    was_read: bool = False
    can_permit: bool = False
    by_https: str = ""


class ShownEpisode(Value, frozen=True):
    """One of the newest episodes of a feed.

    Attributes:
        link: URL of its web page, safe to link to; "" if missing.
        published: Publication time; None if unknown.
        duration_seconds: Length; None if unknown.
        playing: Its playing state; None if it was not played.
    """

    title: str
    link: str
    published: Stamp | None
    duration_seconds: int | None
    playing: Playing | None


class Duplicate(Value, frozen=True):
    """A possible duplicate of a feed in the list.

    Attributes:
        guid: Guid of the feed to keep, whose address remains after a merge.
        url: Address of the feed to merge into it.
        other: Guid of the duplicate.
        name: Name of the duplicate.
        address: Address of the duplicate.
        is_kept: Whether the duplicate is the feed to keep.
    """

    guid: Guid
    url: str
    other: Guid
    name: str
    address: str
    is_kept: bool


def about(subscription: Subscription, feed: Feed | None, fetch: Fetch, now: Stamp) -> About:
    """Return a feed's details for its page."""
    is_permitted = feed is not None and feed.is_permitted
    may = may_look_at(subscription.feed_url, fetch, is_permitted=is_permitted)
    can_permit = subscription.is_subscribed and fetch is Fetch.PUBLIC and not may
    if feed is None or feed.looked is None:
        not_fetched = _not_fetched(subscription, fetch, may=may)
        return About(not_fetched=not_fetched, can_permit=can_permit)
    content, moved = feed.content or FeedContent(), moved_to(feed)
    return About(
        description=line_of(content.description, MAX_DESCRIPTION),
        site_url=web_url(content.site_url),
        language=line_of(content.language, MAX_LANGUAGE),
        author=line_of(content.author, MAX_TITLE),
        looked=feed.looked,
        answered=feed.answered,
        newest=content.newest,
        picture_host=address_of(feed.picture_url).host,
        picture_looked=feed.picture_looked,
        trouble=trouble_of(headline_of(feed), now) if subscription.is_subscribed else None,
        moved_to=moved.text if moved else "",
        page_feeds=() if feed.content else [url for url in feed.page_feeds if web_url(url)],
        is_page=feed.failure is Failure.NOT_A_FEED,
        advice=advice(subscription.feed_url, feed.failure),
        was_read=feed.answered is not None,
        can_permit=can_permit,
        by_https=found_by_https(subscription.feed_url, feed),
    )


def shown_episode(episode: Episode, playing: Playing | None) -> ShownEpisode:
    """Return an episode for the page of its feed."""
    return ShownEpisode(
        line_of(episode.title, MAX_TITLE),
        web_url(episode.link),
        episode.published,
        episode.duration_seconds,
        playing,
    )


def duplicates(
    subscription: Subscription,
    feeds: Iterable[Subscription],
    known: Mapping[str, Headline],
    apart: Collection[Pair],
    labels: Labels = NO_LABELS,
) -> Sequence[Duplicate]:
    """Return possible duplicates of a subscription, without pairs marked as different (`apart`)."""
    live = {feed.guid: feed for feed in feeds}
    for group in possible_duplicates(live.values(), known, apart):
        if subscription.guid in group:
            keep, *others = (
                live[guid] for guid in group if pair_of(subscription.guid, guid) not in apart
            )
            if keep.guid == subscription.guid:
                return [_twin(keep, other, other, known, labels) for other in others]
            return [_twin(keep, subscription, keep, known, labels)]
    return ()


def _twin(
    keep: Subscription,
    merged: Subscription,
    other: Subscription,
    known: Mapping[str, Headline],
    labels: Labels,
) -> Duplicate:
    headline = known.get(other.feed_url)
    title = labels.title(other.feed_url, headline.title if headline else "")
    name = name_of(other.feed_url, title)
    return Duplicate(keep.guid, merged.feed_url, other.guid, name, other.feed_url, other is keep)


def _not_fetched(subscription: Subscription, fetch: Fetch, *, may: bool) -> NotFetched:
    if fetch is Fetch.OFF:
        return NotFetched.OFF
    if not may:
        return NotFetched.PERSONAL
    return NotFetched.SOON if subscription.is_subscribed else NotFetched.UNSUBSCRIBED


_TAKEN = Sentence(
    "This address belongs to another feed in your list. If the two are the same, merge them below."
)


_CHANGES = 20
_FORMER_GUIDS = 20


class FeedPage(Page):
    """/feeds/{guid} and its forms."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Show a feed of the list."""
        found = await self._found(request)
        if found.entry.guid != found.subscription.guid:  # a bookmark from before a move
            return self.redirect(request, _place(found.subscription.guid))
        return await self._feed(request, found.subscription)

    async def move(self, request: AdmittedRequest) -> Response:
        """Change the feed's address; apps are notified only on request."""
        found = (await self._found(request)).subscription
        form = await read_form(request)
        account_id = request.admitted.account.id
        try:
            moved = await self.service.url_lists.move(
                account_id,
                found.feed_url,
                as_typed(form.text("new_url")),
                request.author(),
                notify_apps=form.text("tell_apps") == "1",
            )
        except FeedUrlTaken:
            return await self._refused(request, found, form, "new_url", _TAKEN)
        except InvalidInput as error:
            return await self._refused(request, found, form, "new_url", error.sentence)
        await self.wait_for_first_fetch(request, found.guid)
        return self.redirect(request, _place(found.guid), _note("moved", moved.stamp))

    async def merge(self, request: AdmittedRequest) -> Response:
        """Merge this feed with another one."""
        found = (await self._found(request)).subscription
        form = await read_form(request)
        account_id = request.admitted.account.id
        try:
            merged = await self.service.subscriptions.merge(
                account_id, found.guid, as_typed(form.text("other_url")), request.author()
            )
        except InvalidInput as error:
            return await self._refused(request, found, form, "other_url", error.sentence)
        return self.redirect(request, _place(merged.outcome), _note("merged", merged.stamp))

    async def keep_apart(self, request: AdmittedRequest) -> Response:
        """Mark this feed and another one as different."""
        found = (await self._found(request)).subscription
        form = await read_form(request)
        other = (await self._live(request, form.text("other"))).subscription
        await self.service.not_duplicates.keep(request.admitted.account.id, found.guid, other.guid)
        return self.redirect(request, _place(found.guid), Note("kept-apart"))

    async def permit(self, request: AdmittedRequest) -> Response:
        """Permit fetching a feed whose address looks personal."""
        found = (await self._found(request)).subscription
        feed = await self.service.known_feeds.of(found)
        told = about(found, feed, self.settings.fetch, self.service.now())
        if told.can_permit:  # false for an outdated page
            await self.service.known_feeds.permit(request.admitted.account.id, found)
        return self.redirect(request, _place(found.guid))

    async def label(self, request: AdmittedRequest) -> Response:
        """Set title and folder."""
        found = (await self._found(request)).subscription
        form = await read_form(request)
        feed = await self.service.known_feeds.of(found)
        await self.service.feed_labels.edit(
            request.admitted.account.id,
            found.guid,
            form.text("title"),
            form.text("folder"),
            title_of(feed),
        )
        return self.redirect(request, _place(found.guid), Note("saved"))

    async def delete(self, request: AdmittedRequest) -> Response:
        """Delete the feed from the list."""
        found = (await self._found(request)).subscription
        deleted = await self.service.subscriptions.delete(
            request.admitted.account.id, found.guid, request.author()
        )
        name = await self.name(request, found.feed_url)
        return self.redirect(request, "/", _note("deleted", deleted.stamp, name))

    async def _found(self, request: AdmittedRequest) -> View:
        return await self._live(request, request.parameters["guid"])

    async def _live(self, request: AdmittedRequest, guid: str) -> View:
        """Return the feed with a guid.

        Raises:
            UnknownSubscription: The list has no such feed.
            DeletedSubscription: The feed was deleted.
        """
        found = await self.service.subscriptions.view(request.admitted.account.id, guid)
        if found is None:
            raise UnknownSubscription
        if found.subscription.deleted is not None:
            raise DeletedSubscription
        return found

    async def _refused(
        self,
        request: AdmittedRequest,
        found: Subscription,
        form: Form,
        field: str,
        problem: Sentence,
    ) -> Response:
        return await self._feed(request, found, BAD_REQUEST, typed=form, problems={field: problem})

    async def _feed(
        self, request: AdmittedRequest, found: Subscription, status: int = OK, **values: Any
    ) -> Response:
        account_id = request.admitted.account.id
        whole = await self.service.subscriptions.whole(account_id)
        is_long = len(whole.entries) > LONG_LIST
        pointers, feeds = await in_thread_if(is_long, lambda: (_led_to(found, whole), live(whole)))
        aliases = [found.alias, *(pointer.alias for pointer in pointers)]
        former = [alias.url for alias in aliases if alias is not None]
        former_guids = [pointer.guid for pointer in pointers if pointer.guid_changed]
        guids = [found.guid, *former_guids[:_FORMER_GUIDS]]
        listed = await self.service.history.of_feed(account_id, guids, whole, _CHANGES)
        now, known = self.service.now(), self.service.known_feeds
        feed = await known.of(found)
        headlines = await known.headlines(feeds)
        latest = await self.service.episodes.episodes_of(found)
        playing = await self.service.episodes.playing(account_id, found, latest)
        told = about(found, feed, self.settings.fetch, now)
        there = _other_at(told.moved_to, found, whole) if told.moved_to else None
        apart = await self.service.not_duplicates.of(account_id)
        labels = await self.service.feed_labels.of(account_id)
        return await self.show(
            request,
            "feed.html",
            status,
            is_long=True,
            feed=found,
            row=row_of(found, headline_of(feed) if feed else None, now, labels),
            title=labels.title(found.feed_url, title_of(feed)),
            folder=labels.folder(found.feed_url),
            folders=await in_thread_if(
                is_long, folders_of, (labels.folder(one.feed_url) for one in feeds)
            ),
            max_title=MAX_TITLE,
            max_folder=MAX_FOLDER,
            about=told,
            episodes=[shown_episode(one, playing.get(one)) for one in latest],
            there=there,
            duplicates=await in_thread_if(
                is_long, duplicates, found, feeds, headlines, apart, labels
            ),
            former_urls=former,
            former_guids=former_guids,
            lines=await in_thread_if(
                True,
                lines_of,
                listed,
                await self.devices(account_id, listed.authors.values()),
                await self.titles(request, shown_urls(listed)),
            ),
            guids=guids,
            has_more=listed.has_more,
            now=now,
            **values,
        )


def _led_to(found: Subscription, whole: Snapshot) -> list[Pointer]:
    """Return the pointers that resolve to a feed."""
    return [
        entry
        for entry in whole.entries.values()
        if isinstance(entry, Pointer) and entry.new_guid == found.guid
    ]


def _other_at(url: str, found: Subscription, whole: Snapshot) -> Subscription | None:
    """Return the other feed at a URL, where `found` cannot move; None if the URL is free."""
    entry = whole.entries.get(parse_feed_url(url).guid)
    if isinstance(entry, Pointer):
        entry = whole.entries.get(entry.new_guid)
    if not isinstance(entry, Subscription) or entry == found or entry.deleted is not None:
        return None
    return entry


def _note(kind: str, stamp: Stamp | None, name: str = "") -> Note:
    return Note(kind, {"name": name, "stamps": stamps_text([stamp] if stamp else [])})


def _place(guid: Guid) -> str:
    return f"/feeds/{guid}"
