"""A session of an app that uses openapi-python-client's client."""

from __future__ import annotations

import os

from feedkeep_client import AuthenticatedClient
from feedkeep_client.api.subscriptions import (
    add_subscriptions,
    delete_subscription,
    list_subscriptions,
    read_deletion,
    read_subscription,
    update_subscription,
)
from feedkeep_client.models import (
    AddReply,
    AddRequest,
    DeletedReply,
    DeletionReply,
    Error,
    FeedToAdd,
    Page,
    UpdateReply,
    UpdateRequest,
)

FEEDS = ("https://feeds.example/one", "https://feeds.example/two", "feeds.example/no-protocol")

with AuthenticatedClient(os.environ["FEEDKEEP_URL"], os.environ["FEEDKEEP_TOKEN"]) as client:
    wanted = AddRequest([FeedToAdd(url) for url in FEEDS])
    added = add_subscriptions.sync(client=client, body=wanted)
    assert isinstance(added, AddReply)
    assert [item.feed_url for item in added.success] == list(FEEDS[:2])
    assert added.failure[0].message.startswith("No protocol present")
    one, two = (item.guid for item in added.success)

    listed = list_subscriptions.sync(client=client)
    assert isinstance(listed, Page)
    assert listed.total == 2
    since = max(entry.subscription_changed for entry in listed.subscriptions)

    changed = update_subscription.sync(one, client=client, body=UpdateRequest(is_subscribed=False))
    assert isinstance(changed, UpdateReply)
    listed = list_subscriptions.sync(client=client, since=since)
    assert isinstance(listed, Page)
    assert [(entry.guid, entry.is_subscribed) for entry in listed.subscriptions] == [(one, False)]

    deleted = delete_subscription.sync(two, client=client)
    assert isinstance(deleted, DeletedReply)
    deletion = read_deletion.sync(deleted.deletion_id, client=client)
    assert isinstance(deletion, DeletionReply)
    assert deletion.status == "SUCCESS"
    listed = list_subscriptions.sync(client=client, since=changed.subscription_changed)
    assert isinstance(listed, Page)
    assert [bool(entry.deleted) for entry in listed.subscriptions] == [True]
    gone = read_subscription.sync(two, client=client)
    assert isinstance(gone, Error)
    assert gone.code == "410"
