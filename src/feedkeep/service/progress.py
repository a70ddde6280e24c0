"""Sync progress of podcast apps, and repair of accounts' clocks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence

import msgspec

from feedkeep.model import (
    Account,
    AccountId,
    Admitted,
    Clock,
    CredentialKind,
    Decision,
    Document,
    DocumentKind,
    DocumentName,
    KnownDocument,
    NotLookedUp,
    Now,
    Purpose,
    Restamped,
    Second,
    Snapshot,
    Stamp,
    SyncProgress,
    T,
    Token,
    TokenProgress,
    Value,
    replace,
)
from feedkeep.rules import app_identity, clock_repair, devices, seconds
from feedkeep.rules.app_identity import CookielessApp
from feedkeep.rules.draft import Draft
from feedkeep.security.tokens import new_epoch
from feedkeep.service.accounts import Accounts
from feedkeep.service.documents import as_json
from feedkeep.service.preferences import AccountPreferences
from feedkeep.store.base import Store

_WITHOUT_A_SESSION = {CredentialKind.PASSWORD, CredentialKind.TOKEN}
_COOKIELESS = msgspec.json.Decoder(CookielessApp)


class Uploaded(Value, frozen=True):
    """The result of an upload.

    Attributes:
        timestamp: Start of the app's next request: at most one second after the last one for which
            the app was sent all changes.
        update_urls: Each URL that is stored differently than sent, with the stored URL; "" if
            refused.
    """

    timestamp: Second
    update_urls: Sequence[tuple[str, str]]


class AppProgress(Value, frozen=True):
    """Sync progress of the app that sends a request, and where it is stored.

    The progress of a session or token is stored in it. With a password in each request, it is in a
    document, as long as that can belong to one app. For other clients it is unknown.

    Attributes:
        clock: The kind of changes.
        body: The document's body, as read for the request.
        named: Devices in the request.
        names_another: Whether one of these is missing in the document.
    """

    clock: Clock
    known: SyncProgress
    token: Token | None = None
    document: DocumentName | None = None
    body: str | None = None
    named: Collection[str] = ()
    names_another: bool = False

    @property
    def documents(self) -> Sequence[DocumentName]:
        """Names of the documents that `to_store` needs."""
        return () if self.document is None else (self.document,)

    def to_store(
        self, after: SyncProgress, documents: Mapping[DocumentName, KnownDocument]
    ) -> TokenProgress | Document | None:
        """Return the record to store for new progress; None if unchanged.

        `documents` are read in the commit: another request may have named another device.
        """
        if after == self.known and not self.names_another:
            return None
        if self.token is not None:
            return TokenProgress(self.token.id, self.clock, after)
        if self.document is None:
            return None
        stored = documents[self.document]
        app = app_identity.after_naming(_read(stored.body), self.named)
        body = as_json(app_identity.with_progress(app, self.clock, after))
        if body == stored.body or not devices.is_within_limits(stored, body):
            return None
        return Document(self.document.kind, self.document.name, body)


class Progress:
    """Reads and stores the sync progress of apps."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of_upload(
        self, admitted: Admitted, clock: Clock, named: Collection[str]
    ) -> AppProgress:
        """Return the progress of an app whose upload names these devices."""
        return await self._of(admitted, clock, named)

    async def of_poll(
        self, admitted: Admitted, clock: Clock, named: Collection[str], since: Second
    ) -> tuple[AppProgress, Stamp]:
        """Return the progress of an app whose request names these devices.

        `since` is the requested second. Also return a timestamp of the account's clock before which
        no more changes will come.
        """
        account = admitted.account
        now = account.last_stamp if clock is Clock.SUBSCRIPTIONS else account.last_action_stamp
        # A poll without changes writes nothing: the clock stays settled until the next change.
        if not seconds.is_settled(now):
            now = await self._store.accounts.advance(account.id, clock, seconds.settled)
            # Meanwhile, another request of the app may have been answered.
            return await self._of(admitted, clock, named, since), now
        return await self._of(admitted, clock, named, since, admitted.document), now

    async def _of(
        self,
        admitted: Admitted,
        clock: Clock,
        named: Collection[str],
        since: Second | None = None,
        body: str | NotLookedUp | None = NotLookedUp.NOT_LOOKED_UP,
    ) -> AppProgress:
        token = admitted.token
        if token is not None and token.purpose is Purpose.APPS:
            return AppProgress(clock, _of_token(token, clock), token)
        if admitted.credential_kind not in _WITHOUT_A_SESSION:
            return AppProgress(clock, seconds.NOTHING)
        name = app_identity.document_of(admitted)
        if body is NotLookedUp.NOT_LOOKED_UP:
            body = await self._store.documents.body(admitted.account.id, name.kind, name.name)
        stored = _read(body)
        app = app_identity.after_naming(stored, named)
        known = app_identity.progress_of(app, clock, since)
        return AppProgress(clock, known, None, name, body, named, app is not stored)

    async def resend(self, account_id: AccountId) -> None:
        """Make each cookieless app get a full sync.

        Raises:
            NotAuthorized: The account is deleted.
        """
        kind = DocumentKind.COOKIELESS
        for document in await self._store.documents.of(account_id, kind):
            await self._store.documents.change(
                account_id,
                kind,
                document.name,
                lambda body, _: as_json(clock_repair.to_resend(_read(body))),
            )

    async def save(self, account_id: AccountId, app: AppProgress, after: SyncProgress) -> None:
        """Store an app's progress unless it is already stored."""
        changed = app.to_store(after, {name: KnownDocument(app.body) for name in app.documents})
        if isinstance(changed, TokenProgress):
            await self._store.tokens.save_progress(account_id, changed)
        elif changed is not None:

            def decide(snapshot: Snapshot) -> Decision[None]:
                return with_stored(
                    Draft(snapshot).decision(None), app.to_store(after, snapshot.documents)
                )

            await self._store.entries.change(account_id, (), decide, app.documents)


def with_stored(decision: Decision[T], changed: TokenProgress | Document | None) -> Decision[T]:
    """Return a decision that also stores an app's progress."""
    if isinstance(changed, TokenProgress):
        return replace(decision, token_progress=changed)
    return (
        decision if changed is None else replace(decision, documents=[*decision.documents, changed])
    )


def _of_token(token: Token, clock: Clock) -> SyncProgress:
    # A token may be used in several apps. A session, and a token of a Nextcloud login, belong to
    # one app, so their progress is the app's.
    is_alone = token.is_granted or token.is_session
    if clock is Clock.SUBSCRIPTIONS:
        known = (
            token.last_sent_subscriptions,
            token.acknowledged_subscriptions,
            token.own_subscriptions,
        )
    else:
        known = (token.last_sent_actions, token.acknowledged_actions, token.own_actions)
    return SyncProgress(*known, is_alone)


def _read(body: str | None) -> CookielessApp:
    return _COOKIELESS.decode(body) if body else CookielessApp()


def next_second(progress: SyncProgress) -> Second:
    """Return the second from which an app's next request may start."""
    return seconds.EVERYTHING if progress.last_sent is None else progress.last_sent


class ClockRepair:
    """Finds and repairs accounts whose clocks are far ahead of the wall clock."""

    def __init__(
        self,
        store: Store,
        accounts: Accounts,
        preferences: AccountPreferences,
        progress: Progress,
        now: Now,
    ) -> None:
        self._store = store
        self._accounts = accounts
        self._preferences = preferences
        self._progress = progress
        self._now = now

    def is_needed(self, account: Account) -> bool:
        return clock_repair.is_far_ahead(account, self._now())

    async def repair(self) -> AsyncIterator[Account]:
        """Repair all accounts with a clock far ahead; yield each as it was.

        Records with timestamps ahead get new ones, starting from the current time. Clients react as
        after a restore, and apps get a full sync.
        """
        epoch = new_epoch()
        async for page in self._accounts.by_id():
            for account in page:
                if self.is_needed(account):
                    await self._repair(account, epoch)
                    yield account

    async def _repair(self, account: Account, epoch: int) -> None:
        now = self._now()

        def decide(
            known: Account,
            known_from: Stamp,
            stamps: Collection[Stamp],
            action_stamps: Collection[Stamp],
        ) -> Restamped:
            return clock_repair.restamped(known, known_from, stamps, action_stamps, now, epoch)

        # Before `restamp`: an account that is interrupted here is found again.
        await self._preferences.undismiss_mass_unsubscribes_after(account.id, now)
        await self._progress.resend(account.id)
        await self._store.accounts.restamp(account.id, now, decide)
