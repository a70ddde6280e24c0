"""What is kept as rows of a table, and back; the stores differ in how they write a guid only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import astuple

from feedkeep.model import (
    Account,
    AccountId,
    Alias,
    Counts,
    Deletion,
    Document,
    Entry,
    EpisodeAction,
    Found,
    Guid,
    Owner,
    OwnUpload,
    Pointer,
    Record,
    Subscription,
    Token,
    View,
)

COUNTS = ("subscribed_count", "announced_count", "entry_count")
"""The columns of an account that say how much is in its list."""

ACCOUNT = (
    "name",
    "password_hash",
    "is_disabled",
    "created",
    "last_stamp",
    "last_action_stamp",
    *COUNTS,
)
OWNER = (*ACCOUNT, "name_key", "last_token_id")
TOKEN = (
    "id",
    "hash",
    "label",
    "created",
    "expires",
    "revoked",
    "is_session",
    "is_shared",
    "of_token",
    "is_granted",
    "told_subscriptions",
    "heard_subscriptions",
    "told_actions",
    "heard_actions",
    "own_subscriptions",
    "own_actions",
)
NEW_TOKEN = TOKEN[: TOKEN.index("told_subscriptions")]
"""The columns of a token whose bearer has not been told anything yet."""

DELETION = ("id", "guid")
ENTRY = (
    "guid",
    "new_guid",
    "feed_url",
    "is_subscribed",
    "subscription_changed",
    "guid_changed",
    "deleted",
    "alias_url",
    "alias_moved_away",
    "alias_retired",
    "status_changed",
    "app_url",
    "app_url_until",
)
"""The columns of an entry, but for the account and the revision."""

SAVED_ENTRY = (*ENTRY, "revision")
ACTION = (
    "key",
    "podcast_guid",
    "podcast",
    "episode",
    "device",
    "kind",
    "done",
    "started",
    "position",
    "total",
    "episode_guid",
    "revision",
)
DOCUMENT = ("kind", "name", "body")

_OWN = msgspec.json.Decoder(tuple[OwnUpload, ...])
_TOLD = len(NEW_TOKEN)
_WIDTH = len(ENTRY)
_ACCOUNT_END = 1 + len(ACCOUNT)
_TOKEN_END = _ACCOUNT_END + len(TOKEN)


def columns(names: Sequence[str], alias: str = "") -> str:
    """Return columns as a statement lists them, of the table that it calls `alias`."""
    return ", ".join(f"{alias}.{name}" if alias else name for name in names)


def table_of(record: Record) -> tuple[str, Sequence[str]]:
    """Return the table that keeps a record, and its columns but for the account's id."""
    match record:
        case Owner():
            return "account", OWNER
        case Token():
            return "token", TOKEN
        case Deletion():
            return "deletion", DELETION
        case Subscription() | Pointer():
            return "entry", SAVED_ENTRY
        case EpisodeAction():
            return "episode_action", ACTION
        case Document():
            return "document", DOCUMENT


def account_of(row: Sequence[Any]) -> Account:
    """Return the account whose id and `ACCOUNT` columns a row has."""
    number, name, password_hash, is_disabled, created, last_stamp, last_action, *counts = row
    clocks = (last_stamp, last_action)
    is_out = bool(is_disabled)
    kept = Counts(*counts)
    return Account(AccountId(number), name, password_hash, is_out, created, *clocks, kept)


def token_of(row: Sequence[Any]) -> Token:
    """Return the token whose `TOKEN` columns a row has."""
    number, token_hash, label, created, expires, revoked, *kind = row[:_TOLD]
    session, shared, of_token, granted = kind
    kept = (number, token_hash, label, created, expires, revoked)
    *told, own_subscriptions, own_actions = row[_TOLD:]
    told += [_own_of(own_subscriptions), _own_of(own_actions)]
    return Token(*kept, bool(session), bool(shared), of_token, bool(granted), *told)


def own_row(own: Sequence[OwnUpload]) -> str | None:
    """Return the column of what an app sent last."""
    return msgspec.json.encode(own).decode() if own else None


def _own_of(text: str | None) -> Sequence[OwnUpload]:
    return _OWN.decode(text) if text else ()


def new_token_row(token: Token) -> tuple[Any, ...]:
    """Return the `NEW_TOKEN` columns of a token."""
    return astuple(token)[:_TOLD]


class Rows:
    """Translates between what is kept and the columns of a store."""

    def __init__(self, write_guid: Callable[[Guid], Any], read_guid: Callable[[Any], Guid]) -> None:
        self._write = write_guid
        self._read = read_guid

    def entry_of(self, row: Sequence[Any]) -> Entry:
        """Return the entry whose `ENTRY` columns a row has."""
        guid, new_guid, url, is_subscribed, changed, guid_changed, deleted, *others = row
        alias_url, moved, retired, *told = others
        alias = Alias(alias_url, bool(moved), retired) if alias_url is not None else None
        if new_guid is not None:
            return Pointer(self._read(guid), self._read(new_guid), guid_changed, alias)
        return Subscription(
            self._read(guid),
            url,
            bool(is_subscribed),
            changed,
            guid_changed,
            deleted,
            alias,
            *told,
        )

    def view_of(self, row: Sequence[Any]) -> View:
        """Return the view whose entry, and then its subscription unless it is one, a row has."""
        entry = self.entry_of(row[:_WIDTH])
        if isinstance(entry, Subscription):
            return View(entry, entry)
        subscription = self.entry_of(row[_WIDTH:])
        assert isinstance(subscription, Subscription)
        return View(entry, subscription)

    def found_of(self, row: Sequence[Any]) -> Found:
        """Return what a token leads to, of an account's, a token's and a view's columns."""
        account, token = account_of(row[:_ACCOUNT_END]), token_of(row[_ACCOUNT_END:_TOKEN_END])
        is_there = row[_TOKEN_END] is not None
        return Found(account, token, self.view_of(row[_TOKEN_END:]) if is_there else None)

    def row_of(self, entry: Entry) -> tuple[Any, ...]:
        """Return the `SAVED_ENTRY` columns of an entry."""
        alias = astuple(entry.alias) if entry.alias else (None, None, None)
        guid, changed = self._write(entry.guid), entry.guid_changed
        if isinstance(entry, Pointer):
            target = self._write(entry.new_guid)
            return (guid, target, None, None, None, changed, None, *alias, *(None,) * 3, changed)
        return (
            guid,
            None,
            entry.feed_url,
            entry.is_subscribed,
            entry.subscription_changed,
            changed,
            entry.deleted,
            *alias,
            entry.status_changed,
            entry.app_url,
            entry.app_url_until,
            entry.revision,
        )

    def deletion_of(self, row: Sequence[Any]) -> Deletion:
        """Return the deletion whose `DELETION` columns a row has."""
        return Deletion(row[0], self._read(row[1]))

    def record_row(self, account_id: AccountId, record: Record) -> tuple[Any, ...]:
        """Return the account's id and then the columns of a record."""
        match record:
            case Owner(account, name_key, last_token_id):
                *told, counts = astuple(account)[1:]
                return (account_id, *told, *astuple(counts), name_key, last_token_id)
            case Token():
                *others, own_subscriptions, own_actions = astuple(record)
                return (account_id, *others, own_row(own_subscriptions), own_row(own_actions))
            case Document():
                return (account_id, *astuple(record))
            case Deletion(number, guid):
                return (account_id, number, self._write(guid))
            case Subscription() | Pointer():
                return (account_id, *self.row_of(record))
            case EpisodeAction():
                return (account_id, *self.action_row(record))

    def action_of(self, row: Sequence[Any]) -> EpisodeAction:
        """Return the episode action whose `ACTION` columns a row has."""
        key, podcast_guid, *rest = row
        return EpisodeAction(key, self._read(podcast_guid), *rest)

    def action_row(self, action: EpisodeAction) -> tuple[Any, ...]:
        """Return the `ACTION` columns of an episode action."""
        key, podcast_guid, *rest = astuple(action)
        return (key, self._write(podcast_guid), *rest)


def owner_of(row: Sequence[Any]) -> Owner:
    """Return the owner whose id and `OWNER` columns a row has."""
    return Owner(account_of(row[:_ACCOUNT_END]), *row[_ACCOUNT_END:])
