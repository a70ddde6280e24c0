"""Invitation links, with which people create their own accounts, and open sign-up."""

from __future__ import annotations

import time
from collections.abc import Sequence

from feedkeep.model import (
    UNNUMBERED,
    Account,
    AccountId,
    NewToken,
    Now,
    Purpose,
    Registration,
    Token,
    TokenDecision,
    TokenId,
)
from feedkeep.model.errors import AccountError, NotAuthorized
from feedkeep.rules import accounts, credentials
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.credentials import INVITATION_PREFIX, as_label
from feedkeep.security.throttle import Throttle, sign_up_limits
from feedkeep.security.tokens import new_token
from feedkeep.service.accounts import Accounts
from feedkeep.store.base import Store

MAX_LISTED = 1_000


class Invitations:
    """Creates, lists, revokes and spends invitations."""

    def __init__(
        self,
        store: Store,
        accounts: Accounts,
        throttle: Throttle,
        registration: Registration,
        now: Now,
    ) -> None:
        self._store = store
        self._accounts = accounts
        self._throttle = throttle
        self._registration = registration
        self._now = now

    async def invite(self, inviter: Account, label: str = "") -> NewToken:
        """Create a link with which one person can create an account within seven days.

        Raises:
            AccountError: Sign-up is off, or `by` may not invite or has the maximum number of open
                invitations.
            NotAuthorized: The account `by` is deleted.
        """
        if self._registration is Registration.CLOSED:
            raise AccountError(
                "Invitations do not work while the setting registration is closed; set it to"
                " invited or open, for the service and for its commands."
            )
        text, now = new_token(inviter.id, INVITATION_PREFIX), self._now()
        expires = shift(now, accounts.INVITATION_DAYS * DAY_US)
        made = Token(
            UNNUMBERED,
            credentials.token_hash(text),
            as_label(label),
            now,
            expires,
            purpose=Purpose.INVITATION,
        )

        def decide(inviter: Account, known: Sequence[Token]) -> TokenDecision:
            return accounts.invited(inviter, known, made, now)

        changed = await self._store.tokens.change(inviter.id, Purpose.INVITATION, decide)
        return NewToken(text, changed.added[0])

    async def all(self) -> Sequence[tuple[Account, Token]]:
        """Return the open invitations with their authors, at most `MAX_LISTED`.

        They are in order of administrators, the oldest first.
        """
        now = self._now()
        found: list[tuple[Account, Token]] = []
        for inviter in await self._store.accounts.administrators():
            known = await self._store.tokens.of(inviter.id)
            is_open = accounts.is_invitation_open
            found += [(inviter, one) for one in known if is_open(inviter, one, now)]
            if len(found) >= MAX_LISTED:
                break
        return found[:MAX_LISTED]

    async def revoke(self, account_id: AccountId, token_id: TokenId) -> None:
        """Revoke an administrator's invitation; no effect if it has ended.

        Raises:
            NotAuthorized: The account is deleted.
        """
        ended = TokenDecision(forgotten=[token_id])
        await self._store.tokens.change(account_id, Purpose.INVITATION, lambda *_: ended)

    async def is_open(self, text: str) -> bool:
        """Whether an invitation can create an account."""
        invitation = self._read(text)
        found = await self._store.tokens.find(*invitation) if invitation else None
        return found is not None and accounts.is_invitation_open(
            found.account, found.token, self._now()
        )

    async def sign_up(self, text: str, name: str, password: str) -> Account:
        """Create an account, and spend its invitation.

        Raises:
            NotAuthorized: The invitation was spent or revoked or has expired, or its author is no
                longer an administrator.
            AccountError: The name or password is unacceptable, or the name is taken; the
                invitation stays open.
            TooManyAttempts: The hashing queue is full.
        """
        invitation = self._read(text)
        if invitation is None or not await self.is_open(text):
            raise NotAuthorized
        # Hashing before the name is looked up keeps the time from revealing whether it is taken.
        account, key = await self._accounts.prepared(name, password)
        now = self._now()
        await self._store.accounts.sign_up(
            account,
            key,
            invitation,
            lambda inviter, one: accounts.is_invitation_open(inviter, one, now),
        )
        return account

    async def sign_up_openly(self, name: str, password: str, address: str) -> Account:
        """Create an account without an invitation.

        Raises:
            NotAuthorized: Registration is not open.
            AccountError: The name or password is unacceptable, or the name is taken.
            TooManyAttempts: Too many recent sign-ups from this address, or the hashing queue is
                full.
        """
        if self._registration is not Registration.OPEN:
            raise NotAuthorized
        attempt = self._throttle.begin_by(sign_up_limits(address), time.monotonic())
        self._throttle.settle(attempt, is_right=False)
        account, key = await self._accounts.prepared(name, password)
        await self._store.accounts.create(account, key)
        return account

    def _read(self, text: str) -> tuple[AccountId, bytes] | None:
        """Return the inviter's id and the hash of an invitation; None if it cannot be valid."""
        if self._registration is Registration.CLOSED:
            return None
        return credentials.read_link(text, INVITATION_PREFIX)
