"""The use cases: the only access of edges and commands to the rules and the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import chain

from feedkeep import __version__
from feedkeep.model import Account, AccountId, Limits, Now, Registration, Stamp
from feedkeep.model.errors import NotAuthorized, StoreDamaged, StoreUnavailable
from feedkeep.rules.credentials import MAX_ACCOUNT_ID
from feedkeep.rules.invariants import action_violations, history_violations, violations
from feedkeep.runtime.recorder import Recorder
from feedkeep.security.passwords import Passwords
from feedkeep.security.throttle import Refusals, Throttle
from feedkeep.service.accounts import FIRST, Accounts
from feedkeep.service.authentication import Authentication, Rehashing
from feedkeep.service.devices import Apps, Devices
from feedkeep.service.episode_actions import EpisodeActions
from feedkeep.service.episodes import Episodes
from feedkeep.service.feed_labels import FeedLabels, NotDuplicates
from feedkeep.service.forgetting import Forgetting
from feedkeep.service.history import ListHistory
from feedkeep.service.identities import Identities
from feedkeep.service.invitations import Invitations
from feedkeep.service.known_feeds import KnownFeeds, NewFeeds
from feedkeep.service.last_uses import LastUses
from feedkeep.service.list_changes import FollowedMoves, ListChanges
from feedkeep.service.logins import Logins
from feedkeep.service.migrations import Migrations
from feedkeep.service.news import News
from feedkeep.service.own_data import OwnData
from feedkeep.service.page_sessions import PageSessions
from feedkeep.service.preferences import AccountPreferences
from feedkeep.service.progress import ClockRepair, Progress
from feedkeep.service.recovery import Recovery
from feedkeep.service.shared_attempts import SharedAttempts
from feedkeep.service.subscriptions import Subscriptions
from feedkeep.service.tokens import Tokens
from feedkeep.service.url_lists import UrlLists
from feedkeep.store.base import Store

READY_SECONDS = 3.0
"""Timeout of a readiness check of the store."""

_FAR_AHEAD = (
    "its clock is far ahead of this machine's; if that one is right, `feedkeep database"
    " repair-clocks` sets it right"
)


@dataclass(frozen=True, slots=True)
class Health:
    """State of the service, for administrators.

    Attributes:
        store: Kind of database.
        is_backed_up_here: Whether `feedkeep backup` backs it up; otherwise it has its own tools.
        last_backup: Time of the last such backup, if any.
        wrong_passwords: Number of wrong passwords sent to this process in the last five minutes.
    """

    version: str
    store: str
    size_bytes: int
    is_backed_up_here: bool
    last_backup: Stamp | None
    wrong_passwords: int


@dataclass(frozen=True, slots=True)
class Checked:
    """Faults found in some accounts.

    Attributes:
        last: Greatest account id checked so far.
        accounts: Number of accounts in this step.
        faults: A sentence for each fault.
    """

    last: AccountId
    accounts: int
    faults: Sequence[str]


class Service:
    """The use cases: each attribute has the methods of one topic.

    Args:
        limits: Limits of each account's list.
        history_days: Retention of former states of lists; 0 means no history.
        workers: Number of processes on this machine, which share its memory for password hashing.
        registration: Policy for sign-up.
        recorder: Counts wrong passwords.
        app_passwords_url: URL for creating app passwords, if apps must use them; else "".
    """

    def __init__(
        self,
        store: Store,
        now: Now,
        limits: Limits,
        history_days: int,
        workers: int = 1,
        registration: Registration = Registration.CLOSED,
        recorder: Recorder | None = None,
        app_passwords_url: str = "",
    ) -> None:
        progress = Progress(store)
        self.new_feeds = NewFeeds()
        self.episode_actions = actions = EpisodeActions(store, progress)
        changes = ListChanges(store, now, history_days, limits, self.new_feeds, actions)
        self._throttle = throttle = Throttle()
        passwords, last_uses = Passwords(throttle, workers), LastUses(store)
        self.now = now
        self.store = store
        self._passwords = passwords
        self._last_uses = last_uses
        self.shared_attempts = SharedAttempts(store, throttle, now)
        self.authentication = Authentication(
            store,
            passwords,
            Rehashing(store, passwords),
            last_uses,
            now,
            recorder,
            app_passwords_url,
        )
        self.accounts = accounts = Accounts(store, passwords, now)
        self.invitations = Invitations(store, accounts, throttle, registration, now)
        self.recovery = Recovery(store, accounts, passwords, now)
        self.identities = Identities(store, accounts)
        self.refusals = Refusals(throttle)
        self.preferences = AccountPreferences(store)
        self.news = News(store, self.preferences)
        self.page_sessions = PageSessions(store, self.authentication, self.news, now)
        self.apps = Apps(store, now)
        self.clock_repair = ClockRepair(store, accounts, self.preferences, progress, now)
        self.tokens = Tokens(store, self.accounts, now)
        self.subscriptions = Subscriptions(store, changes)
        self.forgetting = Forgetting(store, now, history_days)
        self.history = ListHistory(store, changes, actions, now, history_days)
        self.url_lists = UrlLists(store, changes, actions, progress)
        self.known_feeds = KnownFeeds(store, now, self.new_feeds.turns)
        self.episodes = Episodes(store, self.known_feeds)
        self.followed_moves = FollowedMoves(changes, actions)
        self.feed_labels = FeedLabels(store)
        self.not_duplicates = NotDuplicates(store)
        self.devices = Devices(store)
        self.own_data = OwnData(store, self.devices, actions)
        self.logins = Logins(store, last_uses, now)
        self.migrations = Migrations(store)

    async def close(self) -> None:
        """Complete the accepted work, and close the store."""
        await self.migrations.close()
        await self.forgetting.close()
        await self.authentication.close()
        await self._last_uses.close()
        await self.shared_attempts.close()
        await self.store.close()
        self._passwords.close()

    async def assert_ready(self) -> None:
        """Check that requests can be served; takes at most `READY_SECONDS`.

        Raises:
            StoreUnavailable: The store cannot read or write, or does not answer.
        """
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self.store.assert_ready()
        except TimeoutError as error:
            raise StoreUnavailable("The store does not answer.") from error

    async def health(self) -> Health:
        """Return the state of the service, for administrators."""
        store = await self.store.size()
        return Health(
            __version__,
            store.kind,
            store.size_bytes,
            store.is_backed_up_here,
            store.last_backup,
            self.authentication.wrong_passwords(),
        )

    async def check(self, after: AccountId = FIRST) -> AsyncIterator[Checked]:
        """Check the database, then the lists of all accounts with a greater id.

        Yields the faults of the database, then those of each page of accounts.
        """
        yield Checked(after, 0, await self.store.faults())
        async for checked in self.check_lists(after, AccountId(MAX_ACCOUNT_ID)):
            yield checked

    async def check_lists(self, after: AccountId, until: AccountId) -> AsyncIterator[Checked]:
        """Check whether lists conform to the contract, for ids after `after` up to `until`."""
        async for page in self.accounts.by_id(after):
            some = [account for account in page if account.id <= until]
            if not some:
                return
            found = await asyncio.gather(*map(self._damages_of, some))
            yield Checked(some[-1].id, len(some), list(chain.from_iterable(found)))

    async def _damages_of(self, account: Account) -> list[str]:
        try:
            snapshot = await self.store.entries.whole(account.id, Stamp(0))
            counted, found = await self.store.episode_actions.weights(account.id)
        except NotAuthorized:  # deleted in the meantime
            return []
        except StoreDamaged:
            return [f"account {account.name}: not all of its list can be read"]
        broken = chain(
            violations(snapshot),
            history_violations(snapshot),
            action_violations(counted, found),
            [_FAR_AHEAD] if self.clock_repair.is_needed(account) else [],
        )
        return [f"account {account.name}: {violation}" for violation in broken]
