"""Specifics of PostgreSQL: its schema, poolers in between, and every way in which it can fail."""

import asyncio
import dataclasses
import itertools
import re
import signal
import socket
import time
import traceback
from contextlib import asynccontextmanager, suppress
from unittest import mock
from urllib.parse import urlsplit

import asyncpg
import pytest
from further_steps import with_further
from library import library, renamed
from list_values import ALICE, BOB, G1, account, guid_of
from postgres_server import (
    PostgresServer,
    drop_database,
    execute,
    new_database,
    of_database,
    with_connection,
)
from recorded import COMMITS, FAILED_COMMITS, recorded
from small_lists import add, answers, look, opened, subscribe
from transaction_pooler import Pooler

from feedkeep import model
from feedkeep.model import replace
from feedkeep.model.errors import AccountBusy, InvalidInput, StoreUnavailable, StoreUnusable
from feedkeep.rules.list_limits import count
from feedkeep.runtime import wall_clock
from feedkeep.runtime.recorder import Recorder
from feedkeep.store import migrate
from feedkeep.store.migrate import newest_version
from feedkeep.store.portable.episode_actions import NEWEST_PLAYS
from feedkeep.store.postgres import PostgresStore, breaker, connections, entry_writes, runner
from feedkeep.store.postgres import store as store_module
from feedkeep.store.postgres.entries import ESCAPED
from feedkeep.store.postgres.entry_write_statements import ChangeStatements
from feedkeep.store.postgres.shape import Shape

NOWHERE = guid_of(9)
FIRST_PAGE = model.PageRequest(-1, None, 1, 50)
LOCKED = "datname = current_database() AND wait_event_type = 'Lock'"
VERSION = "SELECT version FROM feedkeep.schema_version"


@pytest.fixture
def url(request):
    """The URL of an emptied database, or of the test's own if it asks for `database`."""
    own = "database" in request.fixturenames
    return request.getfixturevalue("database" if own else "emptied_database")


@pytest.fixture
async def store(url):
    async with opened(url) as store:
        yield store


async def prepare(url):
    await (await PostgresStore.open(url, 2, wall_clock.now)).close()


def run_script(url, script):
    with_connection(url, lambda connection: connection.execute(script))


def explained(url, statement, *bindings, before="SELECT 1"):
    """Return PostgreSQL's plan of a statement."""

    async def explain(connection):
        await connection.execute(before)
        lines = await connection.fetch(f"EXPLAIN {statement}", *bindings)
        return "\n".join(line for (line,) in lines)

    return with_connection(url, explain)


def subscribing(store, account_id=ALICE):
    return store.entries.change(account_id, [G1], subscribe)


@pytest.fixture(scope="module")
def own_server():
    with PostgresServer() as server:
        yield server


@pytest.fixture
def server(own_server):
    """A server of these tests' own, to be stopped and damaged; each creates a database there."""
    yield own_server
    if own_server.process.poll() is not None:
        own_server.start()
    for statement in ("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()"):
        execute(own_server.url, statement)


async def test_ten_that_start_at_once_bring_the_database_up_to_date_once(postgres):
    for _ in range(4):
        url = new_database(postgres)
        await asyncio.gather(*(prepare(url) for _ in range(10)))
        versions = execute(url, "SELECT array_agg(version) FROM feedkeep.schema_version")
        assert versions == [newest_version("postgres")]
        async with opened(url) as store:
            await store.assert_ready()
        drop_database(postgres, url)


async def test_migration_that_fails_leaves_nothing_of_itself(database, monkeypatch):
    step, *_ = migrate.migrations("postgres")
    broken = dataclasses.replace(step, sql=f"{step.sql}CREATE TABLE feedkeep.account ();")
    monkeypatch.setattr(migrate, "migrations", lambda _: [broken])
    with pytest.raises(asyncpg.DuplicateTableError):
        await prepare(database)
    monkeypatch.undo()
    assert execute(database, "SELECT to_regnamespace('feedkeep')") is None
    await prepare(database)


async def test_database_of_a_newer_program_is_used_only_if_it_permits_that(database):
    await prepare(database)
    newest = newest_version("postgres")
    newer = "UPDATE feedkeep.schema_version SET version = {}, compatible_from = {}"
    execute(database, newer.format(newest + 1, newest + 1))
    with pytest.raises(StoreUnusable, match="Install the newer feedkeep"):
        await prepare(database)
    assert execute(database, VERSION) == newest + 1
    execute(database, newer.format(newest + 2, newest))
    await prepare(database)
    assert execute(database, VERSION) == newest + 2


async def test_migration_waits_for_other_transactions_and_delays_none(database, monkeypatch):
    monkeypatch.setattr(store_module, "RETRY_SECONDS", 0.01)
    held = "SELECT count(*) FROM feedkeep.account"
    async with opened(database) as store, holding(database, held) as reader:
        with monkeypatch.context() as newer:
            newer.setattr(migrate, "migrations", with_further("added"))
            changing = asyncio.create_task(prepare(database))
            for _ in range(10):
                started = time.monotonic()
                assert await store.accounts.find("alice") is not None
                await subscribing(store)
                assert time.monotonic() - started < 2
                await asyncio.sleep(0.05)
            assert not changing.done()
            await reader.execute("COMMIT")
            await changing
    assert execute(database, VERSION) == newest_version("postgres") + 1


async def test_statements_prepared_before_a_migration_are_prepared_again(database, store):
    asks = [
        lambda: subscribing(store),
        lambda: store.entries.view(ALICE, G1),
        lambda: store.entries.page(ALICE, FIRST_PAGE),
        lambda: store.accounts.find("alice"),
        lambda: store.tokens.of(ALICE),
    ]
    kinds = itertools.cycle(["varchar", "text"])  # another type of what they return
    for first in asks:
        for ask in asks:
            await ask()
        kind = next(kinds)
        for table, column in (("account", "name"), ("entry", "feed_url"), ("token", "label")):
            execute(database, f"ALTER TABLE feedkeep.{table} ALTER {column} TYPE {kind}")
        await first()  # which is the one to find out


async def test_page_from_the_start_counts_no_entries_and_a_check_follows_names(url, store):
    await subscribing(store)
    execute(url, "UPDATE feedkeep.account SET announced_count = 9")
    pages = [model.PageRequest(since, None, 1, 50) for since in (0, 1)]
    assert [(await store.entries.page(ALICE, page)).total for page in pages] == [9, 0]
    execute(url, "UPDATE feedkeep.account_name SET account_id = 9 WHERE name_key = 'bob'")
    assert await store.faults() == [
        "account Bob cannot be found by its name",
        "the name bob leads to an account that is missing",
    ]


async def test_statements_of_an_account_read_no_entries_of_others(database):
    await prepare(database)
    add = """
        INSERT INTO feedkeep.entry (account_id, guid, feed_url, is_subscribed, subscription_changed,
            revision, status_changed, first_had)
    """
    run_script(
        database,
        f"""
        INSERT INTO feedkeep.account (account_id, name, name_key, created)
            SELECT n, n, n, 1 FROM generate_series(1, 300) n;
        {add} SELECT 7, md5(n::text)::uuid, 'https://a.example/' || n, true, n, n, n, 0
            FROM generate_series(1, 3000) n;
        {add} VALUES (3, '{G1}', 'https://a.example', true, 1, 1, 1, 0)
        """,
    )
    for statement in ("SELECT 1", "ANALYZE feedkeep.entry"):  # without statistics, and with
        assert "entry_with_escapes" in explained(database, ESCAPED, 7, before=statement)
    store = await PostgresStore.open(database, 1, wall_clock.now)
    page = explained(database, store.entries._pages, [3], [0], [0], [100], [0])
    await store.close()
    assert "Seq Scan on entry" not in page
    run_script(
        database,
        f"""
        DELETE FROM feedkeep.entry;
        {add} SELECT n, '{G1}', 'https://a.example', true, 1, 1, 1, 0
            FROM generate_series(1, 300) n;
        ANALYZE feedkeep.account, feedkeep.entry
        """,
    )
    # As PostgreSQL plans it for large tables, of which it takes these few rows for one or two.
    settings = "".join(f"SET enable_{way} = off;" for way in ("hashjoin", "mergejoin", "seqscan"))
    load = f"ANALYZE {ChangeStatements(Shape(is_distributed=False)).load}"
    plan = explained(database, load, [*range(1, 301)], [G1] * 300, None, before=settings)
    assert "Rows Removed by Join Filter" not in plan


async def test_page_of_plays_reads_no_more_than_it_lists(url):
    """Of both states there are thousands, all at one second."""
    await prepare(url)
    run_script(
        url,
        """
        INSERT INTO feedkeep.account (account_id, name, name_key, created) VALUES (7, 'a', 'a', 1);
        INSERT INTO feedkeep.episode_action SELECT 7, decode(lpad(n::text, 32, '0'), 'hex'),
            decode(repeat('00', 10), 'hex'), gen_random_uuid(), 'p', 'e', '', 'play', 7, 0,
            30 + n % 2, 61, NULL, n, 8000000, '', false FROM generate_series(1, 9000) n;
        ANALYZE feedkeep.episode_action
        """,
    )
    for state in ((True, True), (True, False), (False, True)):
        for start in ((2**63 - 1, 2**63 - 1), (7, 6_000)):
            wanted = (7, *start, *state, 10)
            text = explained(url, f"(ANALYZE, FORMAT TEXT) {NEWEST_PLAYS}", *wanted)
            counts = re.findall(r" on episode_action \w+ .*?actual .*?rows=(\d+)", text)
            assert 0 < sum(map(int, counts)) <= 40, text
            assert "Rows Removed" not in text, text


@pytest.fixture
def sent(monkeypatch):
    """Statements that the store sends to PostgreSQL."""
    statements = []

    class Recording(connections.Connection):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            self.add_query_logger(lambda logged: statements.append(logged.query.strip()))

    monkeypatch.setattr(connections, "Connection", Recording)
    return statements


async def test_change_takes_four_round_trips_whatever_it_writes(sent, store):
    def leave_and_delete(snapshot):
        stamp = snapshot.last_stamp + 1
        entry = model.Subscription(G1, "https://a.example", False, stamp, deleted=stamp)
        about = {"deletion": model.Deletion(stamp, G1), "stamp": stamp, "ended": [G1]}
        return model.Decision(stamp, [entry], [], stamp, count([entry]), **about)

    await subscribing(store)
    sent.clear()
    deletion = await store.entries.change(ALICE, [G1], leave_and_delete, author="{}")
    commands = [statement.partition(" ")[0] for statement in sent]
    assert commands == ["BEGIN", "SELECT", "WITH", "COMMIT"]
    assert await store.entries.deletion(ALICE, deletion) == model.Deletion(deletion, G1)
    former = (await store.history.page(ALICE, 9, 9)).states
    assert [state.ended for state in former] == [2, None]


async def test_one_statement_finds_the_locked_accounts_of_a_batch(sent, url, store):
    async with holding(url, ALICE_LOCKED) as other:
        held = asyncio.create_task(subscribing(store))
        await subscribing(store, BOB)
        await other.execute("ROLLBACK")
    await held
    again = [text for text in sent if text.startswith("SELECT a.account_id FROM")]
    assert len(again) == 1
    assert "$1" in again[0], "a text with ids would be prepared anew for each set of accounts"


async def test_tables_of_other_programs_are_left_alone_and_their_schema_refused(database):
    execute(database, "CREATE SCHEMA feedkeep CREATE TABLE theirs ()")
    with pytest.raises(StoreUnusable, match="another program"):
        await prepare(database)
    assert execute(database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'feedkeep'") == 1
    run_script(database, "DROP SCHEMA feedkeep CASCADE; CREATE TABLE account (theirs int)")
    async with opened(database) as store:
        assert await subscribing(store) == 1


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
async def test_invalid_url_of_a_database_is_refused_without_showing_its_password(url):
    with pytest.raises(StoreUnusable, match="not the URL of a PostgreSQL database") as failure:
        await prepare(url)
    assert "hunter2" not in str(failure.value)


async def test_unknown_parameter_or_database_and_unsuitable_encoding_are_told(postgres):
    for parameter in ("foo=bar", "connect_timeout=3", "statement_timeout=abc"):
        with pytest.raises(StoreUnusable, match="no parameters but those"):
            await prepare(f"{postgres}?{parameter}")
    with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist'):
        await prepare(of_database(postgres, "nowhere"))
    execute(postgres, "DROP DATABASE IF EXISTS narrow")
    latin = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    execute(postgres, f"CREATE DATABASE narrow {latin}")
    with pytest.raises(StoreUnusable, match="encoding LATIN1"):
        await prepare(of_database(postgres, "narrow"))
    execute(postgres, "DROP DATABASE narrow")


async def test_file_without_certificates_is_told(postgres, tmp_path, monkeypatch):
    none = tmp_path / "none.crt"
    none.write_text("no certificate")
    url = f"{postgres}?sslmode=verify-full"
    for path, told in ((none, "it has none"), (tmp_path / "gone.crt", "No such file")):
        with pytest.raises(StoreUnusable, match=f"{re.escape(str(path))}: {told}"):
            await prepare(f"{url}&sslrootcert={path}")
        monkeypatch.setenv("PGSSLROOTCERT", str(path))
        with pytest.raises(StoreUnusable, match=told):
            await prepare(url)
        monkeypatch.delenv("PGSSLROOTCERT")
    await prepare(f"{postgres}?sslmode=disable&sslrootcert={none}")  # it is not used
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(StoreUnusable, match="name a file that has it by &sslrootcert=FILE"):
        await prepare(url)


async def test_connections_have_the_name_of_the_program_or_the_configured_one(url, monkeypatch):
    for parameter, environment, name in (
        ("", None, "feedkeep"), ("application_name=x", None, "x"), ("", "mine", "mine")
    ):  # fmt: skip
        if environment:
            monkeypatch.setenv("PGAPPNAME", environment)
        async with (
            opened(f"{url}?{parameter}") as store,
            store._runner.connections.reading() as connection,
        ):
            assert await connection.fetchval("SHOW application_name") == name


async def test_transaction_that_fails_is_counted_once_and_its_error_has_no_url_in_it(database):
    recorder = Recorder()
    feeds = [("https://private.example/feed", None)]  # which the traceback does not quote
    async with opened(database, recorder=recorder) as store:
        await subscribing(store)
        assert recorded(recorder, FAILED_COMMITS) == 0
        before = recorded(recorder, COMMITS)
        await store._runner.connections._pool.expire_connections()
        execute(database, "ALTER TABLE feedkeep.entry ADD CHECK (feed_url NOT LIKE '%private%')")
        with pytest.raises(asyncpg.CheckViolationError) as raised:
            await add(store, *feeds)
        # It was tried twice, and failed for good once.
        assert recorded(recorder, FAILED_COMMITS) == 1
        assert recorded(recorder, COMMITS) == before
    told = "".join(traceback.format_exception(raised.value))
    assert "violates check constraint" in told
    assert "private.example" not in told


ALICE_LOCKED = f"UPDATE feedkeep.account SET last_stamp = 99 WHERE account_id = {ALICE}"


@asynccontextmanager
async def holding(url, statement):
    """Hold the locks of a statement, in a transaction of another connection."""
    other = await asyncpg.connect(url)
    try:
        await other.execute(f"BEGIN; {statement}")
        yield other
    finally:
        await other.close()


async def until_waiting(url, what=LOCKED):
    """Return the process of a connection of which `what` is true, once there is one."""
    find = f"SELECT min(pid) FROM pg_stat_activity WHERE {what}"
    watching = await asyncpg.connect(url)
    try:
        async with asyncio.timeout(30):
            while not (pid := await watching.fetchval(find)):
                pass
    finally:
        await watching.close()
    return pid


def patient(monkeypatch, seconds):
    """Set the lock timeout of transactions, in seconds."""
    begin = connections._BEGIN.replace("lock_timeout = '2s'", f"lock_timeout = '{seconds}s'")
    monkeypatch.setattr(connections, "_BEGIN", begin)


async def test_locked_account_is_busy_but_read_and_others_are_written(url, monkeypatch, store):
    async def timed(change):
        started = time.monotonic()
        (answer,) = await answers(change)
        return answer, time.monotonic() - started

    patient(monkeypatch, 1)
    await subscribing(store)
    async with holding(url, ALICE_LOCKED):
        held = [asyncio.create_task(timed(subscribing(store))) for _ in "12345"]
        free = await timed(subscribing(store, BOB))
        assert free[0] == 1
        assert free[1] < 0.8  # it waited for nobody
        refused = await asyncio.gather(*held)
        assert [answer for answer, _ in refused] == [AccountBusy] * 5, "no outage of the store"
        assert max(seconds for _, seconds in refused) < 3  # they waited together
        assert await store.entries.view(ALICE, G1) is not None
        assert (await store.entries.page(ALICE, FIRST_PAGE)).total == 1
        assert (await store.entries.whole(ALICE)).last_stamp == 1
    assert await subscribing(store) == 2
    async with holding(url, ALICE_LOCKED) as other:
        changes = [asyncio.create_task(subscribing(store)) for _ in "123"]
        await until_waiting(url)
        await other.execute("COMMIT")
        assert await asyncio.gather(*changes) == [100, 101, 102]


async def test_account_whose_change_loads_much_has_its_own_transaction(monkeypatch, store):
    made = []
    make = entry_writes.Changes.make

    async def make_and_note(*given, may_wait):
        made.append(({change.account_id for change in given[2]}, may_wait))
        return await make(*given, may_wait=may_wait)

    def measure(snapshot):
        return replace(look(snapshot), outcome=len(snapshot.entries))

    await add(store, *renamed("https://a.example", G1, 8))
    monkeypatch.setattr(entry_writes.Changes, "make", make_and_note)
    monkeypatch.setattr(entry_writes, "MAX_ROWS_IN_A_BATCH", 4)
    loaded = await answers(*(store.entries.change(one, [G1], measure) for one in (ALICE, BOB)))
    assert loaded == [10, 0]
    assert made[0] == ({ALICE, BOB}, False)
    assert sorted(made[1:], key=repr) == [({BOB}, True), ({ALICE}, True)]
    made.clear()
    assert await store.entries.change(ALICE, None, measure) == 10
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


async def test_rows_of_an_account_are_deleted_by_short_statements(database, monkeypatch, store):
    monkeypatch.setattr("feedkeep.store.postgres.accounts._ROWS_AT_ONCE", 4)
    monkeypatch.setattr("feedkeep.store.postgres.accounts._FULL", "DELETE 4")
    await add(store, *renamed("https://b.example", G1, 8))  # pointers
    await add(store, *((f"https://a.example/{number}", None) for number in range(9)))
    run_script(database, _REFUSE_LONG_DELETES)
    await store.accounts.delete(ALICE)
    assert await store.accounts.find("alice") is None
    assert not (await store.entries.whole(BOB)).entries
    assert execute(database, "SELECT count(*) FROM feedkeep.entry") == 0


async def test_last_use_waits_for_no_locked_token(url, monkeypatch, store):
    patient(monkeypatch, 1)
    for number in range(2):
        await store.tokens.add(ALICE, model.Token(0, bytes([number]) * 32, "", 0))
    async with holding(url, "UPDATE feedkeep.token SET label = 'x' WHERE id = 1"):
        await store.tokens.mark_used([(ALICE, 1), (ALICE, 2)], 7)
    assert [token.last_used for token in await store.tokens.of(ALICE)] == [None, 7]


async def test_look_up_by_key_does_not_wait_for_long_lists(url):
    async with opened(url, 2) as store:
        async with holding(url, "LOCK TABLE feedkeep.entry"):
            lists = [asyncio.create_task(store.entries.whole(ALICE)) for _ in "12345"]
            async with asyncio.timeout(30):
                await until_waiting(url)
                assert await store.documents.body(BOB, "device", "phone") is None
                assert await store.accounts.find("nobody") is None
        await asyncio.gather(*lists)


async def test_jobs_of_one_account_take_only_one_connection_at_a_time(url, monkeypatch):
    patient(monkeypatch, 20)  # this machine may be busy
    monkeypatch.setattr(runner, "TURN_SECONDS", 60)

    async def advance():
        return await store.accounts.advance(ALICE, model.Clock.SUBSCRIPTIONS, lambda last: last + 1)

    async with opened(url, 2) as store, holding(url, ALICE_LOCKED) as other:
        jobs = [asyncio.create_task(advance()) for _ in range(8)]
        async with asyncio.timeout(30):
            await until_waiting(url)
            await store.accounts.set_admin(BOB, is_admin=True)  # it has the other connection
        await other.execute("COMMIT")
        assert await asyncio.gather(*jobs) == list(range(100, 108))
        await other.execute(f"BEGIN; {ALICE_LOCKED.replace('99', '0')}")
        monkeypatch.setattr(runner, "TURN_SECONDS", 0.1)
        first = asyncio.create_task(advance())
        await until_waiting(url)
        assert await answers(advance()) == [AccountBusy]
        await other.execute("COMMIT")
        assert [await first, await advance()] == [1, 2]


def meddle(url, body, trigger="TRIGGER meddle BEFORE INSERT OR UPDATE", table="entry", late=""):
    """Run PL/pgSQL for each row that is written to a table; `tries` is a sequence for it."""
    run_script(
        url,
        f"""
        DROP SEQUENCE IF EXISTS tries;
        CREATE SEQUENCE tries MINVALUE -1000 START 1;
        DROP FUNCTION IF EXISTS meddle CASCADE;
        CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$;
        CREATE {trigger} ON feedkeep.{table} {late} FOR EACH ROW EXECUTE FUNCTION meddle()
        """,
    )


async def test_passing_error_is_repeated_once_and_a_lasting_one_is_unavailable(database, store):
    for number, (code, what) in enumerate(
        (
            ("40P01", "a deadlock"),
            ("40001", "a serialization failure"),
            ("57014", "a cancelled statement"),
            ("53200", "too little memory"),
            ("53100", "a full disk"),
        ),
        1,
    ):
        fail = f"RAISE EXCEPTION '{what}' USING ERRCODE = '{code}'"
        meddle(database, f"IF nextval('tries') < 2 THEN {fail}; END IF; RETURN NEW;")
        assert await answers(subscribing(store), subscribing(store, BOB)) == [number, number]
        execute(database, "ALTER SEQUENCE tries RESTART WITH -1000")
        with pytest.raises(StoreUnavailable, match=what):
            await subscribing(store)
        assert (await store.entries.whole(ALICE)).last_stamp == number


async def test_cluster_machine_that_is_away_costs_nobody_else_a_connection(database, store):
    def sessions():
        return execute(
            database,
            "SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'",  # and not one that vacuums
        )

    for number, code in enumerate(("08006", "08003", "57P01", "57P03"), 1):
        fail = f"RAISE EXCEPTION 'connection to the remote node failed' USING ERRCODE = '{code}'"
        meddle(database, f"IF NEW.account_id = {BOB} THEN {fail}; END IF; RETURN NEW;")
        await asyncio.gather(store.entries.view(ALICE, G1), store.accounts.find("bob"))
        before = sessions()
        assert len(before) > 1
        with pytest.raises(StoreUnavailable, match="remote node"):
            await subscribing(store, BOB)
        assert await subscribing(store) == number
        assert sessions() == before


def write_nothing(url, table, times):
    """Make a table ignore a number of inserted rows, without an error.

    An INSERT does so on a cluster whose shard is being split.
    """
    meddle(url, f"RETURN CASE WHEN nextval('tries') > {times} THEN NEW END;", table=table)


async def test_rows_that_are_not_written_are_tried_again_and_never_acknowledged(database, store):
    for number, table in enumerate(("entry", "account"), 1):
        write_nothing(database, table, times=1)
        await subscribing(store)
        whole = await store.entries.whole(ALICE)
        assert (whole.last_stamp, list(whole.entries)) == (number, [G1])
    write_nothing(database, "entry", times=100)
    with pytest.raises(StoreUnavailable, match="wrote 0 of 1 rows"):
        await subscribing(store, BOB)
    whole = await store.entries.whole(BOB)
    assert (whole.last_stamp, whole.entries) == (0, {})
    write_nothing(database, "episode_action", times=100)
    about = ("https://a.example", "1.mp3", "phone", "play", 1)
    action = model.EpisodeAction(b"\3" * 16, G1, *about, file=bytes(10))
    with pytest.raises(StoreUnavailable, match="wrote 0 of 1 rows"):
        await store.episode_actions.record(
            ALICE, [action], lambda *_: model.ActionDecision([action], 1), max
        )


@pytest.mark.parametrize("how", ["pg_cancel_backend", "pg_terminate_backend"])
async def test_statement_that_is_cancelled_before_its_commit_is_repeated(url, how, store):
    async with holding(url, ALICE_LOCKED.replace("99", "0")) as other:
        change = asyncio.create_task(subscribing(store))
        pid = await until_waiting(url)
        assert await other.fetchval(f"SELECT {how}({pid})")
        await other.execute("COMMIT")
        assert await change == 1


async def test_connection_that_ends_in_the_commit_is_unavailable_and_not_repeated(database, store):
    late = {"trigger": "CONSTRAINT TRIGGER meddle AFTER INSERT", "late": "INITIALLY DEFERRED"}
    meddle(database, "PERFORM nextval('tries'), pg_sleep(30); RETURN NULL;", **late)
    change = asyncio.create_task(answers(subscribing(store)))
    committing = "datname = current_database() AND query = 'COMMIT' AND state = 'active'"
    pid = await until_waiting(database, committing)
    assert execute(database, f"SELECT pg_terminate_backend({pid})")
    assert await change == [StoreUnavailable]
    assert execute(database, "SELECT last_value FROM tries") == 1
    execute(database, "DROP TRIGGER meddle ON feedkeep.entry")
    assert await subscribing(store) == 1


async def test_transaction_that_postgres_ends_by_itself_is_not_acknowledged(store):
    async def swallow(connection):
        with pytest.raises(asyncpg.PostgresSyntaxError):
            await connection.execute("no statement")

    with pytest.raises(StoreUnavailable, match="ROLLBACK"):
        await store._runner.connections.transact(swallow)


async def test_connection_is_usable_after_its_caller_left_or_failed(url, monkeypatch):
    async def refuse(_):
        monkeypatch.setattr(connections, "CLOSE_SECONDS", 0)
        raise InvalidInput("no")

    async with opened(url, 1) as store:
        async with holding(url, ALICE_LOCKED.replace("99", "0")):
            disabling = asyncio.create_task(store.accounts.set_disabled(ALICE, True))
            await until_waiting(url)
            disabling.cancel()
            await asyncio.gather(disabling, return_exceptions=True)
        await store.accounts.set_disabled(ALICE, False)
        assert await subscribing(store) == 1
        with pytest.raises(InvalidInput):
            await store._runner.connections.transact(refuse)
        monkeypatch.undo()
        assert await subscribing(store) == 2
        async with store._runner.connections.reading():  # the only connection
            monkeypatch.setattr(connections, "CONNECT_SECONDS", 0.1)
            for asked in (store.entries.view(ALICE, G1), store.size()):
                with pytest.raises(StoreUnavailable, match="no connection was free"):
                    await asked
        assert await store.entries.view(ALICE, G1) is not None


async def test_server_that_restarts_is_used_again_at_once(server):
    async with opened(new_database(server.url)) as store:
        await answers(*(subscribing(store) for _ in range(5)))
        for number in (signal.SIGINT, signal.SIGKILL):
            server.stop(number)
            results = await answers(
                *(subscribing(store) for _ in range(5)),
                store.entries.view(ALICE, G1),
                store.entries.page(ALICE, FIRST_PAGE),
                store.tokens.find(ALICE, b"\1" * 32),
                store.accounts.find("alice"),
                store.accounts.set_disabled(ALICE, False),
                store.assert_ready(),
            )
            assert results == [StoreUnavailable] * 11
            await asyncio.to_thread(server.start)
            await store.assert_ready()
            assert await store.entries.view(ALICE, G1) is not None
        assert await subscribing(store) == 6
        read = (store.accounts.find("alice"), store.tokens.find(ALICE, b""))
        await asyncio.gather(store.entries.view(ALICE, G1), *read, subscribing(store))
        # Nobody told the event loop yet that the connections ended: requests are repeated.
        server.stop()
        server.start()
        assert await subscribing(store) == 8
        assert await store.entries.view(ALICE, G1) is not None
        assert await store.accounts.find("alice") is not None


async def test_silent_server_is_noticed_and_refused_at_once_until_it_answers(server, monkeypatch):
    async with opened(new_database(server.url)) as store:
        await subscribing(store)
        with server.held(), monkeypatch.context() as silent:
            silent.setattr(breaker, "SUSPECT_SECONDS", 0.01)
            silent.setattr(breaker, "PROBE_SECONDS", 0.2)
            read = store.entries.view(ALICE, G1), store.accounts.find("alice")
            for error in await asyncio.gather(subscribing(store), *read, return_exceptions=True):
                assert "it does not answer" in str(error)
            taken = mock.Mock()
            silent.setattr(store._runner.connections, "_acquire", taken)
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await store.entries.view(ALICE, G1)
            taken.assert_not_called()
        await store._runner.connections._breaker._probing
        await subscribing(store)


async def probe(store):
    """Make the breaker suspect the server, and wait for the result of its probe."""
    probed = store._runner.connections._breaker
    probed._suspect()
    await probed._probing


async def test_slow_statement_on_a_server_that_answers_is_waited_for(url, store):
    async with holding(url, "LOCK TABLE feedkeep.entry"):
        reading = asyncio.create_task(store.entries.view(ALICE, G1))
        await until_waiting(url)
        await probe(store)
        assert not reading.done()
    assert await reading is None


async def reasons(store, url, waiting, *work):
    """Return the errors of `work`, after a probe that saw its statements wait."""
    failing = asyncio.gather(*work, return_exceptions=True)
    await until_waiting(url, f"{waiting} HAVING count(*) = {len(work)}")
    await probe(store)
    errors = await failing
    assert [type(error) for error in errors] == [StoreUnavailable] * len(work)
    return [str(error) for error in errors]


async def test_statement_behind_a_locked_table_fails_with_the_lock_as_reason(url, monkeypatch):
    monkeypatch.setattr(connections, "STATEMENT_SECONDS", 3.0)
    async with opened(url) as store, holding(url, "LOCK TABLE feedkeep.entry"):
        blocked = store.entries.view(ALICE, G1), subscribing(store)
        for said in await reasons(store, url, LOCKED, *blocked):
            assert "waits for a lock that another session holds" in said


async def test_commit_without_its_standby_fails_with_the_standby_as_reason(server):
    async def write(connection):
        await connection.execute("UPDATE feedkeep.schema_version SET version = version")

    url = new_database(server.url)
    async with opened(url):
        pass  # its accounts are made while commits wait for nobody
    execute(server.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
    server.stop()  # a reload returns before every process has read the setting
    server.start()
    async with opened(url) as store:
        written = store._runner.connections.transact(write, commit_seconds=3.0)
        [said] = await reasons(store, url, "wait_event = 'SyncRep'", written)
        assert "a commit waits for a synchronous standby" in said


async def test_statement_that_takes_too_long_or_is_cancelled_fails_with_the_reason(store):
    tries = 0

    async def wait(taken):
        nonlocal tries
        tries += 1
        async with taken.reading() as connection:
            await connection.execute("SELECT pg_sleep(60)", timeout=0.05)

    async def be_cancelled(connection):
        await connection.execute("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(60)")

    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        await store._runner.read(wait)
    assert tries == 1
    with pytest.raises(StoreUnavailable, match="canceling statement due to user request"):
        await store._runner.write(be_cancelled)


async def test_another_server_takes_over(server):
    url = new_database(server.url)
    with server.standby() as standby:
        both = url.replace(f":{server.port}/", f":{server.port},127.0.0.1:{standby.port}/")
        async with opened(both) as store:
            assert await subscribing(store) == 1
            await asyncio.to_thread(standby.wait_for, server)
            server.stop(signal.SIGKILL)
            assert await answers(subscribing(store)) == [StoreUnavailable]
            assert await answers(store.assert_ready()) == [StoreUnavailable]
            execute(standby.url, "SELECT pg_promote()")
            await store.assert_ready()
            assert await subscribing(store) == 2


async def test_host_that_does_not_answer_delays_requests_only_once(url, monkeypatch):
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 3.0)  # half of it for each host
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]},127.0.0.1:"
        async with opened(url.replace("127.0.0.1:", address)) as store:
            started = time.monotonic()
            asked = subscribing(store), store.entries.view(BOB, G1)
            assert await asyncio.gather(*asked) == [1, None]
            assert time.monotonic() - started < 1.4  # it is known which one answers


async def connected(url):
    """Connect as soon as the server has a free connection: one that ends counts for a moment."""
    async with asyncio.timeout(60):
        while True:
            with suppress(asyncpg.TooManyConnectionsError):
                return await asyncpg.connect(url)
            await asyncio.sleep(0.01)


async def test_server_without_a_free_connection_is_unavailable_until_it_has_one():
    with PostgresServer(max_connections="4", superuser_reserved_connections="1") as server:
        execute(server.url, "CREATE ROLE plain LOGIN")
        execute(server.url, "GRANT CREATE ON DATABASE postgres TO plain")
        url = server.url.replace("feedkeep@", "plain@")
        async with opened(url, 1) as store:
            ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            execute(server.url, f"{ended} WHERE usename = 'plain'")
            taken = [await connected(url) for _ in range(3)]
            assert await answers(subscribing(store)) == [StoreUnavailable]
            for connection in taken:
                await connection.close()
            await (await connected(url)).close()
            assert await subscribing(store) == 1


async def test_each_connection_tries_every_host_while_others_look_for_the_writable_one(url):
    server = urlsplit(url)
    waiting = asyncio.Queue()

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


async def test_read_only_database_refuses_writes_and_is_not_ready(database, postgres, store):
    await subscribing(store)
    name = database.rpartition("/")[2]
    execute(database, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await store._runner.connections._pool.expire_connections()
    results = await answers(subscribing(store), store.assert_ready())
    assert results == [StoreUnavailable] * 2
    execute(postgres, f"ALTER DATABASE {name} RESET default_transaction_read_only")
    assert await subscribing(store) == 2


async def test_damaged_table_is_unavailable(server):
    url = new_database(server.url)
    async with opened(url) as store:
        await subscribing(store)
    file = server.data / execute(url, "SELECT pg_relation_filepath('feedkeep.entry')")
    server.stop()
    content = bytearray(file.read_bytes())
    place = content.index(b"https://a.example")
    content[place : place + 8] = b"\xff" * 8
    file.write_bytes(content)
    server.start()
    async with opened(url) as store:
        with pytest.raises(StoreUnavailable, match="invalid page"):
            await store.entries.view(ALICE, G1)
        assert await answers(subscribing(store)) == [StoreUnavailable]
        assert await answers(store.entries.whole(ALICE)) == [StoreUnavailable]
    drop_database(server.url, url)  # no standby can be copied from a damaged server


async def test_database_whose_table_is_locked_is_not_ready(url, monkeypatch, store):
    patient(monkeypatch, 1)
    await subscribing(store)
    async with holding(url, "LOCK TABLE feedkeep.account"):
        assert await answers(subscribing(store)) == [StoreUnavailable], "all accounts are held"
    async with holding(url, "LOCK TABLE feedkeep.schema_version"):
        assert await answers(store.assert_ready()) == [StoreUnavailable]
    await store.assert_ready()


async def test_stop_waits_for_no_database_that_does_not_answer(url, monkeypatch):
    monkeypatch.setattr(runner, "CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(connections, "CLOSE_SECONDS", 0.2)
    store = await PostgresStore.open(url, 4, wall_clock.now)
    await store.accounts.create(account(), "alice")
    async with holding(url, "LOCK TABLE feedkeep.account"):
        changing = asyncio.create_task(answers(subscribing(store)))
        await until_waiting(url)
        started = time.monotonic()
        await store.close()
        assert time.monotonic() - started < 1.7  # the lock would be waited for two seconds
    assert await changing == [StoreUnavailable]
    # Nor for a connection that is in use.
    store = await PostgresStore.open(url, 4, wall_clock.now)
    with pytest.raises(StoreUnavailable):
        async with store.archive():
            await store.close()


async def test_fill_or_archive_that_breaks_off_is_unavailable(server):
    async def breaking():
        async for some in library(3, 20):
            yield some
        server.stop()

    async def count_while_it_stops():
        async with store.archive() as archive:
            server.stop()
            await archive.count()

    store = await PostgresStore.open(new_database(server.url), 4, wall_clock.now)
    with pytest.raises(StoreUnavailable):
        await store.fill(breaking())
    server.start()
    assert not await store.accounts.are_there()
    with pytest.raises(StoreUnavailable):
        await count_while_it_stops()
    server.start()
    await store.close()


async def test_connection_that_cannot_be_given_back_does_not_undo_what_was_done(monkeypatch, store):
    release = asyncpg.pool.Pool.release

    async def failing(pool, connection):
        await release(pool, connection)
        raise TimeoutError

    monkeypatch.setattr(asyncpg.pool.Pool, "release", failing)
    assert await subscribing(store) == 1
    assert await store.entries.view(ALICE, G1) is not None
    monkeypatch.undo()


# C8.1
async def test_a_commit_waits_for_the_disk_whatever_the_database_is_set_to(database):
    name = database.rpartition("/")[2]
    for configured, kept in (("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")):
        execute(database, f"ALTER DATABASE {name} SET synchronous_commit = {configured}")
        seen = []

        async def look(connection, seen=seen):
            seen.append(await connection.fetchval("SHOW synchronous_commit"))

        async with opened(database) as store:
            await store._runner.connections.transact(look)
        assert seen == [kept]


async def test_store_works_behind_a_pooler_in_transaction_mode(url):
    pooler = Pooler(url)
    async with pooler.running() as pooled, opened(pooled, 4) as store:
        for _ in range(3):  # nobody is refused who waits while the pooler is detected
            other = await PostgresStore.open(pooled, 2, wall_clock.now)
            requests = []
            for number in range(40):
                requests += [other.accounts.find(f"user{number}"), other.entries.view(ALICE, G1)]
                requests += [other.entries.deletion(ALICE, number)]
            assert await asyncio.gather(*requests) == [None] * 120
            await other.close()
        assert await store.connection_limit() is None
        pooler.transactions = 0
        for number in range(30):
            stamps = await asyncio.gather(*(subscribing(store) for _ in range(3)))
            assert stamps == [3 * number + 1, 3 * number + 2, 3 * number + 3]
            reading = store.entries.view(ALICE, G1), store.entries.page(ALICE, FIRST_PAGE)
            view, page, _ = await asyncio.gather(*reading, store.accounts.find("alice"))
            assert view.subscription.revision == stamps[-1]
            assert [view.entry for view in page.views] == [view.entry]
        await store.tokens.add(ALICE, model.Token(0, b"\1" * 32, "", 0))
        assert await store.tokens.find(ALICE, b"\1" * 32) is not None
        assert len((await store.entries.whole(ALICE)).entries) == 1
    assert pooler.transactions > 100


async def test_no_setting_of_a_request_outlives_its_transaction(url):
    async def settings(connection):
        which = "name LIKE '%timeout' OR name = 'synchronous_commit'"
        return await connection.fetch(f"SELECT name, setting FROM pg_settings WHERE {which}")

    async with opened(url, 1) as store:
        before = with_connection(url, settings)
        await subscribing(store)
        async with store._runner.connections.reading() as connection:
            assert await settings(connection) == before


async def test_read_after_an_answered_write_sees_it(store):
    is_over = False

    async def read_on():
        while not is_over:
            await store.entries.view(ALICE, G1)

    reading = [asyncio.create_task(read_on()) for _ in range(10)]
    for _ in range(200):
        stamp = await subscribing(store)
        assert (await store.entries.view(ALICE, G1)).subscription.revision >= stamp
    is_over = True
    await asyncio.gather(*reading)


@pytest.fixture
def no_waits(monkeypatch):
    monkeypatch.setattr(breaker, "SUSPECT_SECONDS", 0)
    monkeypatch.setattr(breaker, "PAUSE_SECONDS", 0)


@pytest.mark.usefixtures("no_waits")
async def test_server_that_nothing_answers_for_is_silent_until_a_probe_succeeds():
    answers = asyncio.Queue()

    async def probe():
        if error := await answers.get():
            raise error

    async def wait():
        async with one.use():
            await asyncio.Event().wait()

    one = breaker.Breaker(probe)
    waiting = [asyncio.create_task(wait()) for _ in range(3)]
    answers.put_nowait(ConnectionRefusedError())
    cut = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(error) for error in cut] == [StoreUnavailable] * 3
    entered = False
    with pytest.raises(StoreUnavailable, match="does not answer"):
        async with one.use():
            entered = True
    assert not entered
    answers.put_nowait(None)
    await one._probing
    async with one.use():
        pass
    await one.close()


@pytest.mark.usefixtures("no_waits")
async def test_server_that_refuses_a_probe_is_not_silent_and_a_closed_breaker_does_not_probe():
    async def probe():
        raise asyncpg.TooManyConnectionsError

    one = breaker.Breaker(probe)
    async with one.use():
        one._suspect()
        await one._probing
    async with one.use():
        pass
    one = breaker.Breaker(asyncio.Event().wait)
    async with one.use():
        one._suspect()
    await one.close()
    assert one._probing.done()
