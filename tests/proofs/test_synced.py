"""An acknowledged write survives the death of the machine: no reply leaves before it is synced.

A kill cannot tell a synced write from one that the system still holds. So only what was synced is
left of SQLite's files, and PostgreSQL is asked after each reply how far its log has been synced.
"""

import asyncpg
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of, in_the_long_form
from postgres_server import PostgresServer
from power_cut import cut_power
from raw_client import RawClient
from writers import wrong_after_kills


# C8.1
@pytest.mark.parametrize("store_kind", first_of("sqlite", "sqlite, 2 workers"))
def test_nothing_acknowledged_is_lost_when_the_power_fails(start, store_kind, amount):
    process = start(store_kind, "unsynced_lost")
    assert wrong_after_kills(process, amount(2, 200, 5), cut_power) == []


@in_the_long_form
def test_the_proof_notices_commits_that_are_not_synced(start):
    process = start("sqlite", "unsynced_lost", "sqlite_syncs_now_and_then")
    wrong = wrong_after_kills(process, 10, cut_power)
    assert any("was lost" in sentence for sentence in wrong)


async def ahead_of_the_disk(server, writes, *broken):
    """Return the number of replies sent before PostgreSQL's log was synced up to its end."""
    process = FeedkeepProcess(server.folder, server.url, log_level="error")
    process.run_first(*broken)

    with process:
        token = process.new_token(process.new_account())
        count, looking = 0, await asyncpg.connect(server.url)
        async with RawClient(process.base_url, token) as client:
            for number in range(writes):
                before = await looking.fetchval("SELECT pg_current_wal_insert_lsn()::text")
                assert (await client.add(f"https://{number}.example")).status == 200
                # All log records of this write are after `before`, its commit last.
                count += await looking.fetchval(
                    f"SELECT pg_current_wal_flush_lsn() <= '{before}'::pg_lsn"
                )
        await looking.close()
    return count


NOTHING_ELSE_WRITES = {
    "fsync": "on",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "checkpoint_timeout": "1h",
    "wal_writer_delay": "10s",
}


async def test_no_reply_leaves_before_postgres_has_synced_its_log(amount):
    with PostgresServer(**NOTHING_ELSE_WRITES) as server:
        writes = amount(40, 1_000, 100)
        assert await ahead_of_the_disk(server, writes) == 0
        # The control: a commit that does not wait for the disk.
        hasty = "postgres_does_not_wait_for_the_disk"
        assert await ahead_of_the_disk(server, writes, hasty) > writes / 2
