"""A machine of a cluster is killed under load: nothing acknowledged is lost, or unseen."""

import asyncio
import signal
import time
from urllib.parse import urlsplit

from crowds import Crowd
from postgres_server import of_database, with_connection

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
    """Return which of the crowd's accounts are on the worker with a port."""

    async def ids(service):
        return [(await service.accounts.named(one.name)).id for one in crowd.accounts]  # type: ignore[attr-defined]

    account_ids = process.use(ids)
    database = of_database(cluster.coordinator, urlsplit(process.database).path[1:])
    rows = with_connection(database, lambda connection: connection.fetch(_PLACES, account_ids))
    return {account_ids.index(account_id) for account_id, nodeport in rows if nodeport == port}


def test_nothing_acknowledged_is_lost_or_unseen_when_a_worker_is_killed(
    own_cluster, start, amount, figures
):
    process = start()
    crowd = Crowd(process, ACCOUNTS)
    worker = own_cluster.servers[1]
    dead = accounts_on(own_cluster, process, crowd, worker.port)
    living = set(range(ACCOUNTS)) - dead
    assert dead
    assert living
    wanted = amount(500, 10_000)
    ratios = []

    async def drill():
        async with crowd.writing():
            await crowd.until(lambda: crowd.acknowledged > ACCOUNTS * 4)
            while crowd.acknowledged < wanted or len(ratios) < amount(2, 10):
                began = time.monotonic()
                await asyncio.sleep(WINDOW_SECONDS)
                killed = time.monotonic()
                await asyncio.to_thread(worker.stop, signal.SIGKILL)
                await asyncio.sleep(WINDOW_SECONDS)
                ended = time.monotonic()
                before = crowd.written(began, killed, living) / (killed - began)
                ratios.append(crowd.written(killed, ended, living) / (ended - killed) / before)
                await asyncio.to_thread(worker.start)
                started = time.monotonic()
                await crowd.until(
                    lambda since=started: crowd.written(since, time.monotonic(), dead) > len(dead)  # type: ignore[misc]
                )
        return await crowd.lost()

    lost = asyncio.run(drill())
    kept = sorted(ratios)[len(ratios) // 2]
    figures(
        f"kill of a worker: {len(ratios)} kills, {crowd.told()}, {len(lost)} lost,"
        f" {len(crowd.unseen)} unseen; accounts of the living: {kept:.2f} of their rate"
        f" (least {min(ratios):.2f})"
    )
    assert lost == crowd.unseen == []
    assert kept >= KEPT_RATE
    process.must("check")


def test_nothing_acknowledged_is_lost_or_unseen_when_the_coordinator_is_killed(
    own_cluster, start, amount, figures
):
    process = start()
    crowd = Crowd(process, ACCOUNTS)
    coordinator = own_cluster.servers[0]
    wanted = amount(500, 10_000)
    away = []
    everyone = set(range(ACCOUNTS))

    async def drill():
        async with crowd.writing():
            while crowd.acknowledged < wanted or len(away) < amount(2, 10):
                had = crowd.acknowledged
                await crowd.until(lambda had=had: crowd.acknowledged > had + 100)  # type: ignore[misc]
                killed = time.monotonic()
                await asyncio.to_thread(coordinator.stop, signal.SIGKILL)
                await asyncio.to_thread(coordinator.start)
                started = time.monotonic()
                await crowd.until(
                    lambda since=started: (  # type: ignore[misc]
                        crowd.written(since, time.monotonic(), everyone) > 0
                    )
                )
                away.append(time.monotonic() - killed)
        return await crowd.lost()

    lost = asyncio.run(drill())
    figures(
        f"kill of the coordinator: {len(away)} kills, {crowd.told()}, {len(lost)} lost,"
        f" {len(crowd.unseen)} unseen; the first write after {max(away):.1f} s at most"
    )
    assert lost == crowd.unseen == []
    process.must("check")
