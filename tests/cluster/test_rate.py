"""Write rate of a cluster, compared with one PostgreSQL of the same installation."""

import asyncio
import time
from statistics import median

import pytest
from crowds import Crowd
from postgres_server import PostgresServer, execute

ACCOUNTS, SECONDS = 256, 4.0
GOAL = 0.5
RELOAD = "SELECT pg_reload_conf()"


async def rate(crowd):
    """Return the number of feeds added per second, one with each request."""
    async with crowd.writing(looks=False):
        await crowd.until_more(2 * ACCOUNTS)
        began = time.monotonic()
        await asyncio.sleep(SECONDS)
        ended = time.monotonic()
    assert crowd.failed == []
    return crowd.written(began, ended, set(range(ACCOUNTS))) / (ended - began)


@pytest.fixture(params=[32, 8])
def shards(request, own_cluster):
    """Number of shards of the tables: Citus's default, and a lower one."""
    shards = request.param
    for statement in (f"ALTER SYSTEM SET citus.shard_count = {shards}", RELOAD):
        execute(own_cluster.coordinator, statement)
    yield shards
    for statement in ("ALTER SYSTEM RESET citus.shard_count", RELOAD):
        execute(own_cluster.coordinator, statement)


async def test_the_rate_of_a_cluster_beside_one_server(own_cluster, shards, start, amount, figures):
    """Both have the same processors, and take turns; the ratio of the medians is a goal, no bound.

    One server commits the requests of all accounts at once, and a cluster those of one shard.
    """
    with PostgresServer(
        programs=str(own_cluster.programs), superuser="postgres", fsync="on", max_connections="300"
    ) as plain:
        crowds = [Crowd(start(), ACCOUNTS), Crowd(start(plain.url), ACCOUNTS)]
        rates = [[], []]
        for _ in range(amount(3, 9)):
            for crowd, found in zip(crowds, rates, strict=True):
                found.append(await rate(crowd))
        for crowd in crowds:
            crowd.process.stop()
    of_cluster, of_one = (median(found) for found in rates)
    figures(
        f"POST of one from {ACCOUNTS} accounts, {shards} shards: {of_cluster:.0f} a second,"
        f" one server {of_one:.0f}; ratio {of_cluster / of_one:.2f}, goal {GOAL}"
    )
