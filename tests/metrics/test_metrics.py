"""What Prometheus is told, over HTTP, by real processes."""

import os
import re
import select
import signal
import socket
import time
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of, in_the_long_form
from postgres_server import drop_database, execute, new_database
from told_metrics import (
    ELSEWHERE,
    FEED,
    metrics_urls,
    once,
    once_counted,
    scrape,
    some_traffic,
)

from feedkeep import __version__
from feedkeep.http.serving.server import METRICS_CONNECTIONS

REQUESTS = "feedkeep_http_requests_total"
SECONDS = "feedkeep_http_request_duration_seconds_count"


def test_without_the_setting_nothing_is_told_and_nothing_else_listens(tmp_path):
    with FeedkeepProcess(tmp_path) as process:
        assert [line for line in process.printed if "etrics" in line] == []
        assert httpx.get(f"{process.base_url}/metrics").status_code == 404
        assert len(process.ports()) == 1


def test_requests_are_counted_by_route_method_and_status(of_sqlite):
    for labels, count in (
        ({"route": "/subscriptions", "method": "POST", "status": "200"}, 1),
        ({"route": "/subscriptions/{guid}", "method": "GET", "status": "200"}, 1),
        ({"route": "/subscriptions", "method": "GET", "status": "405"}, 1),
        ({"route": "/subscriptions", "method": "GET", "status": "401"}, 1),
        ({"route": "/api/2/devices/{user}.json", "method": "GET", "status": "200"}, 1),
    ):
        assert of_sqlite.of(REQUESTS, **labels) == count, labels
    assert of_sqlite.of(SECONDS, route="/subscriptions", method="GET") == 2
    assert of_sqlite.of(SECONDS) == of_sqlite.of(REQUESTS)
    name = "feedkeep_http_request_duration_seconds"
    assert of_sqlite.of(f"{name}_bucket", le="10.0") == of_sqlite.of(REQUESTS)
    assert 0 < of_sqlite.of(f"{name}_sum") < 10 * of_sqlite.of(REQUESTS)


def test_whatever_strangers_try_is_one_route_and_one_method(of_sqlite):
    assert of_sqlite.of(REQUESTS, route="none", method="GET", status="404") == 2
    assert of_sqlite.of(REQUESTS, route="none", method="other", status="404") == 1
    assert of_sqlite.of(REQUESTS, route="/subscriptions", method="other") == 1
    known = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"}
    assert of_sqlite.values(REQUESTS, "method") <= known


@pytest.mark.parametrize("kind", ["told", "told_by_two"])
def test_no_account_no_url_and_no_address_is_told(kind, request):
    process: FeedkeepProcess = request.getfixturevalue(kind)
    name = some_traffic(process)
    found = [scrape(url) for url in metrics_urls(process)]
    assert sum(one.of(REQUESTS) for one in found) == 9
    for text in (one.text.replace("feedkeep_http_", "") for one in found):
        for private in (name, FEED, "podcast", "http", "where", "yesterday", *ELSEWHERE.values()):
            assert private not in text
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


def test_the_sizes_of_the_files_are_those_of_the_files(told):
    some_traffic(told)
    found = scrape(metrics_urls(told)[0])
    file = told.folder / "feedkeep.db"
    log = told.folder / "feedkeep.db-wal"
    assert found.of("feedkeep_sqlite_file_bytes") == file.stat().st_size > 0
    assert found.of("feedkeep_sqlite_wal_bytes") == log.stat().st_size > 0
    assert found.of("feedkeep_sqlite_free_bytes") > 0
    assert "postgres" not in found.text


def test_a_service_without_its_file_is_not_ready_until_it_is_back(told):
    url = metrics_urls(told)[0]
    assert scrape(url).of("feedkeep_ready") == 1
    file, elsewhere = told.folder / "feedkeep.db", told.folder / "elsewhere.db"
    file.rename(elsewhere)
    once(url, lambda found: found.of("feedkeep_ready") == 0)
    elsewhere.rename(file)
    once(url, lambda found: found.of("feedkeep_ready") == 1)


def test_the_last_backup_is_told(told):
    url, name = metrics_urls(told)[0], "feedkeep_last_backup_timestamp_seconds"
    assert scrape(url).of(name) == 0
    began = time.time()
    assert told.run("backup", str(told.folder / "copy.db")).returncode == 0
    found = once(url, lambda found: found.of(name) > 0)
    assert began - 1 < found.of(name) < time.time() + 1


@pytest.mark.parametrize("right", first_of("INSERT", "SELECT", "UPDATE", "DELETE"))
def test_a_service_without_a_right_is_not_ready_until_it_has_it(tmp_path, postgres, right):
    database = new_database(postgres)
    rights = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA feedkeep"
    role = "reader_" + urlsplit(database).path[1:]
    owner = FeedkeepProcess(tmp_path, database)
    assert owner.run("migrate").returncode == 0
    for statement in (
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE ON SCHEMA feedkeep TO {role}",
        f"GRANT {rights} TO {role}",
    ):
        execute(database, statement)
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


def test_what_is_stored_is_told(of_sqlite):
    assert of_sqlite.values("feedkeep_feeds", "health") == {"new", "read", "failing"}
    assert of_sqlite.values("feedkeep_sessions", "purpose") == {"apps", "pages"}
    assert "feedkeep_accounts " in of_sqlite.text
    assert "feedkeep_history_states " in of_sqlite.text


def test_each_worker_tells_of_itself_and_their_sum_is_all(told_by_two):
    urls = metrics_urls(told_by_two)
    assert len(set(urls)) == 2
    for _ in range(60):  # each on a connection of its own, which the kernel gives to either
        assert httpx.get(f"{told_by_two.base_url}/livez").status_code == 200
    found = [scrape(url) for url in urls]
    each = [one.of(REQUESTS, route="/livez", status="200") for one in found]
    assert sum(each) == 60
    assert min(each) > 0
    assert all(one.of("feedkeep_build_info", database="PostgreSQL") == 1 for one in found)
    for one in found:
        most = one.of("feedkeep_postgres_max_connections")
        assert 0 <= one.of("feedkeep_postgres_connections") <= most == 8
    assert "feedkeep_accounts" in once_counted(urls[0]).text
    assert "feedkeep_accounts" not in scrape(urls[1]).text


@in_the_long_form
def test_the_successor_of_a_worker_has_its_port(told_by_two):
    before = set(told_by_two.workers())
    urls = metrics_urls(told_by_two)
    starts = {scrape(url).of("process_start_time_seconds") for url in urls}
    os.kill(min(before), signal.SIGKILL)
    told_by_two.wait_for_line("worker died")
    after = {scrape(url).of("process_start_time_seconds") for url in urls}
    assert len(after - starts) == 1


def test_a_port_that_is_taken_is_told_at_the_start(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = FeedkeepProcess(tmp_path, metrics_port=str(port))
        done = process.run("serve", "--port", "0")
    assert done.returncode == 1
    assert f"Cannot listen on 127.0.0.1 port {port}" in done.stderr


def test_the_page_is_the_only_one_and_can_only_be_read(told):
    url = metrics_urls(told)[0]
    head = httpx.head(url)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/plain; version=")
    assert httpx.post(url).status_code == 405
    assert httpx.get(url.replace("/metrics", "/")).status_code == 404
    assert httpx.get(told.base_url + "/metrics").status_code == 404


def test_those_who_ask_at_once_share_an_answer(told):
    url = metrics_urls(told)[0]
    texts = {httpx.get(url).text for _ in range(20)}
    assert len(texts) < 10


def test_strangers_who_hold_all_connections_keep_no_client_out_and_no_stop_up(told):
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


def test_a_process_that_only_looks_tells_of_its_looks(tmp_path, postgres):
    database = new_database(postgres)
    looking = LookingProcess(tmp_path, database, fetch="public", metrics_port="0")
    with looking:
        [url] = metrics_urls(looking)
        found = scrape(url)
        assert found.of("feedkeep_build_info", database="PostgreSQL") == 1
        assert found.values("feedkeep_fetches_total", "result") >= {"read", "crashed"}
        assert "feedkeep_accounts" not in found.text
    drop_database(postgres, database)


class LookingProcess(FeedkeepProcess):
    """`feedkeep fetch`, which serves no requests."""

    def start(self) -> None:
        self.process = self._launched("fetch")
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed.append(line)
            if "Fetching" in line:
                return
        raise AssertionError(self.log.read_text())
