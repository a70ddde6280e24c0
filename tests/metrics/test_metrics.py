"""Metrics that Prometheus scrapes from real processes over HTTP."""

import os
import re
import select
import signal
import socket
import time
from contextlib import ExitStack
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of
from postgres_server import drop_database, execute, new_database
from told_metrics import ELSEWHERE, FEED, metrics_urls, once, scrape

from feedkeep import __version__
from feedkeep.http.serving.server import METRICS_CONNECTIONS

REQUESTS = "feedkeep_http_requests_total"
SECONDS = "feedkeep_http_request_duration_seconds"


def test_without_the_setting_nothing_is_told_and_nothing_else_listens(tmp_path):
    with FeedkeepProcess(tmp_path) as process:
        assert [line for line in process.printed if "etrics" in line] == []
        assert httpx.get(f"{process.base_url}/metrics").status_code == 404
        assert len(process.ports()) == 1


def test_requests_are_counted_by_route_method_and_status(of_sqlite):
    for route, method, status in (
        ("/subscriptions", "POST", "200"),
        ("/subscriptions/{guid}", "GET", "200"),
        ("/subscriptions", "GET", "405"),
        ("/subscriptions", "GET", "401"),
        ("/api/2/devices/{user}.json", "GET", "200"),
    ):
        assert of_sqlite.of(REQUESTS, route=route, method=method, status=status) == 1, route
    assert of_sqlite.of(f"{SECONDS}_count", route="/subscriptions", method="GET") == 2
    assert of_sqlite.of(f"{SECONDS}_count") == of_sqlite.of(REQUESTS)
    assert of_sqlite.of(f"{SECONDS}_bucket", le="10.0") == of_sqlite.of(REQUESTS)
    assert 0 < of_sqlite.of(f"{SECONDS}_sum") < 10 * of_sqlite.of(REQUESTS)
    # All requests of strangers count as one route and one method.
    assert of_sqlite.of(REQUESTS, route="none", method="GET", status="404") == 2
    assert of_sqlite.of(REQUESTS, route="none", method="other", status="404") == 1
    assert of_sqlite.of(REQUESTS, route="/subscriptions", method="other") == 1
    known = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"}
    assert of_sqlite.values(REQUESTS, "method") <= known


@pytest.mark.parametrize("kind", ["sqlite", "two_workers"])
def test_no_account_no_url_and_no_address_is_told(kind, request):
    told = request.getfixturevalue(kind)
    assert sum(one.of(REQUESTS) for one in told.each) == 9
    for text in (one.text.replace("feedkeep_http_", "") for one in told.each):
        for private in (told.account, FEED, "podcast", "http", "where", "yesterday"):
            assert private not in text
        assert ELSEWHERE["X-Forwarded-For"] not in text
        assert re.search(r"\d+\.\d+\.\d+\.\d+|::", text) is None


def test_batches_commits_wrong_passwords_and_what_runs_are_told(of_sqlite):
    commits = of_sqlite.of("feedkeep_store_commit_duration_seconds_count")
    assert commits > 0
    assert of_sqlite.of("feedkeep_store_batch_jobs_count", kind="write") == commits
    assert of_sqlite.of("feedkeep_store_batch_jobs_sum", kind="write") >= commits
    assert of_sqlite.of("feedkeep_store_batch_wait_seconds_count", kind="read") > 0
    assert of_sqlite.of("feedkeep_store_failed_commits_total") == 0
    assert of_sqlite.of("feedkeep_wrong_passwords_total") == 1
    assert of_sqlite.of("feedkeep_build_info", version=__version__, database="SQLite") == 1
    assert of_sqlite.of("process_cpu_seconds_total") > 0
    # Totals of stored data:
    assert of_sqlite.values("feedkeep_feeds", "health") == {"new", "read", "failing"}
    assert of_sqlite.values("feedkeep_sessions", "purpose") == {"apps", "pages"}
    assert "feedkeep_accounts " in of_sqlite.text
    assert "feedkeep_history_states " in of_sqlite.text


def test_sizes_of_the_files_whether_they_are_there_and_the_last_backup_are_told(sqlite, tmp_path):
    found = scrape(sqlite.urls[0])
    for name, file in (("file", "feedkeep.db"), ("wal", "feedkeep.db-wal")):
        size = (sqlite.process.folder / file).stat().st_size
        assert found.of(f"feedkeep_sqlite_{name}_bytes") == size > 0
    assert found.of("feedkeep_sqlite_free_bytes") > 0
    assert "postgres" not in found.text

    url, name = sqlite.urls[0], "feedkeep_last_backup_timestamp_seconds"
    assert (found.of("feedkeep_ready"), found.of(name)) == (1, 0)
    file, elsewhere = (sqlite.process.folder / name for name in ("feedkeep.db", "elsewhere.db"))
    file.rename(elsewhere)
    once(url, lambda found: found.of("feedkeep_ready") == 0)
    elsewhere.rename(file)
    once(url, lambda found: found.of("feedkeep_ready") == 1)

    began = time.time()
    sqlite.process.must("backup", str(tmp_path / "copy.db"))
    found = once(url, lambda found: found.of(name) > 0)
    assert began - 1 < found.of(name) < time.time() + 1


@pytest.mark.parametrize("right", first_of("INSERT", "SELECT", "UPDATE", "DELETE"))
def test_service_without_a_right_is_not_ready_until_it_has_it(tmp_path, postgres, right):
    database = new_database(postgres)
    rights = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA feedkeep"
    role = "reader_" + urlsplit(database).path[1:]
    owner = FeedkeepProcess(tmp_path, database)
    assert owner.run("migrate").returncode == 0
    for statement in ("CREATE ROLE {} LOGIN", "GRANT USAGE ON SCHEMA feedkeep TO {}"):
        execute(database, statement.format(role))
    execute(database, f"GRANT {rights} TO {role}")
    of_role = urlsplit(database)
    url = urlunsplit(of_role._replace(netloc=f"{role}@{of_role.hostname}:{of_role.port}"))
    with FeedkeepProcess(tmp_path, url, metrics_port="0") as process:
        [metrics] = metrics_urls(process)
        assert scrape(metrics).of("feedkeep_ready") == 1
        execute(database, f"REVOKE {right} ON feedkeep.entry FROM {role}")
        once(metrics, lambda found: found.of("feedkeep_ready") == 0)
        assert httpx.get(f"{process.base_url}/readyz").status_code == 200
        execute(database, f"GRANT {right} ON feedkeep.entry TO {role}")
        once(metrics, lambda found: found.of("feedkeep_ready") == 1)
    execute(database, f"DROP OWNED BY {role}")
    execute(database, f"DROP ROLE {role}")
    drop_database(postgres, database)


def test_each_worker_tells_of_itself_and_its_successor_has_its_port(two_workers):
    process, urls = two_workers.process, two_workers.urls
    assert len(set(urls)) == 2
    for _ in range(60):  # each on a connection of its own, which the kernel gives to either
        assert httpx.get(f"{process.base_url}/livez").status_code == 200
    deadline = time.monotonic() + 30
    each = [0, 0]
    while sum(each) < 60 and time.monotonic() < deadline:  # replies are shared for a second
        found = [scrape(url) for url in urls]
        each = [one.of(REQUESTS, route="/livez", status="200") for one in found]
    assert sum(each) == 60
    assert min(each) > 0
    for one in found:
        assert one.of("feedkeep_build_info", database="PostgreSQL") == 1
        most = one.of("feedkeep_postgres_max_connections")
        assert 0 <= one.of("feedkeep_postgres_connections") <= most == 8
    assert "feedkeep_accounts" not in found[1].text

    starts = {one.of("process_start_time_seconds") for one in found}
    os.kill(min(process.workers()), signal.SIGKILL)
    process.wait_for_line("worker died")
    after = {scrape(url).of("process_start_time_seconds") for url in urls}
    assert len(after - starts) == 1


def test_port_that_is_taken_is_told_at_the_start(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = FeedkeepProcess(tmp_path, metrics_port=str(port)).run("serve", "--port", "0")
    assert done.returncode == 1
    assert f"Cannot listen on 127.0.0.1 port {port}" in done.stderr


def test_page_is_the_only_one_is_read_only_and_shared_by_those_who_ask_at_once(sqlite):
    [url] = sqlite.urls
    head = httpx.head(url)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/plain; version=")
    assert httpx.post(url).status_code == 405
    for elsewhere in (url.replace("/metrics", "/"), f"{sqlite.process.base_url}/metrics"):
        assert httpx.get(elsewhere).status_code == 404
    assert len({httpx.get(url).text for _ in range(20)}) < 10


def test_strangers_who_hold_all_connections_keep_no_client_out_and_no_stop_up(tmp_path):
    told = FeedkeepProcess(tmp_path, metrics_port="0")
    told.start()
    url = httpx.URL(metrics_urls(told)[0])
    held = []
    for _ in range(METRICS_CONNECTIONS + 4):
        held.append(socket.create_connection((url.host, url.port), timeout=20))
        held[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
    assert httpx.get(url, timeout=20).status_code == 200
    readable, _, _ = select.select(held, [], [], 0)
    assert len(readable) >= 5  # these were closed for others
    assert told.stop() == 0
    for one in held:
        one.close()


def test_process_that_only_looks_tells_of_its_looks(tmp_path, postgres):
    database = new_database(postgres)
    looking = FeedkeepProcess(tmp_path, database, fetch="public", metrics_port="0")
    looking.process = looking._launched("fetch")  # which serves no requests
    with ExitStack() as stack:
        stack.push(looking)
        while "Fetching" not in "".join(looking.printed):
            looking.printed.append(looking.process.stdout.readline())
            assert looking.printed[-1], looking.log.read_text()
        found = scrape(*metrics_urls(looking))
    assert found.of("feedkeep_build_info", database="PostgreSQL") == 1
    assert found.values("feedkeep_fetches_total", "result") >= {"read", "crashed"}
    assert "feedkeep_accounts" not in found.text
    drop_database(postgres, database)
