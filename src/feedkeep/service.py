"""One method per use case: the only door to the rules and the store for every edge."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence

from feedkeep import wall_clock
from feedkeep.apps import Apps
from feedkeep.errors import AccountError, NotAuthorized, StoreDamaged, UnknownSubscription
from feedkeep.logins import Logins
from feedkeep.model import (
    Account,
    AccountId,
    Admitted,
    Clock,
    Deletion,
    Guid,
    Page,
    PageRequest,
    Stamp,
    Subscription,
    Token,
    View,
)
from feedkeep.rules import credentials, subscriptions
from feedkeep.rules.clock import after_restore, later
from feedkeep.rules.credentials import Credential, PasswordCredential, TokenCredential
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.guids import guid_or_none, parse_guid
from feedkeep.rules.invariants import violations
from feedkeep.rules.room import MAX_SUBSCRIPTIONS, most_of
from feedkeep.rules.subscriptions import Added, Refused, Update, Updated, Wanted
from feedkeep.security.passwords import Passwords
from feedkeep.security.throttle import Throttle
from feedkeep.security.tokens import new_account_id, new_token
from feedkeep.store.base import Store
from feedkeep.turns import LONG_LIST, beside

_MICROSECONDS_PER_DAY = 86_400_000_000
_CLOCKS_AT_ONCE = 256


class Service:
    """What feedkeep does, whoever asks for it: an HTTP edge or the command line.

    Attributes:
        apps: What it does for podcast apps.
        logins: How those are let in.
    """

    def __init__(
        self, store: Store, workers: int = 1, max_subscriptions: int = MAX_SUBSCRIPTIONS
    ) -> None:
        """Serve a store, as one of so many processes of this machine."""
        self._store = store
        self._most = most_of(max_subscriptions)
        self.apps = Apps(store, self._most)
        self.logins = Logins(store)
        self._passwords = Passwords(workers)
        self._throttle = Throttle()

    async def close(self) -> None:
        """Finish what was accepted, and let go of the store."""
        await self._store.close()
        self._passwords.close()

    async def assert_ready(self) -> None:
        """Return if requests can be served now; else raise `StoreUnavailable`."""
        await self._store.assert_ready()

    # Who is asking (contract, section 2)

    async def authenticate(
        self, credential: Credential, address: str, guid: str | None = None
    ) -> Admitted:
        """Return the account that the credential lets in, as it is at this moment.

        With `guid`, also the entry that `read` is to give: a token and an entry are found with one
        query, which takes little longer than that for the token.

        Raises:
            NotAuthorized: It lets nobody in; there is no telling why.
            TooManyAttempts: Too many wrong passwords came for this name or from this address.
        """
        wanted = None if guid is None else guid_or_none(guid)
        if isinstance(credential, TokenCredential):
            return await self._authenticate_token(credential, wanted)
        account = await self._authenticate_password(credential, address)
        view = None if wanted is None else await self._store.view(account.id, wanted)
        return Admitted(account, credential.kind, view)

    async def _authenticate_token(
        self, credential: TokenCredential, wanted: Guid | None
    ) -> Admitted:
        found = await self._store.find_token(credential.account_id, credential.hash, wanted)
        if found is None:
            raise NotAuthorized
        account = found.account
        if not credentials.is_named(account, credential):
            raise NotAuthorized
        if not credentials.admits(account, found.token, wall_clock.now()):
            raise NotAuthorized
        return Admitted(account, credential.kind, found.view, found.token)

    async def _authenticate_password(self, credential: PasswordCredential, address: str) -> Account:
        counted_key = credentials.name_key(credential.name)
        shown, account = await self._named_account(credential)
        key = credentials.name_key(shown.name)
        password = credentials.normal_password(shown.password)
        stored_hash = account.password_hash if account and not account.is_disabled else None
        if account and self._passwords.remembers(key, password, stored_hash):
            return account

        def count_attempt() -> Callable[[], None]:
            attempt = self._throttle.begin(counted_key, address, time.monotonic())
            return lambda: self._throttle.forgive(attempt)

        is_right = await self._passwords.verify(key, password, stored_hash, count_attempt)
        if account is None or not is_right:
            raise NotAuthorized
        return account

    async def _named_account(
        self, shown: PasswordCredential
    ) -> tuple[PasswordCredential, Account | None]:
        """Return the first reading of what was shown that names an account, and that account.

        All are looked up, and attempts are counted by the first: neither time nor count tells
        whether there is such a name.
        """
        account = await self._store.find_account(credentials.name_key(shown.name))
        if shown.otherwise is not None:
            other = await self._named_account(shown.otherwise)
            if account is None and other[1] is not None:
                return other
        return shown, account

    # Subscriptions (contract, sections 5 and 6)

    async def add(
        self, account_id: AccountId, items: Sequence[Wanted | Refused]
    ) -> list[Added | Refused]:
        """Add all items in one step; each is accepted or refused on its own."""
        return await self._store.change(
            account_id,
            subscriptions.guids_wanted(items),
            lambda snapshot: subscriptions.add(snapshot, items, self._most),
        )

    def read(self, admitted: Admitted, guid: str) -> View:
        """Return one entry, the one that `authenticate` was given the guid of.

        Raises:
            InvalidInput: `guid` is none.
            UnknownSubscription: There is no such entry.
            DeletedSubscription: There was one.
        """
        parse_guid(guid)
        return subscriptions.read(admitted.view)

    async def update(
        self,
        account_id: AccountId,
        guid: str,
        *,
        new_feed_url: str | None = None,
        new_guid: str | None = None,
        is_subscribed: bool | None = None,
    ) -> Updated:
        """Change a subscription in one step, or not at all; None leaves a thing as it is.

        Raises:
            InvalidInput: Something sent is not valid, or the URL belongs to another subscription.
            UnknownSubscription: There is none, or it was deleted.
        """
        present = parse_guid(guid)
        wanted = Update(
            None if new_feed_url is None else parse_feed_url(new_feed_url),
            None if new_guid is None else parse_guid(new_guid),
            is_subscribed,
        )
        return await self._store.change(
            account_id,
            [present, *wanted.guids()],
            lambda snapshot: subscriptions.update(snapshot, present, wanted, self._most),
        )

    async def delete(self, account_id: AccountId, guid: str) -> Deletion:
        """Delete a subscription; its tombstone stays.

        Raises:
            InvalidInput: `guid` is none.
            UnknownSubscription: There is none, or it was deleted already.
        """
        present = parse_guid(guid)
        return await self._store.change(
            account_id, [present], lambda snapshot: subscriptions.delete(snapshot, present)
        )

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion:
        """Return a deletion that was carried out.

        Raises:
            UnknownSubscription: The account has none of that id.
        """
        found = await self._store.deletion(account_id, deletion_id)
        if found is None:
            raise UnknownSubscription
        return found

    async def page(self, account: Account, request: PageRequest) -> Page:
        """Return one page of the entries that changed after a stamp.

        Where the account's clock, which came with the credential, shows that there are none, the
        store is not asked.
        """
        if request.since >= account.last_stamp:
            return Page(0, (), has_more=False)
        return await self._store.page(account.id, request)

    async def subscribed(self, account_id: AccountId) -> list[Subscription]:
        """Return every subscription that the account is subscribed to, oldest change first."""
        whole = await self._store.whole(account_id)
        return await beside(len(whole.entries) > LONG_LIST, subscriptions.subscribed, whole)

    # Accounts and tokens

    async def accounts(self) -> Sequence[Account]:
        """Return all accounts by name."""
        return await self._store.accounts()

    async def has_accounts(self) -> bool:
        """Say whether there is any account."""
        return await self._store.has_accounts()

    async def account(self, name: str) -> Account:
        """Return the account of that name, written in any case.

        Raises:
            AccountError: There is none.
        """
        found = await self._store.find_account(credentials.name_key(name))
        if found is None:
            raise AccountError(f'There is no account "{name}"; `feedkeep account list` shows all.')
        return found

    async def create_account(self, name: str, password: str | None) -> Account:
        """Make an account; without a password it is reached by tokens only.

        Raises:
            AccountError: The name or the password is not acceptable, or the name is taken.
        """
        key = credentials.name_key(credentials.check_name(name))
        password_hash = None if password is None else await self._hash(password)
        account = Account(new_account_id(), name, password_hash, False, wall_clock.now())
        await self._store.create_account(account, key)
        return account

    async def set_password(self, name: str, password: str) -> None:
        """Replace a password; the old one stops working with the next request."""
        account = await self.account(name)
        await self._store.set_password(account.id, await self._hash(password))

    async def set_disabled(self, name: str, is_disabled: bool) -> None:
        """Let an account in nowhere, or let it in again."""
        account = await self.account(name)
        await self._store.set_disabled(account.id, is_disabled)

    async def delete_account(self, name: str) -> None:
        """Remove an account with its list and its tokens."""
        account = await self.account(name)
        await self._store.delete_account(account.id)

    async def create_token(
        self, name: str, label: str, expires_days: int | None
    ) -> tuple[str, Token]:
        """Make a token; return its text, which is kept nowhere, and what is kept of it."""
        account = await self.account(name)
        text, now = new_token(account.id), wall_clock.now()
        expires = None if expires_days is None else later(now, expires_days * _MICROSECONDS_PER_DAY)
        token = Token(0, credentials.token_hash(text), label, now, expires)
        return text, await self._store.add_token(account.id, token)

    async def tokens(self, name: str) -> Sequence[Token]:
        """Return all tokens of an account, ended ones too."""
        return [token for token in await self._kept_tokens(name) if not token.is_session]

    async def sessions(self, name: str) -> Sequence[Token]:
        """Return all sessions of an account that are kept, ended ones too."""
        return [token for token in await self._kept_tokens(name) if token.is_session]

    async def revoke_token(self, name: str, token_id: int) -> None:
        """Let a token end now.

        Raises:
            AccountError: There is no such account or token.
        """
        await self._revoke(name, token_id, await self.tokens(name), "token")

    async def revoke_session(self, name: str, session_id: int) -> None:
        """Let a session end now; raises as `revoke_token` does."""
        await self._revoke(name, session_id, await self.sessions(name), "session")

    async def _kept_tokens(self, name: str) -> Sequence[Token]:
        account = await self.account(name)
        return await self._store.tokens(account.id)

    async def _revoke(self, name: str, number: int, kept: Sequence[Token], kind: str) -> None:
        account = await self.account(name)
        if number not in {item.id for item in kept}:
            raise AccountError(
                f"{account.name} has no {kind} {number};"
                f" `feedkeep {kind} list {account.name}` shows all."
            )
        await self._store.revoke_token(account.id, number, wall_clock.now())

    async def damages(self) -> AsyncIterator[str]:
        """Yield a sentence for everything wrong with what is stored, by database and contract."""
        for damage in await self._store.damages():
            yield damage
        for account in await self._store.accounts():
            try:
                snapshot = await self._store.whole(account.id)
            except StoreDamaged:
                yield f"account {account.name}: not all of its list can be read"
                continue
            for violation in violations(snapshot):
                yield f"account {account.name}: {violation}"

    async def move_clocks(self) -> None:
        """Move the clocks of all accounts past what they may have given out since a backup."""
        now = wall_clock.now()
        accounts = await self._store.accounts()
        for start in range(0, len(accounts), _CLOCKS_AT_ONCE):
            some = accounts[start : start + _CLOCKS_AT_ONCE]
            await asyncio.gather(*(self._move_clocks_of(account.id, now) for account in some))

    async def _move_clocks_of(self, account_id: AccountId, now: Stamp) -> None:
        for clock in Clock:
            await self._store.advance(account_id, clock, lambda last: after_restore(last, now))

    async def _hash(self, password: str) -> str:
        return await self._passwords.hash(credentials.check_password(password))
