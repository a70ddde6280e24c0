"""An operation is done or not done, wherever it fails: never a part of it.

Before each statement that an operation sends to the database, the disk or the connection fails,
once or from then on: where there are many, in turn in the short form, else both. Afterwards all
that is stored is either as it was, or as the whole operation leaves it; and the latter if it was
reported done.
"""

import asyncio
import contextlib
import re
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urlsplit, urlunsplit

import apsw
import pytest
from authors import TESTER
from balancer import pass_on
from forms import IS_LONG, in_the_long_form
from stores import service_on
from whole_store import all_accounts, damages_of

from feedkeep.model import AccountRecord, Admitted, Registration, Scope
from feedkeep.model.errors import FeedkeepError
from feedkeep.rules.clock import shift
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Update, want
from feedkeep.rules.undo import Undo
from feedkeep.runtime import wall_clock
from feedkeep.security import argon2id
from feedkeep.service.accounts import ImportedAccount
from feedkeep.service.logins import MAX_SESSIONS_OF_AN_APP
from feedkeep.store.postgres import PostgresStore, connections, entry_writes
from feedkeep.store.postgres.counted import write_in_turn
from feedkeep.store.postgres.runner import PostgresDriver
from feedkeep.store.sqlite import SqliteStore, driver
from feedkeep.store.sqlite.driver import SqliteDriver
from feedkeep.store.sqlite.runner import SqliteRunner

A, B, C = "https://a.example", "https://b.example", "https://c.example"
GUIDS = [f"00000000-0000-4000-8000-00000000000{digit}" for digit in range(3)]
NEVER = 10**9
KEPT, PASSWORD = "administrator", "a new one"
FEW = 12  # up to how many statements both ways to fail are tried at each, also in the short form


class Faults:
    """Makes a statement fail by its number, and optionally all later ones."""

    seen = 0
    _at, _for_good, _is_on = NEVER, False, False

    @contextlib.contextmanager
    def planned(self, at, for_good):
        self.seen, self._at, self._for_good, self._is_on = 0, at, for_good, True
        yield
        self._is_on = False

    def strike(self):
        self.seen += self._is_on
        return self._is_on and (self.seen == self._at or (self._for_good and self.seen > self._at))


@asynccontextmanager
async def sqlite_opened(path, faults):
    store = await SqliteStore.open(path, wall_clock.now)

    def fail(_cursor, statement, _bindings):
        # The end of a transaction that failed needs no disk.
        if statement != "ROLLBACK" and faults.strike():
            raise apsw.IOError("the disk is gone")
        return True

    runner = store._runner
    for connection in (runner._writer, runner._reader, runner._scanner):
        connection.exec_trace = fail
    yield store
    await store.close()


@asynccontextmanager
async def postgres_opened(url, faults):
    """The store, over a network that fails before what it was to carry arrives."""
    parts, handlers = urlsplit(url), []

    async def connected(client, reply):
        handlers.append(asyncio.current_task())
        await pass_on(client, reply, (parts.hostname, parts.port), faults.strike)

    network = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = network.sockets[0].getsockname()[1]
    through = urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}"))
    store = await PostgresStore.open(through, 8, wall_clock.now)
    yield store
    await store.close()
    network.close()
    await asyncio.gather(*handlers, return_exceptions=True)


STORES = ["sqlite", "postgres"]


@pytest.fixture(params=STORES)
def opened(request, tmp_path):
    if request.param == "sqlite":
        return partial(sqlite_opened, tmp_path / "feedkeep.db")
    return partial(postgres_opened, request.getfixturevalue("database"))


@pytest.fixture(autouse=True)
def cheap_passwords_and_one_action_at_a_time(monkeypatch):
    """Of a hash, what becomes of it is looked at; each part of an upload is saved by itself."""
    monkeypatch.setattr(argon2id, "OURS", argon2id.Cost(8, 1, 1))
    for kind in (SqliteDriver, PostgresDriver):
        monkeypatch.setattr(kind, "rows_at_once", 1)


async def undo(service, account):
    newest = (await service.history.page(account.id, per_page=1)).changes[0]
    return await service.history.undo(account.id, Undo([newest.stamp]), TESTER)


async def restore(service, account):
    """Bring the list back to what it was at first: without any feed."""
    *_, first = (await service.history.page(account.id)).changes
    at = shift(first.stamp, -1)
    return await service.history.restore(account.id, at, keep_added=False, author=TESTER)


def played(episode, done):
    # Of no feed of the list: the actions of feeds that are merged are joined after the change.
    return SentAction("https://played.example", episode, "phone", "play", done, 0, done, 9)


def admitted(account):
    return Admitted(account, "password")


NEW = "https://new.example"
MOVED_AND_LEFT = Update(parse_feed_url("https://moved.example"), GUIDS[2], is_subscribed=False)
ONE_NEW_ONE_REVIVED_ONE_ABSORBING = [want(NEW, None), want(B, None), want(C, GUIDS[0])]
ONE_LATER_ONE_NEW = [played("https://a.example/1.mp3", 2), played("https://a.example/2.mp3", 1)]

OPERATIONS = {
    "add": lambda on, to: on.subscriptions.add(to.id, ONE_NEW_ONE_REVIVED_ONE_ABSORBING, TESTER),
    "update": lambda on, to: on.subscriptions.update(to.id, GUIDS[0], MOVED_AND_LEFT, TESTER),
    "delete": lambda on, to: on.subscriptions.delete(to.id, GUIDS[2], TESTER),
    "sync": lambda on, to: on.url_lists.upload(admitted(to), [NEW], [A, C], TESTER),
    "undo": undo,
    "restore": restore,
    "record": lambda on, to: on.episode_actions.record(admitted(to), ONE_LATER_ONE_NEW),
    "describe_device": lambda on, to: on.devices.describe(to.id, "phone", "renamed", "mobile"),
    "change_settings": lambda on, to: on.devices.change_settings(to.id, "account", {"a": 1}, []),
    # Of an app that has as many sessions as it may, another one goes.
    "begin_session": lambda on, to: on.logins.begin_session(admitted(to), "app"),
    "set_password": lambda on, to: on.accounts.set_password(to.name, PASSWORD),
    "create_account": lambda on, to: on.accounts.create(f"{to.name}-new", None),
    "delete_account": lambda on, to: on.accounts.delete(to.name),
    "create_token": lambda on, to: on.tokens.create(to.name, "another", None),
    "revoke_token": lambda on, to: on.tokens.revoke(to.name, 1),
    "disable": lambda on, to: on.accounts.set_disabled(to.name, True),
    "sign_up": lambda on, to: on.invitations.sign_up(LINKS[to.name][0], f"{to.name}-new", PASSWORD),
    "reset": lambda on, to: on.recovery.reset(LINKS[to.name][1], PASSWORD),
    "connect": lambda on, to: on.apps.connect(to, "tablet", Scope.READ),
    "create_many": lambda on, to: on.accounts.create_many(
        [ImportedAccount(f"{to.name}-{number}", is_admin=True) for number in range(3)]
    ),
    "set_admin": lambda on, to: on.accounts.set_admin(f"{to.name}-admin", False),
}
"""Operations of a service on an account, by name."""

ON_POSTGRES = {"sync"}  # what is tried there in the short form, since all begin in the same way
TRIED = [
    pytest.param(store, operation, id=f"{store}-{operation}")
    for store in STORES
    for operation in OPERATIONS
    if IS_LONG or store == "sqlite" or operation in ON_POSTGRES
]

LINKS = {}  # the invitation, and the link to set a password, that each account has been given


async def prepare(service, name, sessions):
    account = await service.accounts.create(name, None)
    await service.tokens.create(name, "phone", None)
    wanted = [want(url, guid) for url, guid in zip((A, B, C), GUIDS, strict=True)]
    await service.subscriptions.add(account.id, wanted, TESTER)
    await service.subscriptions.delete(account.id, GUIDS[1], TESTER)
    await service.episode_actions.record(admitted(account), [played("https://a.example/1.mp3", 1)])
    await service.devices.describe(account.id, "phone", "phone", "mobile")
    for _ in range(sessions):
        await service.logins.begin_session(admitted(account), "app")
    admin = await service.accounts.create(f"{name}-admin", None, is_admin=True)
    invitation = (await service.invitations.invite(admin)).text
    LINKS[name] = (invitation, (await service.recovery.reset_link(name)).text)
    return account


async def stored(store):
    async with store.archive() as archive:
        return {shown(item) async for records in archive.records() for item in records}


def shown(item):
    """Return a record as text, with whether there is a password in place of its hash."""
    _, record = item
    has_password = isinstance(record, AccountRecord) and record.account.password_hash is not None
    return f"{item} has_password={has_password}"


def told(records, name):
    """Return the records as text, without the parts that differ between runs."""
    same_names = (re.sub(rf"{name}\b", "NAME", record) for record in records)
    same_hashes = (re.sub(r"hash=b.*?(?=, )", "HASH", record) for record in same_names)
    return sorted(re.sub(r"\d{10,}", "NUMBER", record) for record in same_hashes)


async def halves(opened, operation):
    """Run the operation with a fault at each place; return a message for each partial change."""
    faults, wrong = Faults(), []
    sessions = MAX_SESSIONS_OF_AN_APP if operation == "begin_session" else 1
    async with opened(faults) as store:
        service = service_on(store, wall_clock.now, registration=Registration.INVITED)
        # One stays in any case, so that each other administrator may go.
        await service.accounts.create(KEPT, None, is_admin=True)

        async def attempt(name, at, for_good):
            """Run it with a fault, and then delete its accounts, so that little is stored."""
            account = await prepare(service, name, sessions)
            before = await stored(store)
            is_done = False
            with faults.planned(at, for_good), contextlib.suppress(FeedkeepError):
                await OPERATIONS[operation](service, account)
                is_done = True
            after = await stored(store)
            wrong.extend(await damages_of(service))
            for other in await all_accounts(store):
                if other.name != KEPT:
                    await service.accounts.delete(other.name)
            return is_done, told(before - after, name), told(after - before, name)

        _, *done = await attempt("whole", NEVER, False)
        untouched = [[], []]
        assert done != untouched
        places = faults.seen
        assert places > 2
        # On PostgreSQL, the short form tries every second place, after what is tried on SQLite.
        step = 1 if IS_LONG or places <= FEW or isinstance(store, SqliteStore) else 2
        for number, at in enumerate(range(1, places + 1, step)):
            for for_good in (False, True) if IS_LONG or places <= FEW else (number % 2 == 1,):
                is_done, *change = await attempt(f"user{at}x{for_good:d}", at, for_good)
                if change != done and (is_done or change != untouched):
                    wrong.append(f"after a fault at {at}: {change}")
    return wrong


# C5.2, C8.3, C9.8, C9.15
@pytest.mark.parametrize(("opened", "operation"), TRIED, indirect=["opened"])
async def test_a_fault_before_any_statement_leaves_all_or_nothing(opened, operation):
    assert await halves(opened, operation) == []


@in_the_long_form
@pytest.mark.parametrize("operation", ["update", "record", "set_password"])
async def test_the_proof_notices_statements_without_a_transaction(opened, monkeypatch, operation):
    async def begin_nothing(_runner):
        pass

    monkeypatch.setattr(SqliteRunner, "_begin", begin_nothing)
    monkeypatch.setattr(SqliteRunner, "_run_batch", SqliteRunner._run_jobs)
    monkeypatch.setattr(driver, "undone_if_refused", lambda work: work)
    monkeypatch.setattr(connections, "_BEGIN", "SELECT 1;")
    # All that a change writes there is one statement, which is done as a whole in any case.
    monkeypatch.setattr(entry_writes, "write_at_once", write_in_turn)
    assert await halves(opened, operation) != []
