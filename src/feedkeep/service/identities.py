"""Accounts of people who sign in with an identity provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from feedkeep.model import Account, AccountId, replace
from feedkeep.model.errors import AccountError, NameTaken, NotAuthorized
from feedkeep.rules.accounts import is_administrator, names_for
from feedkeep.service.accounts import Accounts
from feedkeep.store.base import Store


class NoAccount(AccountError):
    """A person known to the provider has no account here."""

    def __init__(self) -> None:
        super().__init__(
            "You have no account here yet. Ask the person who runs this service for one; or sign in"
            " with your password, and link the two on your account's page."
        )


class Identities:
    """Finds, creates and links the accounts of the provider's users."""

    def __init__(self, store: Store, accounts: Accounts) -> None:
        self._store = store
        self._accounts = accounts

    async def account_of(
        self, identity: bytes, claims: Mapping[str, Any], *, may_create: bool, admin_claim: str
    ) -> Account:
        """Return the account of a person who has signed in with the provider.

        If missing, it is created if `may_create`. With `admin_claim`, the provider decides at each
        sign-in whether the person is an administrator.

        Raises:
            NoAccount: There is no account.
            NotAuthorized: The account is disabled.
        """
        account = await self._store.accounts.linked(identity)
        if account is None:
            if not may_create:
                raise NoAccount
            account = await self._created(identity, claims)
        if account.is_disabled:
            raise NotAuthorized
        is_admin = is_administrator(claims, admin_claim)
        if admin_claim and is_admin is not account.is_admin:
            account = await self._with_rights(account, is_admin=is_admin)
        return account

    async def link(self, account: Account, identity: bytes) -> None:
        """Link an account to a person, in place of another.

        Raises:
            IdentityTaken: The person is linked to another account.
        """
        await self._store.accounts.set_identity(account.id, identity)

    async def unlink(self, account: Account) -> None:
        await self._store.accounts.set_identity(account.id, None)

    async def linked(self, identity: bytes) -> AccountId | None:
        account = await self._store.accounts.linked(identity)
        return account.id if account else None

    async def _created(self, identity: bytes, claims: Mapping[str, Any]) -> Account:
        """Create an account without a password.

        Raises:
            NameTaken: All candidate names are taken.
        """
        taken = NameTaken("")
        for name in names_for(claims):
            account, key = await self._accounts.prepared(name, None)
            account = replace(account, identity=identity)
            try:
                await self._store.accounts.create_linked(account, key)
            except NameTaken as error:
                taken = error
            else:
                return account
        raise taken

    async def _with_rights(self, account: Account, *, is_admin: bool) -> Account:
        """Apply the provider's decision, but keep the last administrator."""
        try:
            await self._accounts.set_admin(account.name, is_admin)
        except AccountError:
            return account
        return replace(account, is_admin=is_admin)
