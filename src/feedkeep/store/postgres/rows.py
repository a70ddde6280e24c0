"""Entries as rows of PostgreSQL, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from feedkeep.model import Alias, Entry, Guid, Pointer, Subscription, View

COLUMNS = {
    "guid": "uuid",
    "new_guid": "uuid",
    "feed_url": "text",
    "is_subscribed": "boolean",
    "subscription_changed": "bigint",
    "guid_changed": "bigint",
    "deleted": "bigint",
    "alias_url": "text",
    "alias_moved_away": "boolean",
}
"""The columns of an entry with their types, but for the account and the revision."""

WIDTH = len(COLUMNS)


def columns_of(alias: str) -> str:
    """Return the columns of a table that the statement calls `alias`."""
    return ", ".join(f"{alias}.{name}" for name in COLUMNS)


def row_of(entry: Entry) -> tuple[Any, ...]:
    """Return the values of `COLUMNS` and the revision."""
    alias = (entry.alias.url, entry.alias.moved_away) if entry.alias else (None, None)
    changed = entry.guid_changed
    if isinstance(entry, Pointer):
        return (entry.guid, entry.new_guid, None, None, None, changed, None, *alias, changed)
    return (
        entry.guid,
        None,
        entry.feed_url,
        entry.is_subscribed,
        entry.subscription_changed,
        changed,
        entry.deleted,
        *alias,
        entry.revision,
    )


def entry_of(row: Sequence[Any]) -> Entry:
    """Return the entry whose `COLUMNS` a row has."""
    (guid, new_guid, url, is_subscribed, changed, guid_changed, deleted, alias_url, moved) = row
    alias = Alias(alias_url, moved) if alias_url is not None else None
    if new_guid is not None:
        return Pointer(Guid(str(guid)), Guid(str(new_guid)), guid_changed, alias)
    return Subscription(Guid(str(guid)), url, is_subscribed, changed, guid_changed, deleted, alias)


def view_of(row: Sequence[Any]) -> View:
    """Return the view whose entry, and then its subscription unless it is one, a row has."""
    entry = entry_of(row[:WIDTH])
    if isinstance(entry, Subscription):
        return View(entry, entry)
    subscription = entry_of(row[WIDTH : 2 * WIDTH])
    assert isinstance(subscription, Subscription)
    return View(entry, subscription)
