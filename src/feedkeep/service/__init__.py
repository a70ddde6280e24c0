"""All use cases. Every edge and every command reaches the rules and the store through here only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import chain

from feedkeep import __version__
from feedkeep.model import Account, AccountId, Now, Registration, Stamp
from feedkeep.model.errors import NotAuthorized, StoreDamaged, StoreUnavailable
from feedkeep.rules.credentials import MAX_ACCOUNT_ID
from feedkeep.rules.history_invariants import history_violations
from feedkeep.rules.invariants import action_violations, violations
from feedkeep.rules.room import MAX_SUBSCRIPTIONS, limits_for
from feedkeep.rules.undo import HISTORY_DAYS
from feedkeep.runtime.recorder import Recorder
from feedkeep.security.passwords import Passwords
from feedkeep.security.throttle import Throttle
from feedkeep.service.accounts import FIRST, Accounts
from feedkeep.service.apps import Apps
from feedkeep.service.authentication import Authentication
from feedkeep.service.clock_repair import ClockRepair
from feedkeep.service.devices import Devices
from feedkeep.service.episode_actions import EpisodeActions
from feedkeep.service.feed_labels import FeedLabels
from feedkeep.service.followed_moves import FollowedMoves
from feedkeep.service.forgetting import Forgetting
from feedkeep.service.history import ListHistory
from feedkeep.service.identities import Identities
from feedkeep.service.invitations import Invitations
from feedkeep.service.known_feeds import KnownFeeds, NewFeeds
from feedkeep.service.last_uses import LastUses
from feedkeep.service.list_changes import ListChanges
from feedkeep.service.logins import Logins
from feedkeep.service.migrations import Migrations
from feedkeep.service.news import News
from feedkeep.service.not_duplicates import NotDuplicates
from feedkeep.service.own_data import OwnData
from feedkeep.service.page_sessions import PageSessions
from feedkeep.service.preferences import AccountPreferences
from feedkeep.service.progress import Progress
from feedkeep.service.recovery import Recovery
from feedkeep.service.refusals import Refusals
from feedkeep.service.rehashing import Rehashing
from feedkeep.service.shared_attempts import SharedAttempts
from feedkeep.service.subscriptions import Subscriptions
from feedkeep.service.tokens import Tokens
from feedkeep.service.url_lists import UrlLists
from feedkeep.store.base import Store

READY_SECONDS = 3.0
"""How long a store may take to show that it reads and writes."""

_FAR_AHEAD = (
    "its clock is far ahead of this machine's; if that one is right, `feedkeep database"
    " repair-clocks` sets it right"
)


@dataclass(frozen=True, slots=True)
class Health:
    """What administrators want to know of a service.

    Attributes:
        version: The version of feedkeep.
        store: What kind of database it uses.
        size_bytes: How much that takes.
        is_backed_up_here: Whether `feedkeep backup` backs it up; otherwise it has its own tools.
        last_backup: When that last did so, if it did.
        wrong_passwords: How many wrong ones came to this process in the last five minutes.
    """

    version: str
    store: str
    size_bytes: int
    is_backed_up_here: bool
    last_backup: Stamp | None
    wrong_passwords: int


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found by a look for faults at some accounts.

    Attributes:
        last: The greatest id of those that were looked at until now.
        accounts: How many of them this look was at.
        faults: A sentence for each fault.
    """

    last: AccountId
    accounts: int
    faults: Sequence[str]


class Service:
    """Has an object for each topic; each of their methods is a use case.

    Attributes:
        now: The clock that it was given.
        store: The store that it uses.
        authentication: Checks the credential of a request.
        shared_attempts: Tells other processes which passwords were wrong here, and learns theirs.
        accounts: Creates, changes and deletes accounts.
        invitations: Invites people, and creates the accounts of those who sign up.
        identities: Finds the accounts of people who sign in with another provider.
        recovery: Lets those set a new password who forgot theirs.
        page_sessions: Begins and ends the sessions of browsers.
        apps: Lists, connects and disconnects the apps of an account.
        own_data: Everything that is stored of an account.
        preferences: How people want to see the pages.
        news: The private feed of an account's news.
        tokens: Lists, creates and revokes tokens and sessions, for commands.
        subscriptions: The list by guids, for the interface and the command line.
        history: What changed in the list, and how it comes back.
        forgetting: Forgets what of that is older than is promised.
        url_lists: The list by URLs, as podcast apps sync it.
        episode_actions: What was played, and how far.
        known_feeds: What is known of feeds.
        new_feeds: Feeds that accounts have just subscribed to.
        feed_labels: What owners call their feeds, and their folders.
        followed_moves: Lets lists follow feeds that moved.
        not_duplicates: Which feeds look like the same podcast and are not.
        devices: The devices of podcast apps, and the settings that apps store here.
        logins: Begins and ends the sessions of podcast apps, and grants logins of Nextcloud.
        migrations: How far everything was copied from other servers.
    """

    def __init__(
        self,
        store: Store,
        now: Now,
        workers: int = 1,
        max_subscriptions: int = MAX_SUBSCRIPTIONS,
        registration: Registration = Registration.CLOSED,
        history_days: int = HISTORY_DAYS,
        recorder: Recorder | None = None,
        app_passwords_url: str = "",
    ) -> None:
        """Use a store.

        `workers` is how many processes of this machine do so: they share its memory for hashing
        passwords. `registration` is who may create an account for themselves. `history_days` is for
        how long former states of lists are kept; with 0 none are. `recorder` counts
        wrong passwords, if it is given. `app_passwords_url` is where people make app passwords, if
        apps are let in by nothing else.
        """
        limits, progress = limits_for(max_subscriptions), Progress(store)
        self.new_feeds = NewFeeds()
        self.episode_actions = actions = EpisodeActions(store, progress)
        changes = ListChanges(store, now, history_days, self.new_feeds, actions)
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
        self.subscriptions = Subscriptions(store, changes, limits)
        self.forgetting = Forgetting(store, now, history_days)
        self.history = ListHistory(store, changes, actions, limits, now, history_days)
        self.url_lists = UrlLists(store, changes, actions, limits, progress)
        self.known_feeds = KnownFeeds(store, now, self.new_feeds.turns)
        self.followed_moves = FollowedMoves(changes, actions, limits)
        self.feed_labels = FeedLabels(store)
        self.not_duplicates = NotDuplicates(store)
        self.devices = Devices(store)
        self.own_data = OwnData(store, self.devices, actions)
        self.logins = Logins(store, last_uses, now)
        self.migrations = Migrations(store)

    async def close(self) -> None:
        """Finish what was accepted, and close the store."""
        await self.migrations.close()
        await self.forgetting.close()
        await self.authentication.close()
        await self._last_uses.close()
        await self.shared_attempts.close()
        await self.store.close()
        self._passwords.close()

    async def assert_ready(self) -> None:
        """Return if requests can be served now; it takes `READY_SECONDS` at most.

        Raises:
            StoreUnavailable: The store cannot read or write, or does not answer.
        """
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self.store.assert_ready()
        except TimeoutError as error:
            raise StoreUnavailable("The store does not answer.") from error

    async def health(self) -> Health:
        """Return what administrators want to know of this service."""
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
        """Look for faults that the database finds, then for lists that break the contract.

        Yields what was found of the database, and of each page of the accounts with a greater id.
        """
        yield Checked(after, 0, await self.store.faults())
        async for checked in self.check_lists(after, AccountId(MAX_ACCOUNT_ID)):
            yield checked

    async def check_lists(self, after: AccountId, until: AccountId) -> AsyncIterator[Checked]:
        """Look for lists that break the contract, of the accounts after an id and up to another."""
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
        except NotAuthorized:  # it was deleted meanwhile
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
