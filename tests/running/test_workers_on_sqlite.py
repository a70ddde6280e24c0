"""Processes that serve one SQLite file show one list, and one of them fetches feeds for all."""

import os
import re
import signal
import ssl
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import trustme
from feedkeep_process import FeedkeepProcess
from running_services import until
from web_of_hosts import WebOfHosts, reply

CONNECTIONS = 16
"""So many are spread over both processes."""

FEEDS = 8
FEED = b"<rss><channel><title>A Show</title></channel></rss>"


@pytest.fixture
def two(tmp_path):
    with FeedkeepProcess(tmp_path, workers="2") as process:
        process.wait_for_workers(2)
        yield process


def add(client, url):
    reply = client.post("/subscriptions", json={"subscriptions": [{"feed_url": url}]})
    assert reply.status_code == 200


def feeds(client):
    found = client.get("/subscriptions").raise_for_status().json()["subscriptions"]
    return {one["feed_url"] for one in found}


def test_processes_show_the_same_list_and_replace_one_that_is_killed(two):
    name, added = two.new_account(), set()
    clients = [two.client(name) for _ in range(CONNECTIONS)]
    for number, client in enumerate(clients):
        url = f"https://{number}.example/feed"
        add(client, url)
        added.add(url)
        assert all(feeds(other) == added for other in clients)
    for client in clients:
        client.close()
    first, second = two.workers()
    os.kill(first, signal.SIGKILL)
    assert two.wait_for_line("worker died")["status"] == -signal.SIGKILL
    with two.client(name) as client:
        add(client, "https://b.example/feed")
    two.wait_for_workers(2)
    assert second in two.workers()
    with two.client(name) as client:
        assert feeds(client) == {*added, "https://b.example/feed"}


def test_clients_of_a_killed_worker_go_to_the_other_one_at_once(tmp_path):
    """A certificate that is renewed has another key, and for a while only one of the two is new."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    authority = trustme.CA()
    issued, renewed = (authority.issue_cert("127.0.0.1") for _ in range(2))
    issued.private_key_and_cert_chain_pem.write_to_path(cert)
    issued.private_key_pem.write_to_path(key)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    settings = {"tls_cert": str(cert), "tls_key": str(key)}
    with FeedkeepProcess(tmp_path, workers="2", **settings) as process:
        until(lambda: process.log.read_text().count("worker ready") == 2)
        renewed.cert_chain_pems[0].write_to_path(cert)
        os.kill(process.workers()[0], signal.SIGKILL)
        process.wait_for_line("worker died")
        for _ in range(CONNECTIONS):
            alive = httpx.get(f"{process.base_url}/livez", verify=trusting, timeout=20)
            assert alive.status_code == 200
        process.wait_for_line("worker failed to start")
        renewed.private_key_pem.write_to_path(key)
        process.wait_for_workers(2)


def test_a_feed_is_fetched_by_the_first_process_whichever_one_it_was_added_to(tmp_path):
    with ExitStack() as stack:
        host = stack.enter_context(WebOfHosts()).host("a.example")
        for number in range(FEEDS):
            host.answers[f"/{number}"] = reply(FEED)
        settings = {"fetch_allowed": "127.0.0.0/8", "fetch_ports": str(host.port)}
        process = FeedkeepProcess(tmp_path, workers="2", fetch="public", **settings)
        stack.enter_context(process)
        process.wait_for_workers(2)
        name = process.new_account()
        for number in range(FEEDS):
            with process.client(name) as client:
                add(client, f"http://{host.address}:{host.port}/{number}")
        until(lambda: len(host.requests) >= FEEDS, 60)
        assert [is_fetching(pid) for pid in process.workers()].count(True) == 1


def is_fetching(pid):
    """Whether a process has a child that fetches feeds for it (proc(5))."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
    return any(re.search(rb"feedkeep.feeds.child", command) for command in commands)
