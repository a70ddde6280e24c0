"""What is PostgreSQL's own: its schema, poolers in between, and every way in which it can fail."""

import asyncio
import dataclasses
import itertools
import re
import signal
import socket
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import asyncpg
import pytest
from further_steps import with_further
from library import library, renamed
from postgres_server import PostgresServer, drop_database, execute, new_database, with_connection
from recorded import COMMITS, FAILED_COMMITS, recorded
from stores import limited
from transaction_pooler import Pooler

from feedkeep.model import (
    Account,
    AccountId,
    ActionDecision,
    Clock,
    Decision,
    Deletion,
    EpisodeAction,
    Guid,
    PageRequest,
    Pointer,
    Snapshot,
    Stamp,
    Subscription,
    Token,
)
from feedkeep.model.errors import AccountBusy, InvalidInput, StoreUnavailable, StoreUnusable
from feedkeep.rules import subscriptions
from feedkeep.rules.list_limits import count
from feedkeep.rules.subscriptions import want
from feedkeep.runtime import wall_clock
from feedkeep.runtime.recorder import Recorder
from feedkeep.store import migrate
from feedkeep.store.migrate import newest_version
from feedkeep.store.portable.episode_actions import NEWEST_PLAYS
from feedkeep.store.postgres import (
    PostgresStore,
    accounts,
    breaker,
    connections,
    entry_writes,
    runner,
)
from feedkeep.store.postgres import store as store_module
from feedkeep.store.postgres.entries import ESCAPED
from feedkeep.store.postgres.entry_write_statements import ChangeStatements
from feedkeep.store.postgres.shape import Shape

ALICE, BOB = AccountId(7), AccountId(3)
GUID = Guid("00000000-0000-4000-8000-000000000001")
NOWHERE = Guid("00000000-0000-4000-8000-000000000009")

LOCKED = "datname = current_database() AND wait_event_type = 'Lock'"

Work = Callable[[PostgresStore], Awaitable[None]]


@pytest.fixture
async def store(url, max_connections, recorder):
    """A store with two accounts."""
    store = await PostgresStore.open(url, max_connections, wall_clock.now, recorder=recorder)
    try:
        if not await store.accounts.are_there():
            await store.accounts.create(Account(ALICE, "alice", None, False, 0), "alice")
            await store.accounts.create(Account(BOB, "bob", None, False, 0), "bob")
        yield store
    finally:
        await store.close()


def run(url: str, work: Work, max_connections: int = 8, recorder: Recorder | None = None) -> None:
    """Run `work` on a store with two accounts."""

    async def go() -> None:
        store = await PostgresStore.open(url, max_connections, wall_clock.now, recorder=recorder)
        try:
            if not await store.accounts.are_there():
                await store.accounts.create(Account(ALICE, "alice", None, False, 0), "alice")
                await store.accounts.create(Account(BOB, "bob", None, False, 0), "bob")
            await work(store)
        finally:
            await store.close()

    asyncio.run(go())


def subscribe(snapshot: Snapshot) -> Decision[int]:
    stamp = snapshot.last_stamp + 1
    entry = Subscription(GUID, "https://a.example", True, stamp)
    return Decision(stamp, [entry], [], stamp, count([entry]))


async def answers(*requests: Awaitable[Any]) -> list[Any]:
    """Return the values, or the kinds of the errors, of requests that run at once."""
    results = await asyncio.gather(*requests, return_exceptions=True)
    return [type(result) if isinstance(result, Exception) else result for result in results]


@pytest.fixture
def server():
    """A server of this test's own, to be stopped and damaged."""
    with PostgresServer() as server:
        yield server


# The schema


def test_ten_that_start_at_once_bring_the_database_up_to_date_once(postgres):
    async def work(store):
        await store.assert_ready()

    for _ in range(8):
        url = new_database(postgres)
        with ThreadPoolExecutor(10) as threads:
            list(threads.map(lambda _, url=url: asyncio.run(opened(url)), range(10)))
        versions = execute(url, "SELECT array_agg(version) FROM feedkeep.schema_version")
        assert versions == [newest_version("postgres")]
        run(url, work)
        drop_database(postgres, url)


async def opened(url: str) -> None:
    await (await PostgresStore.open(url, 2, wall_clock.now)).close()


def test_a_step_that_fails_leaves_nothing_of_itself(database, monkeypatch):
    step, *_ = migrate.migrations("postgres")
    broken = dataclasses.replace(step, sql=f"{step.sql}CREATE TABLE feedkeep.account ();")
    monkeypatch.setattr(migrate, "migrations", lambda _: [broken])
    with pytest.raises(asyncpg.DuplicateTableError):
        asyncio.run(opened(database))
    monkeypatch.undo()
    assert execute(database, "SELECT to_regnamespace('feedkeep')") is None
    asyncio.run(opened(database))


def test_a_database_of_a_newer_program_is_refused_and_left_alone(database):
    asyncio.run(opened(database))
    execute(
        database,
        "UPDATE feedkeep.schema_version SET version = version + 1, compatible_from = version + 1",
    )
    with pytest.raises(StoreUnusable, match="Install the newer feedkeep"):
        asyncio.run(opened(database))


def test_a_database_of_a_newer_program_that_says_it_is_compatible_is_used(database):
    asyncio.run(opened(database))
    newest = newest_version("postgres")
    execute(
        database,
        f"UPDATE feedkeep.schema_version SET version = {newest + 2}, compatible_from = {newest}",
    )
    asyncio.run(opened(database))
    assert execute(database, "SELECT version FROM feedkeep.schema_version") == newest + 2


def test_a_step_waits_between_what_others_do_and_holds_nobody_up(database, monkeypatch):
    asyncio.run(opened(database))
    monkeypatch.setattr(store_module, "RETRY_SECONDS", 0.01)

    async def work(store):
        reader = await asyncpg.connect(database)
        await reader.execute("BEGIN; SELECT count(*) FROM feedkeep.account")
        with monkeypatch.context() as newer:
            newer.setattr(migrate, "migrations", with_further("added"))
            changing = asyncio.create_task(opened(database))
            for _ in range(20):
                started = time.monotonic()
                assert await store.accounts.find("alice") is not None
                await store.entries.change(ALICE, [GUID], subscribe)
                assert time.monotonic() - started < 2
                await asyncio.sleep(0.05)
            assert not changing.done()
            await reader.execute("COMMIT")
            await changing
        await reader.close()

    run(database, work)
    assert (
        execute(database, "SELECT version FROM feedkeep.schema_version")
        == newest_version("postgres") + 1
    )


async def test_statements_that_were_prepared_before_a_step_are_prepared_again(database, store):
    asks: list[Callable[[], Awaitable[Any]]] = [
        lambda: store.entries.change(ALICE, [GUID], subscribe),
        lambda: store.entries.view(ALICE, GUID),
        lambda: store.entries.page(ALICE, PageRequest(-1, None, 1, 50)),
        lambda: store.accounts.find("alice"),
        lambda: store.tokens.of(ALICE),
    ]
    kinds = itertools.cycle(["varchar", "text"])  # another type of what they return
    for first in asks:
        for ask in asks:
            await ask()
        kind = next(kinds)
        for table, column in (("account", "name"), ("entry", "feed_url"), ("token", "label")):
            await asyncio.to_thread(
                execute, database, f"ALTER TABLE feedkeep.{table} ALTER {column} TYPE {kind}"
            )
        await first()  # which is the one to find out


async def test_for_a_page_from_the_start_nobody_counts_all_entries(database, store):
    await store.entries.change(ALICE, [GUID], subscribe)
    await asyncio.to_thread(execute, database, "UPDATE feedkeep.account SET announced_count = 9")
    first, after = (PageRequest(since, None, 1, 50) for since in (0, 1))
    assert (await store.entries.page(ALICE, first)).total == 9
    assert (await store.entries.page(ALICE, after)).total == 0


async def test_a_page_of_a_list_goes_through_nobody_elses_entries(database, store):
    def add_many(snapshot):
        feeds = [
            Subscription(Guid(f"{number:08}{GUID[8:]}"), f"https://a.example/{number}", True, stamp)
            for number, stamp in enumerate(range(1, 3_001), 1)
        ]
        return Decision(None, feeds, [], 3_000, count(feeds))

    await store.entries.change(ALICE, None, add_many)
    await store.entries.change(BOB, [GUID], subscribe)
    await asyncio.to_thread(execute, database, "ANALYZE feedkeep.entry")
    page = f"EXPLAIN {store.entries._pages}"
    wanted = [[BOB], [0], [0], [100], [0]]
    plan = await asyncio.to_thread(with_connection, database, lambda one: one.fetch(page, *wanted))
    assert "Seq Scan on entry" not in "\n".join(line for (line,) in plan)


def test_urls_with_escapes_are_found_without_reading_a_list(database):
    asyncio.run(opened(database))
    execute(database, "INSERT INTO feedkeep.account (account_id, name, name_key, created)"
                      " VALUES (7, 'a', 'a', 1)")  # fmt: skip
    execute(
        database,
        """
        INSERT INTO feedkeep.entry (account_id, guid, feed_url, is_subscribed, subscription_changed,
            revision, status_changed, first_had)
        SELECT 7, md5(n::text)::uuid, 'https://a.example/' || n, true, n, n, n, 0
        FROM generate_series(1, 3000) n
    """,
    )
    for statement in ("SELECT 1", "ANALYZE feedkeep.entry"):  # without statistics, and with
        execute(database, statement)
        plan = with_connection(
            database, lambda connection: connection.fetch(f"EXPLAIN {ESCAPED}", 7)
        )
        assert "entry_with_escapes" in str(plan)


@pytest.mark.parametrize("state", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("start", [(2**63 - 1, 2**63 - 1), (7, 6_000)])
def test_a_page_of_plays_reads_no_more_than_it_lists(emptied_database, start, state):
    """Of both states there are thousands, all at one second."""
    asyncio.run(opened(emptied_database))
    for statement in (
        "INSERT INTO feedkeep.account (account_id, name, name_key, created)"
        " VALUES (7, 'a', 'a', 1)",
        "INSERT INTO feedkeep.episode_action SELECT 7, decode(lpad(n::text, 32, '0'), 'hex'),"
        " decode(repeat('00', 10), 'hex'), gen_random_uuid(), 'p', 'e', '', 'play', 7, 0,"
        " 30 + n % 2, 61, NULL, n, 8000000, '', false FROM generate_series(1, 9000) n",
        "ANALYZE feedkeep.episode_action",
    ):
        execute(emptied_database, statement)

    async def plan(connection):
        explained = f"EXPLAIN (ANALYZE, FORMAT TEXT) {NEWEST_PLAYS}"
        lines = await connection.fetch(explained, 7, *start, *state, 10)
        return "\n".join(line for (line,) in lines)

    text = with_connection(emptied_database, plan)
    counts = re.findall(r" on episode_action \w+ .*?actual .*?rows=(\d+)", text)
    assert 0 < sum(map(int, counts)) <= 40, text
    assert "Rows Removed" not in text, text


@pytest.fixture
def sent(monkeypatch):
    """What the store sends to PostgreSQL."""
    statements: list[str] = []

    class Recording(connections.Connection):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            self.add_query_logger(lambda logged: statements.append(logged.query.strip()))

    monkeypatch.setattr(connections, "Connection", Recording)
    return statements


async def test_a_change_takes_four_round_trips_whatever_it_writes(sent, store):
    def leave_and_delete(snapshot):
        stamp = Stamp(snapshot.last_stamp + 1)
        entry = Subscription(GUID, "https://a.example", False, stamp, deleted=stamp)
        gone = Deletion(stamp, GUID)
        about = {"deletion": gone, "stamp": stamp, "ended": [GUID]}
        return Decision(stamp, [entry], [], stamp, count([entry]), **about)

    await store.entries.change(ALICE, [GUID], subscribe)
    sent.clear()
    deletion = await store.entries.change(ALICE, [GUID], leave_and_delete, author="{}")
    assert [statement.partition(" ")[0] for statement in sent] == [
        "BEGIN",
        "SELECT",
        "WITH",
        "COMMIT",
    ]
    assert await store.entries.deletion(ALICE, deletion) == Deletion(deletion, GUID)
    former = (await store.history.page(ALICE, Stamp(9), 9)).states
    assert [state.ended for state in former] == [2, None]


async def test_what_is_locked_besides_others_is_asked_by_one_statement_for_all(
    database, sent, store
):
    other = await asyncpg.connect(database)
    await other.execute("BEGIN")
    await other.execute("UPDATE feedkeep.account SET last_stamp = 0 WHERE account_id = 7")
    held = asyncio.create_task(store.entries.change(ALICE, [GUID], subscribe))
    await store.entries.change(BOB, [GUID], subscribe)
    await other.execute("ROLLBACK")
    await other.close()
    await held
    again = [text for text in sent if text.startswith("SELECT a.account_id FROM")]
    assert len(again) == 1
    assert "$1" in again[0], "a text with ids would be prepared anew for each set of accounts"


def test_what_many_accounts_load_is_not_compared_with_what_others_do(database):
    asyncio.run(opened(database))
    for statement in (
        "INSERT INTO feedkeep.account (account_id, name, name_key, created)"
        " SELECT n, n, n, 1 FROM generate_series(1, 300) n",
        "INSERT INTO feedkeep.entry (account_id, guid, feed_url, is_subscribed,"
        f" subscription_changed, revision, status_changed, first_had) SELECT n, '{GUID}',"
        " 'https://a.example', true, 1, 1, 1, 0 FROM generate_series(1, 300) n",
        "ANALYZE feedkeep.account, feedkeep.entry",
    ):
        execute(database, statement)

    async def plan(connection):
        # As PostgreSQL plans it for large tables, of which it takes these few rows for one or two.
        for way in ("hashjoin", "mergejoin", "seqscan"):
            await connection.execute(f"SET enable_{way} = off")
        load = f"EXPLAIN ANALYZE {ChangeStatements(Shape(is_distributed=False)).load}"
        lines = await connection.fetch(load, [*range(1, 301)], [GUID] * 300, None)
        return "\n".join(line for (line,) in lines)

    assert "Rows Removed by Join Filter" not in with_connection(database, plan)


def test_a_schema_of_another_program_is_refused_and_left_alone(database):
    execute(database, "CREATE SCHEMA feedkeep CREATE TABLE theirs ()")
    with pytest.raises(StoreUnusable, match="another program"):
        asyncio.run(opened(database))
    assert execute(database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'feedkeep'") == 1


async def test_tables_of_other_programs_beside_the_schema_do_no_harm(database, store):
    execute(database, "CREATE TABLE account (theirs int)")
    assert await store.entries.change(ALICE, [GUID], subscribe) == 1


def test_the_database_itself_refuses_rows_that_no_rule_would_write(database):
    async def work(store):
        await store.entries.change(ALICE, [GUID], subscribe)

    run(database, work)
    for change in (
        "UPDATE feedkeep.entry SET revision = 99",
        "UPDATE feedkeep.entry SET is_subscribed = NULL",
        "UPDATE feedkeep.entry SET deleted = 1",
        "UPDATE feedkeep.entry SET new_guid = guid",
        f"UPDATE feedkeep.entry SET new_guid = '{NOWHERE}', feed_url = NULL",
        "UPDATE feedkeep.entry SET alias_url = 'https://b.example'",
        "INSERT INTO feedkeep.entry (account_id, guid, new_guid)"
        f" VALUES (7, '{NOWHERE}', '{ALICE:032}')",
        "INSERT INTO feedkeep.entry (account_id, guid, new_guid)"
        f" VALUES (8, '{NOWHERE}', '{GUID}')",
        "INSERT INTO feedkeep.entry (account_id, guid, feed_url, is_subscribed,"
        " subscription_changed, status_changed, first_had, revision)"
        f" SELECT account_id, '{NOWHERE}', feed_url, is_subscribed, subscription_changed,"
        " status_changed, first_had, revision FROM feedkeep.entry",
    ):  # fmt: skip
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            execute(database, change)


# A URL that leads nowhere


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://alice:hunter2@host:port/name",
        "postgresql://alice:hunter2/1@host/name",
        "postgresql://alice:hunter2#1@host/name",
        "postgresql://alice:hunter2[@host/name",
        "postgresql://alice:hunter2\uff1f@host/name",
        "postgresql://alice:hunter2@127.0.0.1:99999/name",
    ],
)
def test_what_is_no_url_of_a_database_is_told_without_its_password(url):
    with pytest.raises(StoreUnusable, match="not the URL of a PostgreSQL database") as failure:
        asyncio.run(opened(url))
    assert "hunter2" not in str(failure.value)


def test_a_parameter_that_postgres_does_not_know_is_told(postgres):
    for parameter in ("foo=bar", "connect_timeout=3", "statement_timeout=abc"):
        with pytest.raises(StoreUnusable, match="no parameters but those"):
            asyncio.run(opened(f"{postgres}?{parameter}"))


def test_a_file_without_the_certificates_that_it_should_have_is_told_and_not_waited_for(
    postgres, tmp_path, monkeypatch
):
    none = tmp_path / "none.crt"
    none.write_text("no certificate")
    url = f"{postgres}?sslmode=verify-full"
    for path, told in ((none, "it has none"), (tmp_path / "gone.crt", "No such file")):
        with pytest.raises(StoreUnusable, match=f"{re.escape(str(path))}: {told}"):
            asyncio.run(opened(f"{url}&sslrootcert={path}"))
        monkeypatch.setenv("PGSSLROOTCERT", str(path))
        with pytest.raises(StoreUnusable, match=told):
            asyncio.run(opened(url))
        monkeypatch.delenv("PGSSLROOTCERT")
    asyncio.run(opened(f"{postgres}?sslmode=disable&sslrootcert={none}"))  # it is not used
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(StoreUnusable, match="name a file that has it by &sslrootcert=FILE"):
        asyncio.run(opened(url))


@pytest.mark.parametrize(("parameter", "name"), [("", "feedkeep"), ("application_name=x", "x")])
def test_postgres_lists_its_connections_by_the_name_of_the_program(
    database, parameter, name, monkeypatch
):
    async def work(store):
        async with store._runner.connections.reading() as connection:
            assert await connection.fetchval("SHOW application_name") == name

    run(f"{database}?{parameter}", work)
    if not parameter:
        monkeypatch.setenv("PGAPPNAME", "mine")
        name = "mine"
        run(database, work)


async def test_what_postgres_says_of_a_row_that_it_refuses_has_no_url_in_it(database, store):
    asyncio.run(opened(database))
    execute(database, "ALTER TABLE feedkeep.entry ADD CHECK (feed_url NOT LIKE '%private%')")

    def private(snapshot):
        return subscriptions.add(limited(snapshot), [want("https://private.example/feed", None)])

    with pytest.raises(asyncpg.CheckViolationError) as raised:
        await store.entries.change(ALICE, [GUID], private)
    told = "".join(traceback.format_exception(raised.value))
    assert "violates check constraint" in told
    assert "private.example" not in told


def test_a_transaction_that_fails_is_counted_whatever_it_failed_by(database):
    recorder = Recorder()

    async def work(store):
        await store.entries.change(ALICE, [GUID], subscribe)
        assert recorded(recorder, FAILED_COMMITS) == 0
        before = recorded(recorder, COMMITS)
        await store._runner.connections._pool.expire_connections()
        execute(database, "DEALLOCATE ALL")
        execute(database, "ALTER TABLE feedkeep.entry ADD CHECK (false) NOT VALID")
        with pytest.raises(asyncpg.CheckViolationError):
            await store.entries.change(ALICE, [GUID], subscribe)
        # It was tried twice, and failed for good once.
        assert recorded(recorder, FAILED_COMMITS) == 1
        assert recorded(recorder, COMMITS) == before

    run(database, work, recorder=recorder)


def test_a_database_that_is_not_there_is_told(postgres):
    with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist'):
        asyncio.run(opened(postgres.rpartition("/")[0] + "/nowhere"))


# Others that hold things up


@pytest.fixture
def impatient(monkeypatch):
    begin = connections._BEGIN.replace("lock_timeout = '2s'", "lock_timeout = '1s'")
    monkeypatch.setattr(connections, "_BEGIN", begin)


@pytest.mark.usefixtures("impatient")
async def test_while_somebody_holds_an_account_others_go_on_and_it_can_be_read(database, store):
    async def timed(change):
        started = time.monotonic()
        (answer,) = await answers(change)
        return answer, time.monotonic() - started

    await store.entries.change(ALICE, [GUID], subscribe)
    other = await asyncpg.connect(database)
    await other.execute("BEGIN")
    await other.execute("UPDATE feedkeep.account SET last_stamp = 99 WHERE account_id = 7")
    held = [
        asyncio.create_task(timed(store.entries.change(ALICE, [GUID], subscribe))) for _ in "12345"
    ]
    free = await timed(store.entries.change(BOB, [GUID], subscribe))
    assert free[0] == 1
    assert free[1] < 0.8  # it waited for nobody
    refused = await asyncio.gather(*held)
    assert [answer for answer, _ in refused] == [AccountBusy] * 5, "no outage of the store"
    assert max(seconds for _, seconds in refused) < 3  # they waited together
    assert await store.entries.view(ALICE, GUID) is not None
    assert (await store.entries.page(ALICE, PageRequest(-1, None, 1, 50))).total == 1
    assert (await store.entries.whole(ALICE)).last_stamp == 1
    await other.close()
    assert await store.entries.change(ALICE, [GUID], subscribe) == 2


async def test_an_account_whose_change_loads_much_has_a_transaction_of_its_own(monkeypatch, store):
    made: list[tuple[set[AccountId], bool]] = []
    make = entry_writes.Changes.make

    async def make_and_note(*given, may_wait):
        made.append(({change.account_id for change in given[2]}, may_wait))
        return await make(*given, may_wait=may_wait)

    def keep(snapshot):
        return Decision(len(snapshot.entries), [], [], snapshot.last_stamp, snapshot.counts)

    items = [want(url, guid) for url, guid in renamed("https://a.example", GUID, 8)]
    add = subscriptions.guids_wanted(items)
    await store.entries.change(ALICE, add, lambda given: subscriptions.add(limited(given), items))
    monkeypatch.setattr(entry_writes.Changes, "make", make_and_note)
    monkeypatch.setattr(entry_writes, "MAX_ROWS_IN_A_BATCH", 4)
    loaded = await answers(*(store.entries.change(one, [GUID], keep) for one in (ALICE, BOB)))
    assert loaded == [10, 0]
    assert made[0] == ({ALICE, BOB}, False)
    assert sorted(made[1:], key=repr) == [({BOB}, True), ({ALICE}, True)]
    made.clear()
    assert await store.entries.change(ALICE, None, keep) == 10
    assert made == [({ALICE}, True)]


_REFUSE_LONG_DELETES = """
CREATE FUNCTION feedkeep.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM gone) > 4 THEN RAISE 'a long statement'; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER refuse AFTER DELETE ON feedkeep.entry REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION feedkeep.refuse();
CREATE TRIGGER refuse AFTER DELETE ON feedkeep.former_entry REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION feedkeep.refuse();
CREATE FUNCTION feedkeep.refuse_late() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM feedkeep.account a WHERE a.account_id = OLD.account_id)
    THEN RAISE 'a long commit'; END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER refuse_late AFTER DELETE ON feedkeep.entry DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION feedkeep.refuse_late();
"""


async def test_the_rows_of_a_large_account_go_with_statements_that_each_take_a_moment(
    database, monkeypatch, store
):
    monkeypatch.setattr(accounts, "_ROWS_AT_ONCE", 4)
    monkeypatch.setattr(accounts, "_FULL", "DELETE 4")
    feeds = [(f"https://a.example/{number}", None) for number in range(9)]
    for sent in (renamed("https://b.example", GUID, 8), feeds):  # pointers, and feeds
        items = [want(url, guid) for url, guid in sent]
        await store.entries.change(
            ALICE,
            subscriptions.guids_wanted(items),
            lambda given, items=items: subscriptions.add(limited(given), items),
        )
    await asyncio.to_thread(
        with_connection, database, lambda one: one.execute(_REFUSE_LONG_DELETES)
    )
    await store.accounts.delete(ALICE)
    assert await store.accounts.find("alice") is None
    assert not (await store.entries.whole(BOB)).entries
    left = await asyncio.to_thread(execute, database, "SELECT count(*) FROM feedkeep.entry")
    assert left == 0


@pytest.mark.usefixtures("impatient")
async def test_a_last_use_waits_for_no_token_that_somebody_else_is_changing(database, store):
    for number in range(2):
        await store.tokens.add(ALICE, Token(0, bytes([number]) * 32, "", 0))
    other = await asyncpg.connect(database)
    await other.execute("BEGIN; UPDATE feedkeep.token SET label = 'x' WHERE id = 1")
    await store.tokens.mark_used([(ALICE, 1), (ALICE, 2)], 7)
    await other.close()
    assert [token.last_used for token in await store.tokens.of(ALICE)] == [None, 7]


def until_waiting(database: str) -> int:
    """Return the process of a connection to the database that waits for a lock, once one does."""
    return until_one(database, LOCKED)


def until_one(database: str, what: str) -> int:
    """Return the process of a connection of which `what` is true, once there is one."""
    while not (pid := execute(database, f"SELECT min(pid) FROM pg_stat_activity WHERE {what}")):
        time.sleep(0.01)
    return int(pid)


def test_a_look_up_by_key_does_not_wait_for_long_lists(database):
    async def work(store):
        other = await asyncpg.connect(database)
        await other.execute("BEGIN; LOCK TABLE feedkeep.entry")
        lists = [asyncio.create_task(store.entries.whole(ALICE)) for _ in "12345"]
        async with asyncio.timeout(30):
            await asyncio.to_thread(until_waiting, database)
            assert await store.documents.body(BOB, "device", "phone") is None
            assert await store.accounts.find("nobody") is None
        await other.close()
        await asyncio.gather(*lists)

    run(database, work, max_connections=2)


async def test_who_waits_for_an_account_goes_on_as_soon_as_it_is_free(database, store):
    other = await asyncpg.connect(database)
    await other.execute("BEGIN")
    await other.execute("UPDATE feedkeep.account SET last_stamp = 99 WHERE account_id = 7")
    changes = [asyncio.create_task(store.entries.change(ALICE, [GUID], subscribe)) for _ in "123"]
    await asyncio.to_thread(until_waiting, database)
    await other.execute("COMMIT")
    assert await asyncio.gather(*changes) == [100, 101, 102]
    await other.close()


def test_jobs_of_one_account_take_no_more_than_one_connection_at_a_time(database, monkeypatch):
    begin = connections._BEGIN.replace("lock_timeout = '2s'", "lock_timeout = '20s'")
    monkeypatch.setattr(connections, "_BEGIN", begin)  # this machine may be busy
    monkeypatch.setattr(runner, "TURN_SECONDS", 60)

    async def work(store):
        other = await asyncpg.connect(database)
        await other.execute("BEGIN")
        await other.execute("UPDATE feedkeep.account SET last_stamp = 99 WHERE account_id = 7")
        jobs = [asyncio.create_task(advance(store)) for _ in range(8)]
        async with asyncio.timeout(30):
            await asyncio.to_thread(until_waiting, database)
            await store.accounts.set_admin(BOB, is_admin=True)  # it has the other connection
        await other.execute("COMMIT")
        assert await asyncio.gather(*jobs) == list(range(100, 108))
        await other.execute("BEGIN")
        await other.execute("UPDATE feedkeep.account SET last_stamp = 0 WHERE account_id = 7")
        monkeypatch.setattr(runner, "TURN_SECONDS", 0.1)
        first = asyncio.create_task(advance(store))
        await asyncio.to_thread(until_waiting, database)
        assert await answers(advance(store)) == [AccountBusy]
        await other.execute("COMMIT")
        assert [await first, await advance(store)] == [1, 2]
        await other.close()

    async def advance(store):
        return await store.accounts.advance(ALICE, Clock.SUBSCRIPTIONS, lambda last: last + 1)

    run(database, work, max_connections=2)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("40P01", "a deadlock"),
        ("40001", "a serialization failure"),
        ("57014", "a cancelled statement"),
        ("53200", "too little memory"),
        ("53100", "a full disk"),
    ],
)
async def test_what_passes_is_repeated_once_and_what_stays_is_unavailable(
    database, code, what, store
):
    asyncio.run(opened(database))
    for statement in (
        "CREATE SEQUENCE tries",
        "CREATE TABLE failing (times int)",
        "INSERT INTO failing VALUES (1)",
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN IF nextval('tries') <= (SELECT times FROM failing) THEN"
        f" RAISE EXCEPTION '{what}' USING ERRCODE = '{code}'; END IF; RETURN NEW; END $$",
        "CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON feedkeep.entry"
        " FOR EACH ROW EXECUTE FUNCTION fail()",
    ):
        execute(database, statement)
    changes = (
        store.entries.change(ALICE, [GUID], subscribe),
        store.entries.change(BOB, [GUID], subscribe),
    )
    assert await answers(*changes) == [1, 1]
    execute(database, "UPDATE failing SET times = 1000")
    with pytest.raises(StoreUnavailable, match=what):
        await store.entries.change(ALICE, [GUID], subscribe)
    assert (await store.entries.whole(ALICE)).last_stamp == 1


@pytest.mark.parametrize("code", ["08006", "08003", "57P01", "57P03"])
async def test_that_another_machine_of_a_cluster_is_away_costs_nobody_else_a_connection(
    database, code, store
):
    asyncio.run(opened(database))
    for statement in (
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF NEW.account_id = {BOB} THEN RAISE EXCEPTION 'connection to the remote node failed'"
        f" USING ERRCODE = '{code}'; END IF; RETURN NEW; END $$",
        "CREATE TRIGGER fail BEFORE INSERT ON feedkeep.entry FOR EACH ROW EXECUTE FUNCTION fail()",
    ):
        execute(database, statement)

    def sessions():
        return execute(
            database,
            "SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'",  # and not one that vacuums
        )

    await asyncio.gather(store.entries.view(ALICE, GUID), store.accounts.find("bob"))
    before = sessions()
    assert len(before) > 1
    with pytest.raises(StoreUnavailable, match="remote node"):
        await store.entries.change(BOB, [GUID], subscribe)
    assert await store.entries.change(ALICE, [GUID], subscribe) == 1
    assert sessions() == before


def write_nothing(database: str, table: str, times: int) -> None:
    """Have a table take no row so often, and report no error.

    An INSERT does so on a cluster whose shard is being split.
    """
    for statement in (
        "CREATE SEQUENCE tries",
        "CREATE FUNCTION write_nothing() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RETURN CASE WHEN nextval('tries') > {times} THEN NEW END; END $$",
        f"CREATE TRIGGER write_nothing BEFORE INSERT OR UPDATE ON feedkeep.{table}"
        " FOR EACH ROW EXECUTE FUNCTION write_nothing()",
    ):
        execute(database, statement)


@pytest.mark.parametrize("table", ["entry", "account"])
async def test_what_the_database_did_not_write_without_an_error_is_tried_again(
    database, table, store
):
    write_nothing(database, table, times=1)
    await store.entries.change(ALICE, [GUID], subscribe)
    whole = await store.entries.whole(ALICE)
    assert (whole.last_stamp, list(whole.entries)) == (1, [GUID])


async def test_what_the_database_does_not_write_is_not_acknowledged(database, store):
    write_nothing(database, "entry", times=100)
    with pytest.raises(StoreUnavailable, match="wrote 0 of 1 rows"):
        await store.entries.change(ALICE, [GUID], subscribe)
    whole = await store.entries.whole(ALICE)
    assert (whole.last_stamp, whole.entries) == (0, {})


async def test_actions_of_episodes_that_the_database_does_not_write_are_not_acknowledged(
    database, store
):
    write_nothing(database, "episode_action", times=100)
    action = EpisodeAction(
        b"\3" * 16, GUID, "https://a.example", "1.mp3", "phone", "play", 1, file=bytes(10)
    )
    with pytest.raises(StoreUnavailable, match="wrote 0 of 1 rows"):
        await store.episode_actions.record(
            ALICE, [action], lambda *_: ActionDecision([action], Stamp(1)), max
        )


@pytest.mark.parametrize("how", ["pg_cancel_backend", "pg_terminate_backend"])
async def test_a_statement_that_is_cancelled_before_its_commit_is_repeated(database, how, store):
    other = await asyncpg.connect(database)
    await other.execute("BEGIN")
    await other.execute("UPDATE feedkeep.account SET is_disabled = false WHERE account_id = 7")
    change = asyncio.create_task(store.entries.change(ALICE, [GUID], subscribe))
    pid = await asyncio.to_thread(until_waiting, database)
    assert await other.fetchval(f"SELECT {how}({pid})")
    await other.execute("COMMIT")
    assert await change == 1
    await other.close()


async def test_a_connection_that_ends_in_the_commit_is_unavailable_and_never_repeated(
    database, store
):
    asyncio.run(opened(database))
    for statement in (
        "CREATE SEQUENCE commits",
        "CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM nextval(''commits''), pg_sleep(30); RETURN NULL; END'",
        "CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON feedkeep.entry"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION linger()",
    ):
        execute(database, statement)
    change = asyncio.create_task(answers(store.entries.change(ALICE, [GUID], subscribe)))
    committing = "datname = current_database() AND query = 'COMMIT' AND state = 'active'"
    pid = await asyncio.to_thread(until_one, database, committing)
    other = await asyncpg.connect(database)
    assert await other.fetchval(f"SELECT pg_terminate_backend({pid})")
    assert await change == [StoreUnavailable]
    assert await other.fetchval("SELECT last_value FROM commits") == 1
    await other.execute("DROP TRIGGER linger ON feedkeep.entry")
    await other.close()
    assert await store.entries.change(ALICE, [GUID], subscribe) == 1


async def test_a_transaction_that_postgres_ends_by_itself_is_not_taken_for_done(store):
    async def swallow(connection):
        with pytest.raises(asyncpg.PostgresSyntaxError):
            await connection.execute("no statement")

    with pytest.raises(StoreUnavailable, match="ROLLBACK"):
        await store._runner.connections.transact(swallow)


async def test_a_change_that_the_commit_refuses_fails_alone(store):
    def dangle(snapshot):
        pointer = Pointer(GUID, NOWHERE)
        return Decision(None, [pointer], [], snapshot.last_stamp, snapshot.counts)

    results = await answers(
        store.entries.change(BOB, [GUID], dangle),
        store.entries.change(ALICE, [GUID], subscribe),
    )
    assert results == [asyncpg.ForeignKeyViolationError, 1]
    assert (await store.entries.whole(BOB)).entries == {}


def test_a_caller_that_goes_away_leaves_no_transaction_open(database):
    async def work(store):
        other = await asyncpg.connect(database)
        await other.execute("BEGIN")
        await other.execute("UPDATE feedkeep.account SET is_disabled = false WHERE account_id = 7")
        disabling = asyncio.create_task(store.accounts.set_disabled(ALICE, True))
        await asyncio.to_thread(until_waiting, database)
        disabling.cancel()
        await asyncio.gather(disabling, return_exceptions=True)
        await other.execute("COMMIT")
        await other.close()
        await store.accounts.set_disabled(ALICE, False)
        assert await store.entries.change(ALICE, [GUID], subscribe) == 1

    run(database, work, max_connections=1)


# A database that is away


def test_a_server_that_restarts_is_used_again_at_once(server):
    async def work(store):
        await answers(*(store.entries.change(ALICE, [GUID], subscribe) for _ in range(5)))
        for number in (signal.SIGINT, signal.SIGKILL):
            server.stop(number)
            results = await answers(
                *(store.entries.change(ALICE, [GUID], subscribe) for _ in range(5)),
                store.entries.view(ALICE, GUID),
                store.entries.page(ALICE, PageRequest(-1, None, 1, 50)),
                store.tokens.find(ALICE, b"\1" * 32),
                store.accounts.find("alice"),
                store.accounts.set_disabled(ALICE, False),
                store.assert_ready(),
            )
            assert results == [StoreUnavailable] * 11
            await asyncio.to_thread(server.start)
            await store.assert_ready()
            assert await store.entries.view(ALICE, GUID) is not None
        assert await store.entries.change(ALICE, [GUID], subscribe) == 6

    run(server.url, work)


def test_connections_that_a_restart_broke_are_noticed_and_the_request_is_repeated(server):
    async def work(store):
        read = (
            store.entries.view(ALICE, GUID),
            store.accounts.find("alice"),
            store.tokens.find(ALICE, b""),
        )
        await asyncio.gather(*read, store.entries.change(ALICE, [GUID], subscribe))
        # Nobody told the event loop yet that the connections ended.
        server.stop()
        server.start()
        assert await store.entries.change(ALICE, [GUID], subscribe) == 2
        assert await store.entries.view(ALICE, GUID) is not None
        assert await store.accounts.find("alice") is not None

    run(server.url, work)


def test_a_silent_server_is_noticed_and_then_refuses_at_once_until_it_answers(server, monkeypatch):
    async def work(store):
        await store.entries.change(ALICE, [GUID], subscribe)
        with server.held(), monkeypatch.context() as silent:
            silent.setattr(breaker, "SUSPECT_SECONDS", 0.01)
            silent.setattr(breaker, "PROBE_SECONDS", 0.2)
            asked = (
                store.entries.change(ALICE, [GUID], subscribe),
                store.entries.view(ALICE, GUID),
                store.accounts.find("alice"),
            )
            for error in await asyncio.gather(*asked, return_exceptions=True):
                assert "it does not answer" in str(error)
            taken = mock.Mock()
            silent.setattr(store._runner.connections, "_acquire", taken)
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await store.entries.view(ALICE, GUID)
            taken.assert_not_called()
        probing = store._runner.connections._breaker._probing
        assert probing is not None
        await probing
        await store.entries.change(ALICE, [GUID], subscribe)

    run(server.url, work)


async def test_a_statement_that_is_slow_on_a_server_that_answers_is_waited_for(database, store):
    other = await asyncpg.connect(database)
    await other.execute("BEGIN; LOCK TABLE feedkeep.entry")
    reading = asyncio.create_task(store.entries.view(ALICE, GUID))
    await asyncio.to_thread(until_waiting, database)
    probed = store._runner.connections._breaker
    probed._suspect()
    assert probed._probing is not None
    await probed._probing
    assert not reading.done()
    await other.close()
    assert await reading is None


async def test_a_statement_that_took_too_long_is_not_repeated(store):
    tries = 0

    async def wait(taken):
        nonlocal tries
        tries += 1
        async with taken.reading() as connection:
            await connection.execute("SELECT pg_sleep(60)", timeout=0.05)

    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        await store._runner.read(wait)
    assert tries == 1


async def reason(
    store: PostgresStore, url: str, waiting: str, work: Coroutine[Any, Any, object]
) -> str:
    """Return why `work` fails, after a probe that saw its statement wait."""
    failing = asyncio.create_task(work)
    await asyncio.to_thread(until_one, url, waiting)
    probed = store._runner.connections._breaker
    probed._suspect()
    assert probed._probing is not None
    await probed._probing
    with pytest.raises(StoreUnavailable) as failed:
        await failing
    return str(failed.value)


async def test_statement_behind_a_locked_table_fails_with_the_lock_as_reason(
    database, monkeypatch, store
):
    monkeypatch.setattr(connections, "STATEMENT_SECONDS", 3.0)
    other = await asyncpg.connect(database)
    try:
        await other.execute("BEGIN; LOCK TABLE feedkeep.entry")
        for blocked in (
            store.entries.view(ALICE, GUID),
            store.entries.change(ALICE, [GUID], subscribe),
        ):
            said = await reason(store, database, LOCKED, blocked)
            assert "waits for a lock that another session holds" in said
    finally:
        await other.close()


def test_commit_without_its_standby_fails_with_the_standby_as_reason(server):
    async def write(connection):
        await connection.execute("UPDATE feedkeep.schema_version SET version = version")

    async def work(store):
        execute(server.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        execute(server.url, "SELECT pg_reload_conf()")
        written = store._runner.connections.transact(write, commit_seconds=3.0)
        said = await reason(store, server.url, "wait_event = 'SyncRep'", written)
        assert "a commit waits for a synchronous standby" in said

    run(server.url, work)


async def test_statement_that_is_cancelled_fails_with_the_servers_reason(store):
    async def be_cancelled(connection):
        await connection.execute("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(60)")

    with pytest.raises(StoreUnavailable, match="canceling statement due to user request"):
        await store._runner.write(be_cancelled)


def test_another_server_takes_over(server):
    with server.standby() as standby:
        both = f"{server.url.rpartition('/')[0]},127.0.0.1:{standby.port}/postgres"

        async def work(store):
            assert await store.entries.change(ALICE, [GUID], subscribe) == 1
            await asyncio.to_thread(standby.wait_for, server)
            server.stop(signal.SIGKILL)
            assert await answers(store.entries.change(ALICE, [GUID], subscribe)) == [
                StoreUnavailable
            ]
            assert await answers(store.assert_ready()) == [StoreUnavailable]
            execute(standby.url, "SELECT pg_promote()")
            await store.assert_ready()
            assert await store.entries.change(ALICE, [GUID], subscribe) == 2

        run(both, work)


def test_a_host_that_does_not_answer_does_not_keep_the_next_one_from_being_asked(
    database, monkeypatch
):
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 3.0)  # half of it for each host
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]},127.0.0.1:"
        both = database.replace("127.0.0.1:", address)

        async def work(store):
            started = time.monotonic()
            assert await asyncio.gather(
                store.entries.change(ALICE, [GUID], subscribe), store.entries.view(BOB, GUID)
            ) == [1, None]
            assert time.monotonic() - started < 1.4  # it is known which one answers

        run(both, work)


def test_a_server_without_a_free_connection_is_unavailable_until_it_has_one():
    with PostgresServer(max_connections="4", superuser_reserved_connections="1") as server:
        execute(server.url, "CREATE ROLE plain LOGIN")
        execute(server.url, "GRANT CREATE ON DATABASE postgres TO plain")
        url = server.url.replace("feedkeep@", "plain@")

        async def work(store):
            execute(
                server.url,
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE usename = 'plain'",
            )
            taken = [await asyncpg.connect(url) for _ in range(3)]
            assert await answers(store.entries.change(ALICE, [GUID], subscribe)) == [
                StoreUnavailable
            ]
            for connection in taken:
                await connection.close()
            assert await store.entries.change(ALICE, [GUID], subscribe) == 1

        run(url, work, max_connections=1)


def test_a_pool_whose_connections_are_all_in_use_is_unavailable(database, monkeypatch):
    async def work(store):
        async with store._runner.connections.reading():
            with monkeypatch.context() as patched:
                patched.setattr(connections, "CONNECT_SECONDS", 0.1)
                for asked in (store.entries.view(ALICE, GUID), store.size()):
                    with pytest.raises(StoreUnavailable, match="no connection was free"):
                        await asked
        assert await store.entries.view(ALICE, GUID) is None

    run(database, work, max_connections=1)


async def test_each_connection_tries_every_host_while_others_find_the_one_that_takes_writes(
    database,
):
    server = urlsplit(database)
    waiting: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

    async def say_nothing(_, writer):
        await waiting.put(writer)

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    hosts = f"127.0.0.1:{port},{server.hostname}:{server.port}"
    url = f"postgresql://{server.username}@{hosts}{server.path}?sslmode=disable"
    opened = connections.Connections(url, 2)
    await opened.open()
    asked = [asyncio.create_task(opened.fetch("SELECT 1")) for _ in range(2)]
    for one in [await waiting.get() for _ in asked]:
        one.close()
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    assert [len(rows) for rows in await asyncio.gather(*asked)] == [1, 1]
    await opened.close()
    silent.close()


async def test_a_database_that_became_read_only_refuses_writes_and_is_not_ready(
    database, postgres, store
):
    await store.entries.change(ALICE, [GUID], subscribe)
    name = database.rpartition("/")[2]
    execute(database, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await store._runner.connections._pool.expire_connections()
    results = await answers(store.entries.change(ALICE, [GUID], subscribe), store.assert_ready())
    assert results == [StoreUnavailable] * 2
    execute(postgres, f"ALTER DATABASE {name} RESET default_transaction_read_only")
    assert await store.entries.change(ALICE, [GUID], subscribe) == 2


def test_a_damaged_table_is_unavailable(server):
    async def fill(store):
        await store.entries.change(ALICE, [GUID], subscribe)

    run(server.url, fill)
    file = server.data / execute(server.url, "SELECT pg_relation_filepath('feedkeep.entry')")
    server.stop()
    content = bytearray(file.read_bytes())
    place = content.index(b"https://a.example")
    content[place : place + 8] = b"\xff" * 8
    file.write_bytes(content)
    server.start()

    async def look(store):
        with pytest.raises(StoreUnavailable, match="invalid page"):
            await store.entries.view(ALICE, GUID)
        with pytest.raises(StoreUnavailable):
            await store.entries.change(ALICE, [GUID], subscribe)
        with pytest.raises(StoreUnavailable):
            await store.entries.whole(ALICE)

    run(server.url, look)


async def test_names_and_accounts_that_do_not_lead_to_one_another_are_damages(database, store):
    execute(database, "UPDATE feedkeep.account_name SET account_id = 9 WHERE name_key = 'bob'")
    assert await store.faults() == [
        "account bob cannot be found by its name",
        "the name bob leads to an account that is missing",
    ]


def test_a_database_that_cannot_hold_every_text_is_refused(postgres):
    execute(postgres, "DROP DATABASE IF EXISTS narrow")
    execute(
        postgres,
        "CREATE DATABASE narrow ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
    )
    with pytest.raises(StoreUnusable, match="encoding LATIN1"):
        asyncio.run(opened(postgres.rpartition("/")[0] + "/narrow"))
    execute(postgres, "DROP DATABASE narrow")


@pytest.mark.usefixtures("impatient")
async def test_a_database_whose_table_is_locked_is_not_ready(database, store):
    await store.entries.change(ALICE, [GUID], subscribe)
    other = await asyncpg.connect(database)
    await other.execute("BEGIN; LOCK TABLE feedkeep.account")
    change = store.entries.change(ALICE, [GUID], subscribe)
    assert await answers(change) == [StoreUnavailable], "all accounts are held"
    await other.close()
    other = await asyncpg.connect(database)
    await other.execute("BEGIN; LOCK TABLE feedkeep.schema_version")
    assert await answers(store.assert_ready()) == [StoreUnavailable]
    await other.close()
    await store.assert_ready()


async def test_a_stop_does_not_wait_for_a_database_that_does_not_answer(database, monkeypatch):
    monkeypatch.setattr(runner, "CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(connections, "CLOSE_SECONDS", 0.2)
    store = await PostgresStore.open(database, 4, wall_clock.now)
    await store.accounts.create(Account(ALICE, "alice", None, False, 0), "alice")
    other = await asyncpg.connect(database)
    await other.execute("BEGIN; LOCK TABLE feedkeep.account")
    changing = asyncio.create_task(answers(store.entries.change(ALICE, [GUID], subscribe)))
    await asyncio.to_thread(until_waiting, database)
    started = time.monotonic()
    await store.close()
    assert time.monotonic() - started < 1.7  # the lock would be waited for two seconds
    await other.close()
    assert await changing == [StoreUnavailable]


def test_a_stop_does_not_wait_for_a_connection_that_is_in_use(database, monkeypatch):
    monkeypatch.setattr(connections, "CLOSE_SECONDS", 0.2)

    async def go():
        store = await PostgresStore.open(database, 4, wall_clock.now)
        async with store.archive():
            await store.close()

    with pytest.raises(StoreUnavailable):
        asyncio.run(go())


def test_a_connection_that_cannot_end_its_transaction_is_not_used_again(database, monkeypatch):
    async def refuse(_):
        monkeypatch.setattr(connections, "CLOSE_SECONDS", 0)
        raise InvalidInput("no")

    async def work(store):
        with pytest.raises(InvalidInput):
            await store._runner.connections.transact(refuse)
        monkeypatch.undo()
        assert await store.entries.change(ALICE, [GUID], subscribe) == 1

    run(database, work, max_connections=1)


def test_an_archive_that_breaks_off_is_unavailable(server):
    async def count_while_it_stops(store):
        async with store.archive() as archive:
            server.stop()
            await archive.count()

    async def work(store):
        with pytest.raises(StoreUnavailable):
            await count_while_it_stops(store)
        server.start()

    run(server.url, work)


async def test_a_fill_that_breaks_off_is_unavailable_and_leaves_nothing(server):
    async def breaking():
        async for some in library(3, 20):
            yield some
        server.stop()

    store = await PostgresStore.open(server.url, 4, wall_clock.now)
    with pytest.raises(StoreUnavailable):
        await store.fill(breaking())
    server.start()
    assert not await store.accounts.are_there()
    await store.close()


async def test_a_connection_that_cannot_be_given_back_does_not_undo_what_was_done(
    monkeypatch, store
):
    release = asyncpg.pool.Pool.release

    async def failing(pool, connection):
        await release(pool, connection)
        raise TimeoutError

    monkeypatch.setattr(asyncpg.pool.Pool, "release", failing)
    assert await store.entries.change(ALICE, [GUID], subscribe) == 1
    assert await store.entries.view(ALICE, GUID) is not None
    monkeypatch.undo()


# Durability


# C8.1
def test_a_commit_waits_for_the_disk_whatever_the_database_is_set_to(database):
    name = database.rpartition("/")[2]
    for configured, kept in (("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")):
        execute(database, f"ALTER DATABASE {name} SET synchronous_commit = {configured}")
        seen: list[str] = []

        async def look(connection, seen=seen):
            seen.append(await connection.fetchval("SHOW synchronous_commit"))

        async def work(store, look=look):
            await store._runner.connections.transact(look)

        run(database, work)
        assert seen == [kept]


# Poolers


async def test_behind_a_pooler_in_transaction_mode_everything_works(database):
    asyncio.get_running_loop()
    pooler = Pooler(database)
    async with pooler.running() as url:
        store = await PostgresStore.open(url, 4, wall_clock.now)
        await store.accounts.create(Account(ALICE, "alice", "hash", False, 0), "alice")
        assert await store.connection_limit() is None
        for number in range(30):
            stamps = await asyncio.gather(
                *(store.entries.change(ALICE, [GUID], subscribe) for _ in range(3))
            )
            assert stamps == [3 * number + 1, 3 * number + 2, 3 * number + 3]
            view, page, _ = await asyncio.gather(
                store.entries.view(ALICE, GUID),
                store.entries.page(ALICE, PageRequest(-1, None, 1, 50)),
                store.accounts.find("alice"),
            )
            assert view is not None
            assert view.subscription.revision == stamps[-1]
            assert [view.entry for view in page.views] == [view.entry]
        await store.tokens.add(ALICE, Token(0, b"\1" * 32, "", 0))
        assert await store.tokens.find(ALICE, b"\1" * 32) is not None
        assert len((await store.entries.whole(ALICE)).entries) == 1
        await store.close()
    assert pooler.transactions > 100


def test_nothing_that_a_request_sets_outlives_its_transaction(database):
    async def settings(connection):
        return await connection.fetch(
            "SELECT name, setting FROM pg_settings"
            " WHERE name LIKE '%timeout' OR name = 'synchronous_commit'"
        )

    async def work(store):
        before = with_connection(database, settings)
        await store.entries.change(ALICE, [GUID], subscribe)
        async with store._runner.connections.reading() as connection:
            assert await settings(connection) == before

    run(database, work, max_connections=1)


async def test_when_a_pooler_is_found_out_nobody_who_waits_is_refused(database):
    async with Pooler(database).running() as url:
        for _ in range(3):
            store = await PostgresStore.open(url, 2, wall_clock.now)
            requests = (
                request
                for number in range(40)
                for request in (
                    store.accounts.find(f"user{number}"),
                    store.entries.view(ALICE, GUID),
                    store.entries.deletion(ALICE, number),
                )
            )
            assert await asyncio.gather(*requests) == [None] * 120
            await store.close()


async def test_a_read_that_comes_after_a_write_was_answered_sees_it(store):
    is_over = False

    async def read_on():
        while not is_over:
            await store.entries.view(ALICE, GUID)

    reading = [asyncio.create_task(read_on()) for _ in range(10)]
    for _ in range(200):
        stamp = await store.entries.change(ALICE, [GUID], subscribe)
        view = await store.entries.view(ALICE, GUID)
        assert view is not None
        assert view.subscription.revision >= stamp
    is_over = True
    await asyncio.gather(*reading)
