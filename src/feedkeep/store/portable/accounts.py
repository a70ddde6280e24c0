"""Accounts and their clocks on both databases, except access by name and deletion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from feedkeep.model import Account, AccountId, Clock, Entry, Person, Restored, Stamp, Token
from feedkeep.model.errors import IdentityTaken, NotAuthorized
from feedkeep.store.driver import Driver, Statements
from feedkeep.store.portable.stamping import DecideStamps, restamp
from feedkeep.store.rows import Rows, account_of, restored_row, stamped_row, token_of
from feedkeep.store.sql import AND_NOT_DELETED, Sql, sql
from feedkeep.store.tables import ACCOUNT_COLUMNS, ENTRY, RESTORED, STAMPED, TOKEN, columns

CheckChange: TypeAlias = Callable[[Account, int], None]
"""Raises an error if an account must not be changed.

Its arguments are the account and the number of other enabled administrators.
"""

DecideRestored: TypeAlias = Callable[[Account, Entry | None], Restored]
"""Returns the restored form of an account and of its entry with the greatest revision."""

CREATE = sql("""
INSERT INTO feedkeep.account
    (account_id, name, name_key, password_hash, is_disabled, created, is_admin)
VALUES ($1, $2, $3, $4, $5, $6, $7)
""")
_COUNT = sql(f"""
SELECT count(*) FROM feedkeep.account a WHERE a.account_id > $1 {AND_NOT_DELETED}
""")
_NEWEST_STAMPS = sql("""
SELECT max(a.last_stamp), max(a.last_action_stamp) FROM feedkeep.account a
""")
_BY_ID = sql(f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a
WHERE a.account_id > $1 {AND_NOT_DELETED} ORDER BY a.account_id LIMIT $2
""")
_WITH_ID = sql(f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.account_id = $1 {AND_NOT_DELETED}
""")
_ADMINISTRATORS = sql(f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a
WHERE a.is_admin AND NOT a.is_disabled ORDER BY a.created, a.account_id
""")
_LINKED = sql(f"""
SELECT {ACCOUNT_COLUMNS} FROM feedkeep.account a WHERE a.identity = $1 {AND_NOT_DELETED}
""")
COUNT_OTHERS = sql("""
SELECT count(*) FROM feedkeep.account a
WHERE a.is_admin AND NOT a.is_disabled AND a.account_id <> $1
""")
_SET_PASSWORD = sql("UPDATE feedkeep.account AS a SET password_hash = $2 WHERE a.account_id = $1")
_REPLACE_HASH = sql(f"{_SET_PASSWORD} AND a.password_hash = $3")
_SET_DISABLED = sql("UPDATE feedkeep.account AS a SET is_disabled = $2 WHERE a.account_id = $1")
_SET_ADMIN = sql("UPDATE feedkeep.account AS a SET is_admin = $2 WHERE a.account_id = $1")
_SET_IDENTITY = sql("UPDATE feedkeep.account AS a SET identity = $2 WHERE a.account_id = $1")
_END_SESSIONS = sql("""
DELETE FROM feedkeep.token AS t
WHERE t.account_id = $1 AND (t.is_session AND t.of_token IS NULL OR t.purpose = 'reset')
""")
_WITH_HASH = sql(f"""
SELECT {columns(TOKEN, "t")} FROM feedkeep.token t WHERE t.account_id = $1 AND t.hash = $2
""")
_FORGET_TOKEN = sql("DELETE FROM feedkeep.token AS t WHERE t.account_id = $1 AND t.id = $2")
_OPEN_GRANTS = "FROM feedkeep.login_grant WHERE account_id = $1 AND fetched IS NULL"
_HAS_OPEN_GRANTS = sql(f"SELECT EXISTS (SELECT 1 {_OPEN_GRANTS})")
_END_GRANTS = sql(f"DELETE {_OPEN_GRANTS}")
_NEWEST_ENTRY = sql(f"""
SELECT {columns(ENTRY, "e")} FROM feedkeep.entry e
WHERE e.account_id = $1 AND e.revision IS NOT NULL ORDER BY e.revision DESC LIMIT 1
""")
_SET_RESTORED = sql(f"""
UPDATE feedkeep.account AS a SET {", ".join(f"{name} = ${n}" for n, name in enumerate(RESTORED, 2))}
WHERE a.account_id = $1
""")
_STAMP_ANEW = sql(f"""
UPDATE feedkeep.entry AS e SET {", ".join(f"{name} = ${n}" for n, name in enumerate(STAMPED, 3))}
WHERE e.account_id = $1 AND e.guid = $2
""")
_CLOCKS = {Clock.SUBSCRIPTIONS: "last_stamp", Clock.ACTIONS: "last_action_stamp"}
_SET_CLOCK = {
    clock: sql(f"UPDATE feedkeep.account AS a SET {column} = $2 WHERE a.account_id = $1")
    for clock, column in _CLOCKS.items()
}


def anything_goes(_account: Account, _others: int) -> None:
    """Allow each change of an account."""


class Accounts(ABC):
    """The table `account`: all accounts and their clocks."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    @property
    @abstractmethod
    def _are_there(self) -> Sql:
        """The statement that tests whether any account exists."""

    @abstractmethod
    async def _create(self, statements: Statements, account: Account, name_key: str) -> None:
        """Add an account.

        Raises:
            NameTaken: Another account has this name; nothing is changed.
        """

    @abstractmethod
    async def find(self, name_key: str) -> Account | None:
        """Return the account with a name key, if it exists."""

    @abstractmethod
    async def people(self, after: str, limit: int, beginning: str = "") -> Sequence[Person]:
        """Return up to `limit` accounts whose name key follows `after`, ordered by name key.

        Only name keys that start with `beginning` are returned.
        """

    @abstractmethod
    async def taken(self, name_keys: Sequence[str]) -> Collection[str]:
        """Return the name keys that belong to an account."""

    @abstractmethod
    async def create_many(self, accounts: Sequence[tuple[Account, str]]) -> Sequence[bool]:
        """Add accounts with their name keys in one commit, except accounts whose name is taken.

        Returns for each account whether it was added.
        """

    @abstractmethod
    async def delete(self, account_id: AccountId, check: CheckChange = anything_goes) -> None:
        """Remove an account and all its data; otherwise as `set_disabled`.

        One commit removes the account and frees its name. The rest may follow in steps that do not
        block others; if a shutdown interrupts them, `finish_deleting` continues.
        """

    @abstractmethod
    async def finish_deleting(self) -> None:
        """Remove the remaining data of deleted accounts."""

    async def count(self, after: AccountId) -> int:
        """Return the number of accounts with a greater id; all ids are greater than 0."""
        rows = await self._driver.scan(_COUNT, after)
        return int(rows[0][0])

    async def by_id(self, after: AccountId, limit: int) -> list[Account]:
        """Return up to `limit` accounts with a greater id, ordered by id."""
        rows = await self._driver.scan(_BY_ID, after, limit)
        return [account_of(row) for row in rows]

    async def with_id(self, account_id: AccountId) -> Account | None:
        """Return the account with an id, if it exists."""
        rows = await self._driver.read(_WITH_ID, account_id)
        return account_of(rows[0]) if rows else None

    async def newest_stamp(self) -> Stamp:
        """Return the newest stamp of all lists and their episode actions; 0 without accounts.

        Reads all accounts.
        """
        [stamps] = await self._driver.scan(_NEWEST_STAMPS)
        return Stamp(max(stamp or 0 for stamp in stamps))

    async def administrators(self) -> list[Account]:
        """Return all enabled administrators, the oldest first."""
        return [account_of(row) for row in await self._driver.scan(_ADMINISTRATORS)]

    async def linked(self, identity: bytes) -> Account | None:
        """Return the account that is linked to a person of a provider, if there is one.

        In a cluster, all machines are searched.
        """
        rows = await self._driver.read(_LINKED, identity)
        return account_of(rows[0]) if rows else None

    async def are_there(self) -> bool:
        """Whether any account exists."""
        rows = await self._driver.read(self._are_there)
        return bool(rows[0][0])

    async def create(self, account: Account, name_key: str) -> None:
        """Add an account without entries.

        Raises:
            NameTaken: Another account has this name.
        """
        await self._driver.write(lambda statements: self._create(statements, account, name_key))

    async def create_first(self, account: Account, name_key: str) -> None:
        """Add the first account, as `create` does; of concurrent calls, one succeeds.

        Raises:
            NotAuthorized: An account exists.
        """

        async def create(statements: Statements) -> None:
            await self._driver.lock_out_others(statements)
            if await statements.fetchval(self._are_there):
                raise NotAuthorized
            await self._create(statements, account, name_key)

        await self._driver.write(create)

    async def create_linked(self, account: Account, name_key: str) -> None:
        """Add an account with an identity, as `create` does.

        Raises:
            IdentityTaken: Another account is linked to this identity.
        """

        async def create(statements: Statements) -> None:
            await self._assert_unlinked(statements, account.id, account.identity)
            await self._create(statements, account, name_key)
            await statements.execute(_SET_IDENTITY, account.id, account.identity)

        await self._driver.write(create)

    async def set_identity(self, account_id: AccountId, identity: bytes | None) -> None:
        """Link an account to a person of a provider, or unlink it; no effect if it is deleted.

        Raises:
            IdentityTaken: Another account is linked to this person.
        """

        async def link(statements: Statements, account: Account) -> None:
            await self._assert_unlinked(statements, account.id, identity)
            await statements.execute(_SET_IDENTITY, account.id, identity)

        await self._driver.change_if_there(account_id, link)

    async def _assert_unlinked(
        self, statements: Statements, account_id: AccountId, identity: bytes | None
    ) -> None:
        """Check that no other account has an identity, and lock this until the commit.

        Raises:
            IdentityTaken: Another account has it.
        """
        if identity is None:
            return
        await self._driver.lock_out_others(statements)
        row = await statements.fetchrow(_LINKED, identity)
        if row is not None and account_of(row).id != account_id:
            raise IdentityTaken

    async def sign_up(
        self,
        account: Account,
        name_key: str,
        invitation: tuple[AccountId, bytes],
        admits: Callable[[Account, Token], bool],
    ) -> None:
        """Add an account and delete the invitation that allows it, in one commit.

        The invitation is identified by the inviting account and its hash; `admits` is given both as
        stored and returns whether the invitation is still open.

        Raises:
            NotAuthorized: The invitation does not exist or is not open.
            NameTaken: Another account has this name; the invitation stays.
        """

        # The inviter is locked, so that the invitation is used only once.
        async def sign_up(statements: Statements, inviter: Account) -> None:
            row = await statements.fetchrow(_WITH_HASH, *invitation)
            if row is None or not admits(inviter, token_of(row)):
                raise NotAuthorized
            await self._create(statements, account, name_key)
            await statements.execute(_FORGET_TOKEN, inviter.id, token_of(row).id)

        await self._driver.change(invitation[0], sign_up)

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        """Replace the password's hash; end sessions and granted logins that were not fetched.

        Links to set a new password end, too. Sessions of a token continue, as the token does.
        """
        await self._driver.change_if_there(
            account_id,
            lambda statements, account: set_password(statements, account, password_hash),
        )

    async def replace_hash(self, account_id: AccountId, stored_hash: str, new_hash: str) -> None:
        """Replace the hash of a password by another hash of the same password, with the same salt.

        Ends nothing. No effect if the stored hash is not `stored_hash`.
        """
        values = (account_id, new_hash, stored_hash)
        await self._driver.write(lambda statements: statements.execute(_REPLACE_HASH, *values))

    async def set_disabled(
        self, account_id: AccountId, is_disabled: bool, check: CheckChange = anything_goes
    ) -> None:
        """Disable or enable an account; end granted logins that were not fetched.

        The number of other administrators cannot fall between `check` and the commit. No effect if
        `check` raises or the account does not exist.
        """

        async def set_disabled(statements: Statements, account: Account) -> None:
            await self._check(statements, account, check)
            await statements.execute(_SET_DISABLED, account_id, is_disabled)
            await _end_grants(statements, account_id)

        await self._driver.change_if_there(account_id, set_disabled)

    async def set_admin(
        self, account_id: AccountId, is_admin: bool, check: CheckChange = anything_goes
    ) -> None:
        """Grant or revoke administrator rights; otherwise as `set_disabled`."""

        async def set_admin(statements: Statements, account: Account) -> None:
            await self._check(statements, account, check)
            await statements.execute(_SET_ADMIN, account_id, is_admin)

        await self._driver.change_if_there(account_id, set_admin)

    async def advance(
        self, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
    ) -> Stamp:
        """Set a clock to the result of `to` for its present stamp; return the new stamp.

        Raises:
            NotAuthorized: The account is deleted.
        """

        async def advance(statements: Statements, account: Account) -> Stamp:
            stamp = to(getattr(account, _CLOCKS[clock]))
            await set_clock(statements, account_id, clock, stamp)
            return stamp

        return await self._driver.change(account_id, advance)

    async def note_restored(self, account_id: AccountId, decide: DecideRestored) -> None:
        """Store the result of `decide` for an account; no effect if it is deleted."""

        async def note(statements: Statements, account: Account) -> None:
            await note_restored(statements, account, self._driver.rows, decide)

        await self._driver.change_if_there(account_id, note)

    async def restamp(self, account_id: AccountId, now: Stamp, decide: DecideStamps) -> None:
        """Replace an account's stamps that are later than `now` as `decide` returns, in one commit.

        Forgets which URLs its apps have; each app that was sent anything counts as informed up to
        the stamp from `decide`. No effect if the account is deleted.
        """

        async def stamp(statements: Statements, account: Account) -> None:
            after = await restamp(statements, account, now, decide)
            await statements.execute(_SET_RESTORED, account_id, *restored_row(after))

        await self._driver.change_if_there(account_id, stamp)

    async def _check(self, statements: Statements, account: Account, check: CheckChange) -> None:
        """Call `check` for an account that is to be changed.

        The other administrators may be on any machine of a cluster. They are counted only for an
        administrator, so that an unreachable machine does not prevent disabling other accounts.
        """
        others = 0
        if account.is_admin:
            await self._driver.lock_out_others(statements)
            others = await statements.fetchval(COUNT_OTHERS, account.id)
        check(account, others)


def is_still_let_in(found: Account, account: Account) -> bool:
    """Whether the stored account is enabled and has the same password as `account`."""
    return not found.is_disabled and found.salt == account.salt


async def set_password(statements: Statements, account: Account, password_hash: str) -> None:
    """Replace a password's hash; end sessions, reset links and granted logins."""
    await statements.execute(_SET_PASSWORD, account.id, password_hash)
    await statements.execute(_END_SESSIONS, account.id)
    await _end_grants(statements, account.id)


async def set_clock(
    statements: Statements, account_id: AccountId, clock: Clock, stamp: Stamp
) -> None:
    await statements.execute(_SET_CLOCK[clock], account_id, stamp)


async def note_restored(
    statements: Statements, account: Account, rows: Rows, decide: DecideRestored
) -> None:
    """Store the restored form of an account."""
    row = await statements.fetchrow(_NEWEST_ENTRY, account.id)
    restored = decide(account, rows.entry_of(row) if row else None)
    await statements.execute(_SET_RESTORED, account.id, *restored_row(restored.account))
    if restored.newest is not None:
        key = (account.id, rows.write_guid(restored.newest.guid))
        await statements.execute(_STAMP_ANEW, *key, *stamped_row(restored.newest))


async def _end_grants(statements: Statements, account_id: AccountId) -> None:
    """End granted logins that were not fetched; the account's row is already locked.

    They are rare, and on a cluster this table is written on every machine. It is written only if
    there are any, so that an unreachable machine does not prevent disabling an account.
    """
    if await statements.fetchval(_HAS_OPEN_GRANTS, account_id):
        await statements.execute(_END_GRANTS, account_id)
