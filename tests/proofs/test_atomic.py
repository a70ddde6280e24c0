"""An operation is done or not done, wherever it fails: never a part of it.

Before each statement that an operation sends to the database, the disk or the connection fails,
once or from then on: where there are many, in turn in the short form, else both. Afterwards all
that is stored is either as it was, or as the whole operation leaves it; and the latter if it was
reported done.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

import apsw
import pytest
from authors import TESTER
from forms import IS_LONG, in_the_long_form
from postgres_server import drop_database, new_database
from stores import service_on
from whole_store import all_accounts, damages_of

from feedkeep.model import AccountId, AccountRecord, Admitted, Record, Registration, Scope
from feedkeep.model.errors import FeedkeepError
from feedkeep.rules.clock import shift
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Update, want
from feedkeep.rules.undo import Undo
from feedkeep.runtime import wall_clock
from feedkeep.security import argon2id
from feedkeep.service import Service
from feedkeep.service.accounts import ImportedAccount
from feedkeep.service.logins import MAX_SESSIONS_OF_AN_APP
from feedkeep.store.base import Store
from feedkeep.store.postgres import PostgresStore, connections, entry_writes
from feedkeep.store.postgres.counted import write_in_turn
from feedkeep.store.postgres.runner import PostgresDriver
from feedkeep.store.sqlite import SqliteStore, driver
from feedkeep.store.sqlite.driver import SqliteDriver
from feedkeep.store.sqlite.runner import SqliteRunner

A, B, C = "https://a.example", "https://b.example", "https://c.example"
GUIDS = [f"00000000-0000-4000-8000-00000000000{digit}" for digit in range(3)]
NEVER = 10**9
KEPT = "administrator"
FEW = 12
"""Up to how many statements both ways to fail are tried at each, also in the short form."""

Operation = Callable[[Service, str], Awaitable[object]]


class Faults:
    """Decides which statement fails: the one of that number, and perhaps all after it."""

    seen = 0
    _at, _for_good, _is_on = NEVER, False, False

    @contextlib.contextmanager
    def planned(self, at: int, for_good: bool) -> Iterator[None]:
        self.seen, self._at, self._for_good, self._is_on = 0, at, for_good, True
        yield
        self._is_on = False

    def strike(self) -> bool:
        self.seen += self._is_on
        return self._is_on and (self.seen == self._at or (self._for_good and self.seen > self._at))


class Opened(Protocol):
    def __call__(self, faults: Faults) -> contextlib.AbstractAsyncContextManager[Store]: ...


def sqlite_opened(path: Path) -> Opened:
    @asynccontextmanager
    async def opened(faults: Faults) -> AsyncIterator[Store]:
        store = await SqliteStore.open(path, wall_clock.now)

        def fail(_cursor: object, statement: str, _bindings: object) -> bool:
            # The end of a transaction that failed needs no disk.
            if statement != "ROLLBACK" and faults.strike():
                raise apsw.IOError("the disk is gone")
            return True

        runner = store._runner
        for connection in (runner._writer, runner._reader, runner._scanner):
            connection.exec_trace = fail
        yield store
        await store.close()

    return opened


def postgres_opened(url: str) -> Opened:
    @asynccontextmanager
    async def opened(faults: Faults) -> AsyncIterator[Store]:
        """The store, over a network that fails before what it was to carry arrives."""

        async def carry(
            source: asyncio.StreamReader, target: asyncio.StreamWriter, strikes: bool
        ) -> None:
            with contextlib.suppress(ConnectionError):
                while data := await source.read(65_536):
                    if strikes and faults.strike():
                        break
                    target.write(data)
            target.close()

        async def connected(client: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
            server, to_server = await asyncio.open_connection(parts.hostname, parts.port)
            handlers.add(asyncio.current_task())
            ways = [
                asyncio.create_task(carry(client, to_server, strikes=True)),
                asyncio.create_task(carry(server, out, strikes=False)),
            ]
            try:
                await asyncio.wait(ways)
            finally:
                for way in ways:
                    way.cancel()
                out.close()
                to_server.close()

        handlers: set[asyncio.Task[None] | None] = set()
        parts = urlsplit(url)
        network = await asyncio.start_server(connected, "127.0.0.1", 0)
        port = network.sockets[0].getsockname()[1]
        through = urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}"))
        store = await PostgresStore.open(through, 8, wall_clock.now)
        yield store
        await store.close()
        network.close()
        for handler in filter(None, handlers):
            handler.cancel()
        await asyncio.gather(*filter(None, handlers), return_exceptions=True)

    return opened


STORES = ["sqlite", "postgres"]


@pytest.fixture(params=STORES)
def opened(request, tmp_path):
    if request.param == "sqlite":
        yield sqlite_opened(tmp_path / "feedkeep.db")
        return
    server = request.getfixturevalue("postgres")
    url = new_database(server)
    yield postgres_opened(url)
    drop_database(server, url)


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch):
    """What is looked at here is what becomes of a hash, not what it costs."""
    monkeypatch.setattr(argon2id, "OURS", argon2id.Cost(8, 1, 1))


async def add(service: Service, name: str) -> object:
    """Add one feed that is new, revive one, and let one absorb another."""
    account = await service.accounts.named(name)
    return await service.subscriptions.add(
        account.id, [want("https://new.example", None), want(B, None), want(C, GUIDS[0])], TESTER
    )


async def update(service: Service, name: str) -> object:
    account = await service.accounts.named(name)
    return await service.subscriptions.update(
        account.id,
        GUIDS[0],
        Update(parse_feed_url("https://moved.example"), GUIDS[2], is_subscribed=False),
        TESTER,
    )


async def delete(service: Service, name: str) -> object:
    account = await service.accounts.named(name)
    return await service.subscriptions.delete(account.id, GUIDS[2], TESTER)


async def sync(service: Service, name: str) -> object:
    """Add a feed that is new, and unsubscribe from one that is there."""
    return await service.url_lists.upload(
        await admitted(service, name), ["https://new.example"], [A, C], TESTER
    )


async def undo(service: Service, name: str) -> object:
    """Take the deletion of a feed back."""
    account = await service.accounts.named(name)
    newest = (await service.history.page(account.id, per_page=1)).changes[0]
    return await service.history.undo(account.id, Undo([newest.stamp]), TESTER)


async def restore(service: Service, name: str) -> object:
    """Bring the list back to what it was at first: without any feed."""
    account = await service.accounts.named(name)
    *_, first = (await service.history.page(account.id)).changes
    at = shift(first.stamp, -1)
    return await service.history.restore(account.id, at, keep_added=False, author=TESTER)


async def record(service: Service, name: str) -> object:
    """Keep an action that is new, and one that is later than one that is there."""
    sent = [played("https://a.example/1.mp3", 2), played("https://a.example/2.mp3", 1)]
    return await service.episode_actions.record(await admitted(service, name), sent)


def played(episode: str, done: int) -> SentAction:
    # Of no feed of the list: the actions of feeds that are merged are joined after the change.
    return SentAction("https://played.example", episode, "phone", "play", done, 0, done, 9)


async def describe(service: Service, name: str) -> None:
    account = await service.accounts.named(name)
    await service.devices.describe(account.id, "phone", "renamed", "mobile")


async def set_first(service: Service, name: str) -> object:
    account = await service.accounts.named(name)
    return await service.devices.change_settings(account.id, "account", {"a": 1}, [])


async def begin_session(service: Service, name: str) -> object:
    """Begin one more session than there may be of an app; another one goes."""
    return await service.logins.begin_session(await admitted(service, name), "app")


async def set_password(service: Service, name: str) -> None:
    """Set a first password; the sessions end with the one before it."""
    await service.accounts.set_password(name, "a new one")


async def sign_up(service: Service, name: str) -> object:
    """Create an account, and spend the invitation of another one."""
    return await service.invitations.sign_up(LINKS[name][0], f"{name}-new", "a new one")


async def reset(service: Service, name: str) -> object:
    """Set a password by a link; the link and the sessions end."""
    return await service.recovery.reset(LINKS[name][1], "a new one")


async def connect(service: Service, name: str) -> object:
    account = await service.accounts.named(name)
    return await service.apps.connect(account, "tablet", Scope.READ)


async def create_many(service: Service, name: str) -> object:
    wanted = [ImportedAccount(f"{name}-{number}", is_admin=True) for number in range(3)]
    return await service.accounts.create_many(wanted)


async def admitted(service: Service, name: str) -> Admitted:
    return Admitted(await service.accounts.named(name), "password")


@pytest.fixture(autouse=True)
def one_action_at_a_time(monkeypatch):
    """Let an upload be taken in parts, of which each is looked up and saved by itself."""
    for kind in (SqliteDriver, PostgresDriver):
        monkeypatch.setattr(kind, "rows_at_once", 1)


OPERATIONS: list[Operation] = [
    add,
    update,
    delete,
    sync,
    undo,
    restore,
    record,
    describe,
    set_first,
    begin_session,
    set_password,
    lambda service, name: service.accounts.create(f"{name}-new", None),
    lambda service, name: service.accounts.delete(name),
    lambda service, name: service.tokens.create(name, "another", None),
    lambda service, name: service.tokens.revoke(name, 1),
    lambda service, name: service.accounts.set_disabled(name, True),
    sign_up,
    reset,
    connect,
    create_many,
    lambda service, name: service.accounts.set_admin(f"{name}-admin", False),
]
IDS = ["add", "update", "delete", "sync", "undo", "restore", "record", "describe_device",
       "change_settings", "begin_session", "set_password", "create_account", "delete_account",
       "create_token", "revoke_token", "disable", "sign_up", "reset", "connect", "create_many",
       "set_admin"]  # fmt: skip

ON_POSTGRES = {"sync"}
"""What is tried there in the short form, since all begin in the same way."""

TRIED = [
    pytest.param(store, operation, id=f"{store}-{called}")
    for store in STORES
    for operation, called in zip(OPERATIONS, IDS, strict=True)
    if IS_LONG or store == "sqlite" or called in ON_POSTGRES
]

LINKS: dict[str, tuple[str, str]] = {}
"""The invitation, and the link to set a password, that each account has been given."""


async def prepare(service: Service, name: str, sessions: int) -> None:
    account = await service.accounts.create(name, None)
    await service.tokens.create(name, "phone", None)
    await service.subscriptions.add(
        account.id, [want(A, GUIDS[0]), want(B, GUIDS[1]), want(C, GUIDS[2])], TESTER
    )
    await service.subscriptions.delete(account.id, GUIDS[1], TESTER)
    await service.episode_actions.record(
        Admitted(account, "password"), [played("https://a.example/1.mp3", 1)]
    )
    await service.devices.describe(account.id, "phone", "phone", "mobile")
    for _ in range(sessions):
        await service.logins.begin_session(Admitted(account, "password"), "app")
    admin = await service.accounts.create(f"{name}-admin", None, is_admin=True)
    invitation = (await service.invitations.invite(admin)).text
    LINKS[name] = (invitation, (await service.recovery.reset_link(name)).text)


async def stored(store: Store) -> set[str]:
    async with store.archive() as archive:
        return {shown(item) async for records in archive.records() for item in records}


def shown(item: tuple[AccountId, Record]) -> str:
    """Return what is to be seen of a record, and whether there is a password, which is not."""
    _, record = item
    has_password = isinstance(record, AccountRecord) and record.account.password_hash is not None
    return f"{item} has_password={has_password}"


def told(records: set[str], name: str) -> list[str]:
    """What records say, but for what is different each time."""
    same_names = (re.sub(rf"{name}\b", "NAME", record) for record in records)
    same_hashes = (re.sub(r"hash=b.*?(?=, )", "HASH", record) for record in same_names)
    return sorted(re.sub(r"\d{10,}", "NUMBER", record) for record in same_hashes)


async def halves(opened: Opened, operation: Operation) -> list[str]:
    """Let the operation fail everywhere; return a sentence for each half that is found."""
    faults, wrong = Faults(), list[str]()
    sessions = MAX_SESSIONS_OF_AN_APP if operation is begin_session else 1
    async with opened(faults) as store:
        service = service_on(store, wall_clock.now, registration=Registration.INVITED)
        # One stays in any case, so that each other administrator may go.
        await service.accounts.create(KEPT, None, is_admin=True)

        async def attempt(name: str, at: int, for_good: bool) -> tuple[bool, object, object]:
            """Let it fail there; then nothing is left of it, so that there is never much stored."""
            await prepare(service, name, sessions)
            before = await stored(store)
            is_done = False
            with faults.planned(at, for_good), contextlib.suppress(FeedkeepError):
                await operation(service, name)
                is_done = True
            after = await stored(store)
            wrong.extend(await damages_of(service))
            for account in await all_accounts(store):
                if account.name != KEPT:
                    await service.accounts.delete(account.name)
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
def test_a_fault_before_any_statement_leaves_all_or_nothing(opened, operation):
    assert asyncio.run(halves(opened, operation)) == []


@in_the_long_form
@pytest.mark.parametrize("operation", [update, record, set_password])
def test_the_proof_notices_statements_without_a_transaction(opened, monkeypatch, operation):
    async def begin_nothing(_runner):
        pass

    monkeypatch.setattr(SqliteRunner, "_begin", begin_nothing)
    monkeypatch.setattr(SqliteRunner, "_run_batch", SqliteRunner._run_jobs)
    monkeypatch.setattr(driver, "undone_if_refused", lambda work: work)
    monkeypatch.setattr(connections, "_BEGIN", "SELECT 1;")
    # All that a change writes there is one statement, which is done as a whole in any case.
    monkeypatch.setattr(entry_writes, "write_at_once", write_in_turn)
    assert asyncio.run(halves(opened, operation)) != []
