"""Lists are moved to a cluster and back, and over its machines."""

import asyncio
import os
import sqlite3
import time
from urllib.parse import urlsplit

from crowds import Crowd
from feedkeep_process import FeedkeepProcess
from machines import new_machine
from postgres_server import (
    add_node,
    distributed_database,
    drop_database,
    execute,
    of_database,
    prepare_machine,
)

from feedkeep.store.tables import TABLES

ACCOUNTS = 16
# In the middle of its accounts, one half on each worker.
SPLIT_THE_FULLEST = """
WITH fullest AS (
    SELECT get_shard_id_for_distribution_column('feedkeep.account', account_id) AS shard,
           percentile_disc(0.4) WITHIN GROUP (ORDER BY worker_hash(account_id)) AS middle
    FROM feedkeep.account GROUP BY 1 ORDER BY count(*) DESC LIMIT 1
)
SELECT citus_split_shard_by_split_points(
    shard, ARRAY[middle::text],
    (SELECT array_agg(nodeid) FROM pg_dist_node WHERE groupid > 0), 'block_writes'
) FROM fullest
"""
FEEDS_OF_AN_ACCOUNT = 200


def content(file):
    with sqlite3.connect(file) as connection:
        return {
            table.name: sorted(connection.execute(f"SELECT * FROM {table.name}"), key=repr)
            for table in TABLES
        }


def test_what_is_copied_there_and_back_is_the_same(cluster, tmp_path, amount, figures, monkeypatch):
    monkeypatch.setenv("FEEDKEEP_TEST_WORKERS", " ".join(cluster.workers))
    accounts = amount(10, 500)
    with FeedkeepProcess(tmp_path, log_level="error") as process:
        for account in range(accounts):
            name = process.new_account("a password")
            urls = [f"https://{account}.example/{n}" for n in range(FEEDS_OF_AN_ACCOUNT)]
            with process.client(name) as client:
                items = [{"feed_url": url} for url in urls]
                added = client.post("/subscriptions", json={"subscriptions": items}).json()
                guids = [one["guid"] for one in added["success"]]
                client.patch(f"/subscriptions/{guids[0]}", json={"is_subscribed": False})
                moved = {"new_feed_url": f"{urls[1]}/moved"}
                client.patch(f"/subscriptions/{guids[1]}", json=moved)
                client.delete(f"/subscriptions/{guids[2]}")
    there = distributed_database(cluster.coordinator, cluster.workers, f"copied_{os.getpid()}")
    back = tmp_path / "back.db"
    began = time.monotonic()
    process.must("copy", process.database, there)
    copied = time.monotonic()
    process.must("copy", there, f"sqlite:///{back}")
    ended = time.monotonic()
    before, after = content(tmp_path / "feedkeep.db"), content(back)
    rows = sum(len(rows) for rows in before.values())
    differing = [table for table in before if before[table] != after[table]]
    took = f"there in {copied - began:.1f} s, back in {ended - copied:.1f} s"
    figures(f"copy of {accounts} accounts, {rows} rows: {took}, {len(differing)} tables differ")
    assert differing == []
    assert len(before["former_entry"]) > 0
    drop_database(cluster.coordinator, there)


async def test_a_machine_is_added_and_shards_move_under_load(own_cluster, start, amount, figures):
    process = start()
    name = urlsplit(process.database).path[1:]
    coordinator = of_database(own_cluster.coordinator, name)
    crowd = Crowd(process, ACCOUNTS)
    with new_machine(own_cluster.programs) as third:
        prepare_machine(third.url, name)
        async with crowd.writing():
            await crowd.until_more(amount(100, 3_000))
            await asyncio.to_thread(add_node, coordinator, third.url)
            await asyncio.to_thread(execute, coordinator, "SELECT rebalance_table_shards()")
            await crowd.until_more(max(amount(500, 10_000) - crowd.acknowledged, 200))
        lost = await crowd.lost()
        moved = execute(
            coordinator,
            "SELECT count(*) FROM citus_shards WHERE table_name = 'feedkeep.account'::regclass"
            f" AND nodeport = {third.port}",
        )
        told = f"{crowd.told()}, {len(lost)} lost"
        figures(f"a third worker: {moved} of 32 parts moved to it, {told}")
        process.must("check")
        process.stop()
        drop_database(own_cluster.coordinator, process.database)
    assert moved > 0
    assert lost == crowd.unseen == crowd.failed == []


async def test_a_shard_is_split_under_load(own_cluster, start, figures):
    """Requests of both halves share statements until it is noticed; none is refused for it."""
    process = start()
    coordinator = of_database(own_cluster.coordinator, urlsplit(process.database).path[1:])
    crowd = Crowd(process, 4 * ACCOUNTS)
    async with crowd.writing():
        await crowd.until_more(500)
        await asyncio.to_thread(execute, coordinator, SPLIT_THE_FULLEST)
        await crowd.until_more(500)
    lost = await crowd.lost()
    figures(f"a shard is split: {crowd.told()}, {len(lost)} lost")
    assert lost == crowd.unseen == crowd.failed == []
