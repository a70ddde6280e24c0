"""Conversion of values to rows of tables, and back. Stores differ only in how they write guids."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Sized
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import astuple

from feedkeep.model import (
    Account,
    AccountRecord,
    Alias,
    Counts,
    Deletion,
    Entry,
    EntryState,
    EpisodeAction,
    FeedLabel,
    Found,
    Guid,
    HistoryPage,
    KnownDocument,
    Labelled,
    OwnUpload,
    Pointer,
    Purpose,
    Scope,
    Stamp,
    Subscription,
    T,
    Token,
    TokenProgress,
    View,
)
from feedkeep.model.errors import NotAuthorized
from feedkeep.runtime.cooperative import LONG_BYTES
from feedkeep.store.tables import ACCOUNT, ENTRY, LABELS, NEW_TOKEN, RESTORED, TOKEN

Row: TypeAlias = Sequence[Any]

_OWN_UPLOADS = msgspec.json.Decoder(tuple[OwnUpload, ...])
_PURPOSES = {purpose.value: purpose for purpose in Purpose}
_SCOPES = {scope.value: scope for scope in Scope}
_NEW_TOKEN_WIDTH = len(NEW_TOKEN)
_WIDTH = len(ENTRY)
_NO_ALIAS = (None,) * len(Alias.__struct_fields__)
_GUID_CHANGED, _ALIAS = ENTRY.index("guid_changed"), ENTRY.index("alias_url")

_LABEL_WIDTH = len(LABELS.columns)
_ACCOUNT_END = 1 + len(ACCOUNT)
_TOKEN_END = _ACCOUNT_END + len(TOKEN)


def account_of(row: Row) -> Account:
    """Return the account of a row that begins with its id and `ACCOUNT` columns."""
    # fmt: off
    (
        account_id, name, password_hash, is_disabled, created, last_stamp, last_action_stamp,
        is_admin, epoch, lost_after, lost_until, actions_lost_after, actions_lost_until, identity,
        action_count, subscribed, announced, entries,
    ) = row[:_ACCOUNT_END]
    return Account(
        account_id, name, password_hash, bool(is_disabled), created, last_stamp, last_action_stamp,
        bool(is_admin), epoch, lost_after, lost_until, actions_lost_after, actions_lost_until,
        identity, action_count, Counts(subscribed, announced, entries),
    )
    # fmt: on


def key_range(after: str, beginning: str) -> tuple[str, str]:
    """Return the lower and the upper bound of name keys after `after` that start with `beginning`.

    The lower bound may be `after` itself. No name contains U+10FFFF, the highest character.
    """
    return max(after, beginning), f"{beginning}\U0010ffff"


def token_of(row: Row, first: int = 0) -> Token:
    """Return the token of the `TOKEN` columns that start at the index `first`."""
    # fmt: off
    (
        token_id, token_hash, label, created, expires, revoked, is_session, is_shared, of_token,
        is_granted, purpose, scope, last_used, last_sent_subscriptions,
        acknowledged_subscriptions, last_sent_actions, acknowledged_actions, own_subscriptions,
        own_actions,
    ) = row[first : first + len(TOKEN)]
    return Token(
        token_id, token_hash, label, created, expires, revoked, bool(is_session), bool(is_shared),
        of_token, bool(is_granted), _PURPOSES[purpose], _SCOPES[scope], last_used,
        last_sent_subscriptions, acknowledged_subscriptions, last_sent_actions,
        acknowledged_actions,
        _OWN_UPLOADS.decode(own_subscriptions) if own_subscriptions else (),
        _OWN_UPLOADS.decode(own_actions) if own_actions else (),
    )
    # fmt: on


def own_uploads_column(uploads: Sequence[OwnUpload]) -> str | None:
    return msgspec.json.encode(uploads).decode() if uploads else None


def account_record_of(row: Row) -> AccountRecord:
    return AccountRecord(account_of(row), *row[_ACCOUNT_END:])


def account_record_row(owner: AccountRecord) -> Row:
    """Return the columns of an account record, without the account's id."""
    account, *own = astuple(owner)
    *others, counts = astuple(account)[1:]
    return (*others, *astuple(counts), *own)


def new_account_row(account: Account, name_key: str) -> Row:
    values = (account.id, account.name, name_key, account.password_hash)
    return (*values, account.is_disabled, account.created, account.is_admin)


def new_token_row(token: Token) -> Row:
    return astuple(token)[:_NEW_TOKEN_WIDTH]


def token_row(token: Token) -> Row:
    *others, own_subscriptions, own_actions = astuple(token)
    return (*others, own_uploads_column(own_subscriptions), own_uploads_column(own_actions))


def progress_row(changed: TokenProgress) -> Row:
    """Return a token's number and the columns of its app's sync progress."""
    progress = changed.progress
    own_uploads = own_uploads_column(progress.own_uploads)
    return (changed.token_id, progress.last_sent, progress.acknowledged, own_uploads)


def restored_row(account: Account) -> Row:
    return [getattr(account, name) for name in RESTORED]


def stamped_row(entry: Entry) -> Row:
    changed = entry.subscription_changed if isinstance(entry, Subscription) else None
    return (changed, entry.guid_changed, entry.revision)


def stamps_in(rows: Iterable[Row], width: int, after: Stamp) -> set[Stamp]:
    """Return the stamps later than `after` in the last `width` columns of rows."""
    return {stamp for row in rows for stamp in row[-width:] if stamp is not None and stamp > after}


def in_parts(items: Sequence[T], at_once: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), at_once):
        yield items[start : start + at_once]


class Rows:
    """Translates between values and the columns of a store.

    Attributes:
        read_guid: Returns the guid of a column's value.
        write_guid: Returns the column's value for a guid.
        write_numbers: Returns the parameter for one or more numbers.
    """

    def __init__(
        self,
        write_guid: Callable[[Guid], Any],
        read_guid: Callable[[Any], Guid],
        write_numbers: Callable[[Collection[int]], Any],
    ) -> None:
        self.write_guid = write_guid
        self.read_guid = read_guid
        self.write_numbers = write_numbers

    def entry_of(self, row: Row) -> Entry:
        """Return the entry of a row that begins with `ENTRY` columns.

        Columns are read by index, since a list has thousands of entries: names would take 20 %
        longer.
        """
        alias = None
        if row[7] is not None:
            alias = Alias(row[7], bool(row[8]), bool(row[9]), retired=row[10], first_had=row[11])
        if row[1] is not None:
            return Pointer(
                guid=self.read_guid(row[0]),
                new_guid=self.read_guid(row[1]),
                guid_changed=row[5],
                alias=alias,
            )
        return Subscription(
            guid=self.read_guid(row[0]),
            feed_url=row[2],
            is_subscribed=bool(row[3]),
            subscription_changed=row[4],
            guid_changed=row[5],
            deleted=row[6],
            alias=alias,
            status_changed=row[12],
            app_url=row[13],
            app_url_until=row[14],
            first_had=row[15],
        )

    def subscription_of(self, row: Row) -> Subscription:
        subscription = self.entry_of(row)
        assert isinstance(subscription, Subscription)
        return subscription

    def view_of(self, row: Row) -> View:
        """Return the view of a row: an entry's columns, then those of a pointer's subscription."""
        entry = self.entry_of(row)
        if isinstance(entry, Subscription):
            return View(entry, entry)
        return View(entry, self.subscription_of(row[_WIDTH:]))

    def found_of(self, row: Row, document: str | None = None) -> Found:
        """Return the account, token and optional view of a row.

        `document` is the body of the document that was read with the row.
        """
        account, token = account_of(row), token_of(row, _ACCOUNT_END)
        view = row[_TOKEN_END:]
        is_there = view and view[0] is not None
        return Found(account, token, self.view_of(view) if is_there else None, document)

    def state_of(self, row: Row) -> EntryState:
        """Return the state of a row of `STATE` columns and, for a former state, its end."""
        began, author, *ended = row[_WIDTH:]
        return EntryState(self.entry_of(row), began, author or "", *ended)

    def stored_state_of(self, row: Row) -> EntryState:
        """Return the state of a row of the table `entry`."""
        return EntryState(self.entry_of(row), row[-2], row[-1] or "")

    def stored_state_row(self, state: EntryState) -> Row:
        """Return the columns of a state for the table `entry`."""
        return (*self.entry_row(state.entry), state.began, state.author or None)

    def former_state_row(self, state: EntryState) -> Row:
        """Return the columns of a state that has ended, for the table `former_entry`."""
        *entry, _ = self.entry_row(state.entry)
        return (*entry, state.began, state.author or None, state.ended)

    def history_page_of(self, rows: Sequence[Row], before: Stamp) -> HistoryPage:
        """Return the page of history that ends with the last change before a stamp.

        A row has the first stamp of the known history, the stamp of the page's first change, and a
        state with its end. The single row of an empty page has only the first of these.

        Raises:
            NotAuthorized: There are no rows, since the account is deleted.
        """
        if not rows:
            raise NotAuthorized
        known_from, first = rows[0][:2]
        states = [self.state_of(row[2:]) for row in rows] if first is not None else []
        stamps = {stamp for state in states for stamp in (state.began, state.ended) if stamp}
        here = sorted((stamp for stamp in stamps if first <= stamp < before), reverse=True)
        return HistoryPage(here, states, known_from)

    def entry_row(self, entry: Entry) -> Row:
        """Return the `ENTRY` columns and the revision of an entry, as written."""
        guid, alias = (
            self.write_guid(entry.guid),
            astuple(entry.alias) if entry.alias else _NO_ALIAS,
        )
        if isinstance(entry, Pointer):
            row: list[Any] = [None] * _WIDTH
            row[:2] = guid, self.write_guid(entry.new_guid)
            row[_GUID_CHANGED] = entry.guid_changed
            row[_ALIAS : _ALIAS + len(alias)] = alias
            return (*row, entry.revision)
        row = [guid, None, *astuple(entry)[1:]]
        row[_ALIAS : _ALIAS + 1] = alias
        return (*row, entry.revision)

    def labelled_of(self, row: Row) -> Labelled:
        """Return the label of a row's first columns, with the view of the other columns."""
        return Labelled(self.label_of(row[:_LABEL_WIDTH]), self.view_of(row[_LABEL_WIDTH:]))

    def label_of(self, row: Row) -> FeedLabel:
        guid, title, folder, is_title_edited, is_folder_edited = row
        edited = bool(is_title_edited), bool(is_folder_edited)
        return FeedLabel(self.read_guid(guid), title, folder, *edited)

    def label_row(self, label: FeedLabel) -> Row:
        guid, *others = astuple(label)
        return (self.write_guid(guid), *others)

    def deletion_of(self, row: Row) -> Deletion:
        return Deletion(row[0], self.read_guid(row[1]))

    def deletion_row(self, deletion: Deletion) -> Row:
        return (deletion.id, self.write_guid(deletion.guid))

    def action_of(self, row: Row) -> EpisodeAction:
        key, podcast_guid, *rest = row
        rest[-1] = bool(rest[-1])  # is_superseded
        return EpisodeAction(key, self.read_guid(podcast_guid), *rest)

    def action_row(self, action: EpisodeAction) -> Row:
        key, podcast_guid, *rest = astuple(action)
        return (key, self.write_guid(podcast_guid), *rest)


MAX_ROWS_IN_A_BATCH = 2_000
"""Maximum number of rows that changes of several accounts load in a shared transaction."""

FEW_ROWS = 100
"""Maximum number of guids or rows of a change decided on the event loop, within 1 ms."""


def is_light(named: Sized | None, rows: int, documents: Iterable[KnownDocument]) -> bool:
    """Whether a change is decided on the event loop, by its guids and its loaded rows.

    A thousand pointers may resolve to one guid, and one document may name every feed of an app. A
    change of a whole account names no guids, and may add any number.
    """
    if named is None or max(len(named), rows) > FEW_ROWS:
        return False
    return sum(len(document.body or "") for document in documents) <= LONG_BYTES
