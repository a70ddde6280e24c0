"""JSON of requests and replies, with exactly the names of the Open Podcast API (C1.5)."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct, UnsetType

from feedkeep.model import (
    Deletion,
    Feed,
    FeedContent,
    Page,
    Pointer,
    Stamp,
    View,
)
from feedkeep.model.stamps import write_stamp
from feedkeep.rules.feed_names import moved_to, title_of, web_url
from feedkeep.rules.feed_urls import parse_new_feed_url
from feedkeep.rules.guids import parse_guid
from feedkeep.rules.subscriptions import Added, Refused, Update, Updated, Wanted, want
from feedkeep.rules.text_limits import MAX_DESCRIPTION, MAX_LANGUAGE, MAX_TITLE, line_of


class AddItem(Struct):
    """A feed to add."""

    feed_url: str
    guid: str | None = None


class AddRequest(Struct):
    """The body of POST /subscriptions."""

    subscriptions: list[AddItem]


class UpdateRequest(Struct):
    """The body of PATCH /subscriptions/{guid}; null counts as omitted (C1.21)."""

    new_feed_url: str | None = None
    new_guid: str | None = None
    is_subscribed: bool | None = None


class SuccessItem(Struct):
    """An accepted item of POST /subscriptions.

    Attributes:
        new_feed_url: URL of the subscription, if it differs from the one sent (C5.30).
    """

    feed_url: str
    guid: str
    is_subscribed: bool
    subscription_changed: str
    new_feed_url: str | UnsetType = UNSET


class FailureItem(Struct):
    """A refused item of POST /subscriptions, with the reason."""

    feed_url: str
    message: str


class AddReply(Struct):
    """The reply to POST /subscriptions; both lists are in the order of the request."""

    success: list[SuccessItem]
    failure: list[FailureItem]


class SubscriptionReply(Struct):
    """An entry: the reply to GET /subscriptions/{guid}, and an item of a list (C10.1)."""

    feed_url: str
    guid: str
    is_subscribed: bool
    subscription_changed: str | UnsetType = UNSET
    new_guid: str | UnsetType = UNSET
    guid_changed: str | UnsetType = UNSET
    deleted: str | UnsetType = UNSET


class UpdateReply(Struct):
    """The reply to PATCH /subscriptions/{guid}: the fields in the request."""

    new_feed_url: str | UnsetType = UNSET
    is_subscribed: bool | UnsetType = UNSET
    subscription_changed: str | UnsetType = UNSET
    new_guid: str | UnsetType = UNSET
    guid_changed: str | UnsetType = UNSET


class PageReply(Struct):
    """The reply to GET /subscriptions."""

    total: int
    page: int
    per_page: int
    subscriptions: list[SubscriptionReply]
    next: str | UnsetType = UNSET
    previous: str | UnsetType = UNSET


class FeedReply(Struct):
    """The reply to GET /subscriptions/{guid}/feed: known values only (C10.2)."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    site_url: str | UnsetType = UNSET
    picture_url: str | UnsetType = UNSET
    language: str | UnsetType = UNSET
    author: str | UnsetType = UNSET
    podcast_guid: str | UnsetType = UNSET
    last_fetched: str | UnsetType = UNSET
    failing_since: str | UnsetType = UNSET
    moved_to: str | UnsetType = UNSET


class DeletedReply(Struct):
    """The reply to DELETE /subscriptions/{guid}."""

    deletion_id: int
    message: str


class DeletionReply(Struct):
    """The reply to GET /deletions/{id}."""

    deletion_id: int
    status: str
    message: str


ADD_REQUEST = msgspec.json.Decoder(AddRequest)
UPDATE_REQUEST = msgspec.json.Decoder(UpdateRequest)


def items_wanted(request: AddRequest) -> list[Wanted | Refused]:
    """Return the items of a request, each checked separately."""
    return [want(item.feed_url, item.guid) for item in request.subscriptions]


def update_wanted(request: UpdateRequest) -> Update:
    """Return the update in a PATCH, completely checked before the store is read (C5.17).

    Raises:
        InvalidInput: The URL or the guid is invalid.
    """
    url, guid = request.new_feed_url, request.new_guid
    return Update(
        None if url is None else parse_new_feed_url(url),
        None if guid is None else parse_guid(guid),
        request.is_subscribed,
    )


def add_reply(results: list[Added | Refused]) -> AddReply:
    return AddReply(
        success=[_success_item(item) for item in results if isinstance(item, Added)],
        failure=[
            FailureItem(item.feed_url, item.message)
            for item in results
            if isinstance(item, Refused)
        ],
    )


def subscription_reply(view: View) -> SubscriptionReply:
    """Return an entry for the API; a pointer with the subscription it resolves to (C5.15)."""
    entry, subscription = view.entry, view.subscription
    if isinstance(entry, Pointer):
        return SubscriptionReply(
            subscription.feed_url,
            entry.guid,
            subscription.is_subscribed,
            new_guid=entry.new_guid,
            guid_changed=_stamp_or_unset(entry.guid_changed),
        )
    # Positional arguments, and no call for missing values: a page has 50 of these.
    return SubscriptionReply(
        entry.feed_url,
        entry.guid,
        entry.is_subscribed,
        write_stamp(entry.subscription_changed),
        UNSET,
        UNSET if entry.guid_changed is None else write_stamp(entry.guid_changed),
        UNSET if entry.deleted is None else write_stamp(entry.deleted),
    )


def update_reply(updated: Updated) -> UpdateReply:
    return UpdateReply(
        new_feed_url=UNSET if updated.new_feed_url is None else updated.new_feed_url,
        is_subscribed=UNSET if updated.is_subscribed is None else updated.is_subscribed,
        subscription_changed=_stamp_or_unset(updated.subscription_changed),
        new_guid=UNSET if updated.new_guid is None else updated.new_guid,
        guid_changed=_stamp_or_unset(updated.guid_changed),
    )


def page_reply(
    page: Page, number: int, per_page: int, next_url: str | None, previous_url: str | None
) -> PageReply:
    return PageReply(
        total=page.total,
        page=number,
        per_page=per_page,
        subscriptions=[subscription_reply(view) for view in page.views],
        next=UNSET if next_url is None else next_url,
        previous=UNSET if previous_url is None else previous_url,
    )


def feed_reply(feed: Feed | None) -> FeedReply:
    """Return the stored data about a feed, without unknown fields (C10.3)."""
    if feed is None:
        return FeedReply()
    content, moved = feed.content or FeedContent(), moved_to(feed)
    return FeedReply(
        title=title_of(feed) or UNSET,
        description=line_of(content.description, MAX_DESCRIPTION) or UNSET,
        site_url=web_url(content.site_url) or UNSET,
        picture_url=web_url(content.picture_url) or UNSET,
        language=line_of(content.language, MAX_LANGUAGE) or UNSET,
        author=line_of(content.author, MAX_TITLE) or UNSET,
        podcast_guid=content.podcast_guid or UNSET,
        last_fetched=_stamp_or_unset(feed.answered),
        failing_since=_stamp_or_unset(feed.failing),
        moved_to=moved.text if moved else UNSET,
    )


def deleted_reply(deletion: Deletion) -> DeletedReply:
    return DeletedReply(deletion.id, "The subscription has been deleted.")


def deletion_reply(deletion: Deletion) -> DeletionReply:
    """Return the state of a deletion; all stored deletions are complete."""
    return DeletionReply(deletion.id, "SUCCESS", "The subscription has been deleted.")


def _success_item(added: Added) -> SuccessItem:
    subscription = added.subscription
    return SuccessItem(
        added.feed_url,
        subscription.guid,
        subscription.is_subscribed,
        write_stamp(subscription.subscription_changed),
        UNSET if subscription.feed_url == added.feed_url else subscription.feed_url,
    )


def _stamp_or_unset(stamp: Stamp | None) -> str | UnsetType:
    return UNSET if stamp is None else write_stamp(stamp)
