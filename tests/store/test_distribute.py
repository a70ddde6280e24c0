"""Splitting the tables over machines: what is asked of Citus, and what is told without it.

Citus itself comes in no package that a test could start. A stand-in notes what it is asked, and
answers where feedkeep looks for an answer.
"""

import asyncio
from types import SimpleNamespace

import pytest
from feedkeep_process import FeedkeepProcess
from further_steps import with_further
from postgres_server import execute, with_connection
from small_lists import G1, account, look

from feedkeep.runtime import wall_clock
from feedkeep.store import migrate
from feedkeep.store.postgres import PostgresStore, migration, runner
from feedkeep.store.postgres.runner import MAX_REMEMBERED, REMEMBERED_SECONDS, Shards

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
SPLIT = {
    "account_name": "reference",
    "login_grant": "reference",
    "account": "account_id with none",
    "token": "account_id with feedkeep.account",
    "entry": "account_id with feedkeep.account",
    "former_entry": "account_id with feedkeep.account",
    "feed_label": "account_id with feedkeep.account",
    "deletion": "account_id with feedkeep.account",
    "episode_action": "account_id with feedkeep.account",
    "document": "account_id with feedkeep.account",
    "feed": "guid with none",
    "feed_picture": "guid with feedkeep.feed",
    "feed_episodes": "guid with feedkeep.feed",
}
"""What Citus is asked for each table, in order."""


@pytest.fixture
def command(tmp_path, database):
    return FeedkeepProcess(tmp_path, database)


@pytest.fixture
def citus(database):
    with_connection(database, lambda connection: connection.execute(STAND_IN))


@pytest.fixture
async def split(citus, database):
    """A store whose tables are split."""
    await (await opened(database, split=True)).close()
    store = await opened(database)
    yield store
    await store.close()


async def opened(database, *, split=False):
    store = await PostgresStore.open(database, 4, wall_clock.now)
    if split:
        assert [told async for told in store.distribute()] != []
    return store


@pytest.mark.usefixtures("citus")
def test_every_table_is_split_by_account_or_by_feed_once_and_kept_together(command, database):
    told = command.must("database", "distribute")
    by = {
        "reference": "kept on every machine",
        "account_id": "split over the machines by account",
        "guid": "split over the machines by feed",
    }
    sentences = [f"{table} is {by[asked.split()[0]]}." for table, asked in SPLIT.items()]
    assert told.splitlines() == sentences
    asked = execute(
        database,
        "SELECT array_agg(relname || ': ' || asked)"
        " FROM pg_dist_partition JOIN pg_class ON oid = logicalrelid",
    )
    assert asked == [f"{table}: {asked}" for table, asked in SPLIT.items()]
    assert "nothing to do" in command.must("database", "distribute")
    execute(
        database, "DELETE FROM pg_dist_partition WHERE logicalrelid = 'feedkeep.entry'::regclass"
    )
    told = command.must("database", "distribute")
    assert told == "entry is split over the machines by account.\n"


@pytest.mark.usefixtures("citus")
def test_rows_that_were_copied_to_the_machines_are_deleted_here(command, database):
    command.must("account", "create", "alice", "--password-stdin", stdin="correct horse\n")
    told = command.must("database", "distribute")
    assert told.splitlines()[-2:] == [
        "account_name has no copy left on the coordinator.",
        "account has no copy left on the coordinator.",
    ]
    assert execute(database, "SELECT count(*) FROM feedkeep.account") == 0
    assert "nothing to do" in command.must("database", "distribute")


@pytest.mark.usefixtures("split")
async def test_newer_program_splits_the_tables_that_it_adds(database, monkeypatch):
    split = "SELECT count(*) FROM pg_dist_partition"
    assert execute(database, split) == len(SPLIT)
    monkeypatch.setattr(migrate, "migrations", with_further("added"))
    monkeypatch.setattr(migration, "_BY_ACCOUNT", (*migration._BY_ACCOUNT, "further"))
    await (await opened(database)).close()
    assert execute(database, split) == len(SPLIT) + 1


def test_database_without_citus_and_a_file_cannot_be_split(command, tmp_path):
    done = command.run("database", "distribute")
    assert done.returncode == 1
    assert "CREATE EXTENSION citus" in done.stderr
    done = FeedkeepProcess(tmp_path).run("database", "distribute")
    assert done.returncode == 1
    assert done.stderr == "feedkeep: Only a PostgreSQL database with Citus can be distributed.\n"


async def test_batch_of_a_split_database_is_of_one_shard_and_other_shards_run_beside_it(
    split, monkeypatch
):
    most = under_way = 0
    batches = []
    for account_id in range(1, 5):
        await split.accounts.create(account(account_id, f"user{account_id}"), f"user{account_id}")
    making = split.entries._making
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
    await asyncio.gather(
        *(split.entries.change(account_id, [G1], look) for account_id in (1, 2, 3, 4) * 5)
    )
    shards = [{1, 3}, {2, 4}]
    assert all(any(batch <= shard for shard in shards) for batch in batches)
    assert all(shard in batches for shard in shards)
    assert most == len(shards)


@pytest.mark.usefixtures("citus")
async def test_machines_of_a_split_database_are_told_to_wait_for_their_disks(database):
    await (await opened(database, split=True)).close()
    name = database.rpartition("/")[2]
    execute(database, f"ALTER DATABASE {name} SET synchronous_commit = off")
    seen = []

    async def look(connection):
        seen.append(await connection.fetchval("SHOW synchronous_commit"))
        seen.append(await connection.fetchval("SHOW citus.propagate_set_commands"))

    store = await opened(database)
    await store._runner.connections.transact(look)
    await store.close()
    assert seen == ["on", "local"]


class Coordinator:
    """Counts what it is asked; accounts are in ten shards, and later in others."""

    def __init__(self):
        self.asked = 0
        self.first = 100

    async def find(self, account_id):
        self.asked += 1
        return self.first + account_id % 10


async def test_shard_is_requested_once_a_minute(monkeypatch):
    now = 1_000.0
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: now))
    coordinator = Coordinator()
    known = Shards(coordinator.find)

    async def shards_of(*account_ids):
        return [await known.of(account_id) for account_id in account_ids]

    assert await shards_of(7, 17, 8, 7) == [107, 107, 108, 107]
    assert coordinator.asked == 3
    coordinator.first = 200  # it was split
    assert await shards_of(7) == [107]
    now += REMEMBERED_SECONDS + 1
    assert await shards_of(7, 8) == [207, 208]
    assert coordinator.asked == 5


async def test_remembered_shards_are_bounded():
    known = Shards(Coordinator().find)
    for number in range(MAX_REMEMBERED + 10):
        await known.of(number)
    assert len(known._known) == 10
