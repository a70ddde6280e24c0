"""A session of an app that uses openapi-generator's Python client."""

from __future__ import annotations

import os

from feedkeep_client import (
    AddRequest,
    ApiClient,
    ApiException,
    Configuration,
    FeedToAdd,
    SubscriptionsApi,
    UpdateRequest,
)

FEEDS = ("https://feeds.example/one", "https://feeds.example/two", "feeds.example/no-protocol")

configuration = Configuration(
    host=os.environ["FEEDKEEP_URL"], access_token=os.environ["FEEDKEEP_TOKEN"]
)
with ApiClient(configuration) as client:
    api = SubscriptionsApi(client)
    added = api.add_subscriptions(
        AddRequest(subscriptions=[FeedToAdd(feed_url=url) for url in FEEDS])
    )
    assert [item.feed_url for item in added.success] == list(FEEDS[:2])
    assert added.failure[0].message.startswith("No protocol present")
    one, two = (item.guid for item in added.success)

    listed = api.list_subscriptions()
    since = max(entry.subscription_changed for entry in listed.subscriptions)
    assert listed.total == 2
    assert api.list_subscriptions(since=since).total == 0

    changed = api.update_subscription(one, UpdateRequest(is_subscribed=False))
    assert changed.subscription_changed > since
    (entry,) = api.list_subscriptions(since=since).subscriptions
    assert (entry.guid, entry.is_subscribed) == (one, False)

    deleted = api.delete_subscription(two)
    assert api.read_deletion(deleted.deletion_id).status == "SUCCESS"
    gone = api.list_subscriptions(since=changed.subscription_changed).subscriptions
    assert [entry.deleted is not None for entry in gone] == [True]
    try:
        api.read_subscription(two)
        raise AssertionError("A deleted subscription was read.")
    except ApiException as error:
        assert error.status == 410
