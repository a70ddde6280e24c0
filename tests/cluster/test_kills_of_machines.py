"""A machine of a cluster is killed under load: nothing acknowledged is lost, or unseen."""

import asyncio
import signal
import time
from urllib.parse import urlsplit

from crowds import Crowd
from postgres_server import of_database, with_connection
from waiting import until_so

ACCOUNTS = 16
WINDOW_SECONDS = 4.0
KEPT_RATE = 0.8

_PLACES = """
SELECT n.account_id, s.nodeport
FROM unnest($1::bigint[]) WITH ORDINALITY AS n (account_id, number)
JOIN citus_shards s
ON s.shardid = get_shard_id_for_distribution_column('feedkeep.account', n.account_id)
"""


def accounts_on(cluster, process, crowd, port):
    """Return the indexes of the crowd's accounts on the worker with a port."""

    async def ids(service):
        return [(await service.accounts.named(name)).id for name in crowd.names]

    account_ids = process.use(ids)
    database = of_database(cluster.coordinator, urlsplit(process.database).path[1:])
    rows = with_connection(database, lambda connection: connection.fetch(_PLACES, account_ids))
    return {account_ids.index(account_id) for account_id, nodeport in rows if nodeport == port}


async def test_nothing_is_lost_or_unseen_when_a_worker_is_killed(
    own_cluster, start, amount, figures
):
    process = start()
    crowd = Crowd(process, ACCOUNTS)
    worker = own_cluster.servers[1]
    dead = accounts_on(own_cluster, process, crowd, worker.port)
    living = set(range(ACCOUNTS)) - dead
    assert dead
    assert living
    ratios = []
    async with crowd.writing():
        await crowd.until_more(ACCOUNTS * 4)
        while crowd.acknowledged < amount(500, 10_000) or len(ratios) < amount(2, 10):
            began = time.monotonic()
            await asyncio.sleep(WINDOW_SECONDS)
            killed = time.monotonic()
            await asyncio.to_thread(worker.stop, signal.SIGKILL)
            await asyncio.sleep(WINDOW_SECONDS)
            ended = time.monotonic()
            before = crowd.written(began, killed, living) / (killed - began)
            ratios.append(crowd.written(killed, ended, living) / (ended - killed) / before)
            await asyncio.to_thread(worker.start)
            await until_written(crowd, dead, len(dead))
    lost = await crowd.lost()
    kept = sorted(ratios)[len(ratios) // 2]
    figures(
        f"kill of a worker: {len(ratios)} kills, {crowd.told()}, {len(lost)} lost;"
        f" accounts of the living: {kept:.2f} of their rate (least {min(ratios):.2f})"
    )
    assert lost == crowd.unseen == []
    assert kept >= KEPT_RATE
    process.must("check")


async def until_written(crowd, accounts, count):
    began = time.monotonic()
    await until_so(lambda: crowd.written(began, time.monotonic(), accounts) > count, seconds=300)


async def test_nothing_is_lost_when_the_coordinator_is_killed(own_cluster, start, amount, figures):
    process = start()
    crowd = Crowd(process, ACCOUNTS)
    coordinator = own_cluster.servers[0]
    away = []
    async with crowd.writing():
        while crowd.acknowledged < amount(500, 10_000) or len(away) < amount(2, 10):
            await crowd.until_more(100)
            killed = time.monotonic()
            await asyncio.to_thread(coordinator.stop, signal.SIGKILL)
            await asyncio.to_thread(coordinator.start)
            await until_written(crowd, set(range(ACCOUNTS)), 0)
            away.append(time.monotonic() - killed)
    lost = await crowd.lost()
    figures(
        f"kill of the coordinator: {len(away)} kills, {crowd.told()}, {len(lost)} lost;"
        f" the first write after {max(away):.1f} s at most"
    )
    assert lost == crowd.unseen == []
    process.must("check")
