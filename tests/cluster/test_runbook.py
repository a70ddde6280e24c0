"""The steps in docs/postgresql.md set up a working cluster."""

import os
import time

from feedkeep_process import FeedkeepProcess
from postgres_server import drop_database, execute, of_database, undistributed_database


def test_the_steps_of_the_runbook_make_a_cluster(cluster, tmp_path, figures, monkeypatch):
    monkeypatch.setenv("FEEDKEEP_TEST_WORKERS", " ".join(cluster.workers))
    name = f"runbook_{os.getpid()}"
    url = undistributed_database(cluster.coordinator, cluster.workers, name)
    process = FeedkeepProcess(tmp_path, url, workers="2", log_level="error")
    with process:  # rows that are there before are moved
        before = process.new_account()
        with process.client(before) as client:
            added = [_added(client, number) for number in range(5)]
    began = time.monotonic()
    told = process.must("database", "distribute")
    took = time.monotonic() - began
    assert "is split over the machines by account" in told
    assert "there was nothing to do" in process.must("database", "distribute")
    with process, process.client(before) as client:
        listed = client.get("/subscriptions").json()["subscriptions"]
        assert sorted(one["feed_url"] for one in listed) == sorted(added)
        _added(client, 5)
    process.must("check")
    shards = execute(of_database(cluster.coordinator, name), "SELECT count(*) FROM citus_shards")
    figures(f"distribute: {took:.1f} s, {shards} shards on {len(cluster.workers)} workers")
    drop_database(cluster.coordinator, url)


def _added(client, number):
    url = f"https://{number}.example/feed"
    reply = client.post("/subscriptions", json={"subscriptions": [{"feed_url": url}]})
    assert reply.status_code == 200, reply.text
    return url
