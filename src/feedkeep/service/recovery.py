"""Password resets without the old password: by an administrator's link, or by a recovery code."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model import (
    UNNUMBERED,
    Account,
    AccountId,
    Found,
    NewToken,
    Now,
    Purpose,
    Stamp,
    Token,
    TokenDecision,
)
from feedkeep.model.errors import AccountError, NotAuthorized
from feedkeep.rules import accounts, credentials
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.credentials import RESET_PREFIX
from feedkeep.security.passwords import Passwords
from feedkeep.security.tokens import new_recovery_code, new_token
from feedkeep.service.accounts import Accounts
from feedkeep.store.base import Store

_NOBODY = AccountId(0)
_NO_CODE = b""


class Recovery:
    """Creates and spends reset links and recovery codes."""

    def __init__(
        self,
        store: Store,
        accounts: Accounts,
        passwords: Passwords,
        now: Now,
    ) -> None:
        self._store = store
        self._accounts = accounts
        self._passwords = passwords
        self._now = now

    async def reset_link(self, name: str) -> NewToken:
        """Create a link with which an account's password can be set once, within a day.

        It replaces earlier links.

        Raises:
            AccountError: There is no such account, or it is disabled.
        """
        account = await self._accounts.named(name)
        if account.is_disabled:
            raise AccountError(
                "{name} is disabled, so no link works; enable it first.", name=account.name
            )
        text, now = new_token(account.id, RESET_PREFIX), self._now()
        expires = shift(now, accounts.RESET_DAYS * DAY_US)
        link = _secret(credentials.token_hash(text), Purpose.RESET, now, expires)
        changed = await self._store.tokens.change(
            account.id, Purpose.RESET, lambda _, known: accounts.replaced(known, [link])
        )
        return NewToken(text, changed.added[0])

    async def account_of(self, text: str) -> Account | None:
        """Return the account of a reset link; None if the link is invalid."""
        found = await self._found(text)
        return None if found is None else found.account

    async def reset(self, text: str, password: str) -> Account:
        """Set a password by a link, and spend the link; return the changed account.

        All sessions started with the old password end.

        Raises:
            NotAuthorized: The link was spent or replaced, has expired, or the account is disabled.
            AccountError: The password is unacceptable; the link remains.
            TooManyAttempts: The hashing queue is full.
        """
        found = await self._found(text)
        if found is None:
            raise NotAuthorized
        password_hash = await self._passwords.hash(credentials.check_password(password))
        return await self._spend(found, password_hash)

    async def new_codes(self, account: Account) -> list[str]:
        """Return ten new recovery codes, which replace earlier codes.

        Raises:
            NotAuthorized: The account is deleted.
        """
        codes = [new_recovery_code() for _ in range(accounts.RECOVERY_CODES)]
        hashes = [credentials.recovery_hash(code) or _NO_CODE for code in codes]
        made = [_secret(stored, Purpose.RECOVERY, self._now()) for stored in hashes]
        await self._store.tokens.change(
            account.id, Purpose.RECOVERY, lambda _, known: accounts.replaced(known, made)
        )
        return codes

    async def codes_left(self, account_id: AccountId) -> int:
        known = await self._store.tokens.of(account_id)
        return sum(one.purpose is Purpose.RECOVERY for one in known)

    async def recover(self, name: str, code: str, password: str, address: str) -> Account:
        """Set a password by a recovery code, and spend the code; return the changed account.

        All sessions started with the old password end. A wrong code counts as a wrong password, and
        takes the same time whether or not the account exists.

        Raises:
            NotAuthorized: No enabled account has that name and code.
            AccountError: The password is unacceptable; the code remains, and nothing is counted.
            TooManyAttempts: Too many wrong passwords or codes for this name or from this address,
                or the hashing queue is full.
        """
        normal, key = credentials.check_password(password), credentials.name_key(name)
        account = await self._store.accounts.find(key)
        account_id = account.id if account else _NOBODY
        code_hash = credentials.recovery_hash(code) or _NO_CODE
        found = await self._store.tokens.find(account_id, code_hash)
        is_right = found is not None and self._is_open(found, Purpose.RECOVERY)
        password_hash = await self._passwords.hash_if_right(normal, key, address, is_right=is_right)
        if found is None or password_hash is None:
            raise NotAuthorized
        return await self._spend(found, password_hash)

    async def _found(self, text: str) -> Found | None:
        link = credentials.read_link(text, RESET_PREFIX)
        found = await self._store.tokens.find(*link) if link else None
        return found if found is not None and self._is_open(found, Purpose.RESET) else None

    def _is_open(self, found: Found, purpose: Purpose) -> bool:
        return credentials.admits(found.account, found.token, self._now(), purpose)

    async def _spend(self, found: Found, password_hash: str) -> Account:
        spent_id, now = found.token.id, self._now()

        def decide(account: Account, known: Sequence[Token]) -> TokenDecision:
            return accounts.spent(account, known, spent_id, now, password_hash)

        changed = await self._store.tokens.change(found.account.id, found.token.purpose, decide)
        return changed.account


def _secret(
    secret_hash: bytes, purpose: Purpose, now: Stamp, expires: Stamp | None = None
) -> Token:
    return Token(UNNUMBERED, secret_hash, "", now, expires, purpose=purpose)
