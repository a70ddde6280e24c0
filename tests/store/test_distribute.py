"""Splitting the tables over machines: what is asked of Citus, and what is told without it.

Citus itself comes in no package that a test could start. A stand-in notes what it is asked, and
answers where feedkeep looks for an answer.
"""

import asyncio

import pytest
from feedkeep_process import FeedkeepProcess
from further_steps import with_further
from postgres_server import execute, with_connection

from feedkeep.model import Account, AccountId, Decision, Guid
from feedkeep.runtime import wall_clock
from feedkeep.store import migrate
from feedkeep.store.postgres import PostgresStore, migration

STAND_IN = """
CREATE TABLE public.pg_dist_partition (logicalrelid regclass, asked text);
CREATE FUNCTION public.create_reference_table(table_name regclass) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO public.pg_dist_partition VALUES ($1, 'reference') $$;
CREATE FUNCTION public.get_shard_id_for_distribution_column(table_name regclass, value bigint)
    RETURNS bigint LANGUAGE sql AS $$ SELECT 100 + value % 2 $$;
CREATE FUNCTION public.truncate_local_data_after_distributing_table(function_name regclass)
    RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        ASSERT $1 IN (SELECT logicalrelid FROM public.pg_dist_partition);
        EXECUTE 'TRUNCATE ' || $1 || ' CASCADE';
    END $$;
CREATE FUNCTION public.create_distributed_table(
    table_name regclass, distribution_column text, colocate_with text
) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO public.pg_dist_partition VALUES ($1, $2 || ' with ' || $3) $$;
SET allow_system_table_mods = on;
INSERT INTO pg_extension
    (oid, extname, extowner, extnamespace, extrelocatable, extversion)
SELECT 4242, 'citus', 10, oid, false, '13.0' FROM pg_namespace WHERE nspname = 'public';
"""


@pytest.fixture
def command(tmp_path, database):
    return FeedkeepProcess(tmp_path, database)


@pytest.fixture
def citus(database):
    with_connection(database, lambda connection: connection.execute(STAND_IN))


@pytest.mark.usefixtures("citus")
def test_every_table_is_split_by_account_or_by_feed_and_kept_together(command, database):
    told = command.must("database", "distribute")
    assert told.splitlines() == [
        "account_name is kept on every machine.",
        "login_grant is kept on every machine.",
        "account is split over the machines by account.",
        "token is split over the machines by account.",
        "entry is split over the machines by account.",
        "former_entry is split over the machines by account.",
        "feed_label is split over the machines by account.",
        "deletion is split over the machines by account.",
        "episode_action is split over the machines by account.",
        "document is split over the machines by account.",
        "feed is split over the machines by feed.",
        "feed_picture is split over the machines by feed.",
        "feed_episodes is split over the machines by feed.",
    ]
    asked = execute(
        database,
        "SELECT array_agg(relname || ': ' || asked)"
        " FROM pg_dist_partition JOIN pg_class ON oid = logicalrelid",
    )
    assert asked == [
        "account_name: reference",
        "login_grant: reference",
        "account: account_id with none",
        "token: account_id with feedkeep.account",
        "entry: account_id with feedkeep.account",
        "former_entry: account_id with feedkeep.account",
        "feed_label: account_id with feedkeep.account",
        "deletion: account_id with feedkeep.account",
        "episode_action: account_id with feedkeep.account",
        "document: account_id with feedkeep.account",
        "feed: guid with none",
        "feed_picture: guid with feedkeep.feed",
        "feed_episodes: guid with feedkeep.feed",
    ]


@pytest.mark.usefixtures("citus")
def test_what_was_split_before_is_left_as_it_is(command, database):
    command.must("database", "distribute")
    assert "nothing to do" in command.must("database", "distribute")
    execute(
        database, "DELETE FROM pg_dist_partition WHERE logicalrelid = 'feedkeep.entry'::regclass"
    )
    told = command.must("database", "distribute")
    assert told == "entry is split over the machines by account.\n"


@pytest.mark.usefixtures("citus")
def test_no_rows_stay_behind_when_they_were_copied_to_the_machines(command, database):
    command.must("account", "create", "alice", "--password-stdin", stdin="correct horse\n")
    told = command.must("database", "distribute")
    assert told.splitlines()[-2:] == [
        "account_name has no copy left on the coordinator.",
        "account has no copy left on the coordinator.",
    ]
    assert execute(database, "SELECT count(*) FROM feedkeep.account") == 0
    assert "nothing to do" in command.must("database", "distribute")


@pytest.mark.usefixtures("citus")
def test_a_newer_program_splits_the_tables_that_it_adds(command, database, monkeypatch):
    asyncio.run(opened(database, split=True))
    assert execute(database, "SELECT count(*) FROM pg_dist_partition") == 13
    monkeypatch.setattr(migrate, "migrations", with_further("added"))
    monkeypatch.setattr(migration, "_BY_ACCOUNT", (*migration._BY_ACCOUNT, "further"))
    asyncio.run(opened(database))
    assert execute(database, "SELECT count(*) FROM pg_dist_partition") == 14


async def opened(database: str, *, split: bool = False) -> None:
    store = await PostgresStore.open(database, 2, wall_clock.now)
    if split:
        assert [told async for told in store.distribute()] != []
    await store.close()


def test_a_database_without_citus_is_told_what_is_missing(command):
    done = command.run("database", "distribute")
    assert done.returncode == 1
    assert "CREATE EXTENSION citus" in done.stderr


def test_a_sqlite_file_cannot_be_split(tmp_path):
    done = FeedkeepProcess(tmp_path).run("database", "distribute")
    assert done.returncode == 1
    assert done.stderr == ("feedkeep: Only a PostgreSQL database with Citus can be distributed.\n")


@pytest.mark.usefixtures("citus")
def test_once_split_a_batch_holds_accounts_of_one_shard_and_those_of_others_run_beside_it(
    command, database, monkeypatch
):
    command.must("database", "distribute")
    accounts = [AccountId(number) for number in range(1, 5)]
    guid = Guid("00000000-0000-4000-8000-000000000001")
    most = under_way = 0
    batches: list[set[AccountId]] = []

    async def go():
        store = await PostgresStore.open(database, 4, wall_clock.now)
        for account_id in accounts:
            name = f"user{account_id}"
            await store.accounts.create(Account(account_id, name, None, False, 0), name)
        making = store.entries._making
        make = making.make

        async def noted(given, changes, *, may_wait):
            nonlocal most, under_way
            batches.append({change.account_id for change in changes})
            under_way += 1
            most = max(most, under_way)
            try:
                return await make(given, changes, may_wait=may_wait)
            finally:
                under_way -= 1

        monkeypatch.setattr(making, "make", noted)

        def nothing(snapshot):
            return Decision(None, [], [], snapshot.last_stamp, snapshot.counts)

        await asyncio.gather(
            *(store.entries.change(account_id, [guid], nothing) for account_id in accounts * 5)
        )
        await store.close()

    asyncio.run(go())
    shards = [{1, 3}, {2, 4}]
    assert all(any(batch <= shard for shard in shards) for batch in batches)
    assert all(shard in batches for shard in shards)
    assert most == len(shards)


@pytest.mark.usefixtures("citus")
def test_once_split_the_machines_are_told_to_wait_for_their_disks(command, database):
    command.must("database", "distribute")
    name = database.rpartition("/")[2]
    execute(database, f"ALTER DATABASE {name} SET synchronous_commit = off")
    seen: list[str] = []

    async def look(connection):
        seen.append(await connection.fetchval("SHOW synchronous_commit"))
        seen.append(await connection.fetchval("SHOW citus.propagate_set_commands"))

    async def go():
        store = await PostgresStore.open(database, 4, wall_clock.now)
        await store._runner.connections.transact(look)
        await store.close()

    asyncio.run(go())
    assert seen == ["on", "local"]
