"""Starting while PostgreSQL is away: `serve` waits for it, unless waiting is of no use."""

import contextlib
import os
import signal
import socket
import ssl
import threading
import time

import httpx
import pytest
import trustme
from feedkeep_process import FeedkeepProcess
from forms import first_of, in_the_long_form
from postgres_server import PostgresServer, execute
from running_services import refusal, until

WAITING = "waiting for the database"
CANNOT_BE_USED = "The PostgreSQL database cannot be used now: "
SOON_SECONDS = 20


@pytest.fixture
def server():
    with PostgresServer() as server:
        yield server


def until_it_waits(process):
    until(process.log.exists)
    process.wait_for_line(WAITING)


@contextlib.contextmanager
def starting(process):
    """Start a service in a thread, since it may take until something else happens."""
    thread = threading.Thread(target=process.start, daemon=True)
    thread.start()
    until_it_waits(process)
    yield
    thread.join()


@pytest.mark.parametrize("workers", first_of("2", "1"))
def test_serve_waits_for_the_database(tmp_path, server, manager, workers):
    server.stop()
    public_url = "https://site.example/home"
    process = FeedkeepProcess(tmp_path, server.url, workers=workers, public_url=public_url)
    with starting(manager.of(process)):
        assert manager.is_silent_for(0.5)  # it is not ready yet
        [port] = process.ports()
        places = (("/livez", 200), ("/home/livez", 200), ("/readyz", 503), ("/subscriptions", 503))
        for path, status in places:
            reply = httpx.get(f"http://127.0.0.1:{port}{path}")
            assert reply.status_code == status, path
        assert (reply.json()["code"], reply.headers["retry-after"]) == ("503", "5")
        server.start()
    manager.wait_for("READY=1")
    process.wait_until_ready()
    assert process.stop() == 0
    assert "duration_seconds" in process.wait_for_line("database available")
    reason = process.wait_for_line(WAITING)["reason"]
    assert str(reason).startswith(CANNOT_BE_USED)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_waits_ends_at_once_when_told_to(tmp_path, server, number):
    command = "serve" if number == signal.SIGTERM else "fetch"
    server.stop()
    process = FeedkeepProcess(tmp_path, server.url, fetch="all", port="0")
    process.process = process._launched(command)
    until_it_waits(process)
    since = time.monotonic()
    assert process.stop(number) == 0
    assert time.monotonic() - since < SOON_SECONDS


def test_fetch_waits_too_and_other_commands_do_not(tmp_path, server):
    server.stop()
    process = FeedkeepProcess(tmp_path, server.url, fetch="all")
    assert refusal(process, "account", "list").startswith(CANNOT_BE_USED)
    process.process = process._launched("fetch")
    until_it_waits(process)
    server.start()
    assert process.process.stdout.readline().startswith("Fetching the feeds")
    assert process.stop() == 0


def test_a_server_that_takes_no_writes_yet_is_waited_for(tmp_path, server):
    with server.standby() as standby:
        process = FeedkeepProcess(tmp_path, standby.url)
        with starting(process):
            server.stop(signal.SIGKILL)
            execute(standby.url, "SELECT pg_promote()")
        process.wait_until_ready()
        assert process.stop() == 0


@in_the_long_form
def test_a_worker_whose_database_went_away_waits_in_the_place_of_one_that_died(tmp_path, server):
    process = FeedkeepProcess(tmp_path, server.url, workers="2")
    with process:
        process.wait_for_workers(2)
        server.stop()
        first, _ = process.workers()
        os.kill(first, signal.SIGKILL)
        process.wait_for_line(WAITING)
        server.start()
        process.wait_for_workers(2)
    assert process.log.read_text().count("worker died") == 1


def test_a_wrong_password_or_name_is_told_at_once(tmp_path, server):
    execute(server.url, "CREATE ROLE known LOGIN PASSWORD 'right'")
    rules = server.data / "pg_hba.conf"
    rules.write_text("host all known 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
    server.stop()  # a reload returns before every process has read the file
    server.start()
    known = server.url.replace("feedkeep@", "known:wrong@")
    for url, reason in (
        (known, "password authentication failed"),
        (server.url.replace("feedkeep@", "stranger@"), "does not exist"),
        (server.url.replace("/postgres", "/nothing"), "does not exist"),
        (known.replace("wrong", "right"), "permission denied"),
    ):
        for command in ("serve", "fetch"):
            told = refusal(FeedkeepProcess(tmp_path, url, fetch="all", port="0"), command)
            assert told.startswith(CANNOT_BE_USED)
            assert reason in told


@contextlib.contextmanager
def of_another_authority(folder):
    """Stand for a server of PostgreSQL up to its handshake of TLS; gives its port."""
    file = folder / "both.pem"
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.private_key_and_cert_chain_pem.write_to_path(file)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    listener = socket.create_server(("127.0.0.1", 0))

    def shake_hands():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # the test is over
                return
            with client, contextlib.suppress(OSError):
                client.recv(8)  # PostgreSQL's question for TLS
                client.sendall(b"S")
                context.wrap_socket(client, server_side=True).close()

    thread = threading.Thread(target=shake_hands)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def test_a_certificate_that_is_not_the_servers_is_told_at_once(tmp_path):
    trusted = tmp_path / "another_authority.pem"
    trustme.CA().cert_pem.write_to_path(trusted)
    with of_another_authority(tmp_path) as port:
        url = f"postgresql://me@127.0.0.1:{port}/mine?sslmode=verify-full&sslrootcert={trusted}"
        told = refusal(FeedkeepProcess(tmp_path, url, port="0"), "serve")
    assert "certificate verify failed" in told
