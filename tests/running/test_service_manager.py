"""Communication with the service manager: notifications, the watchdog, and a passed socket."""

import os
import signal
import socket
import ssl
import subprocess
import sys

import httpx
import pytest
import trustme
from feedkeep_process import FEEDKEEP, FeedkeepProcess
from forms import in_the_long_form
from running_services import WATCHDOG_USEC, Manager, hold, refused_start, rest, status_of, until

# As systemd does, it leaves the number of the process that is to take the socket.
WITH_A_SOCKET = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_it_is_ready_when_it_answers_and_says_when_it_stops(tmp_path, manager):
    with manager.of(FeedkeepProcess(tmp_path, is_from_nothing=True)) as process:
        manager.wait_for("READY=1")
        assert status_of(process) == 200
        process.process.send_signal(signal.SIGTERM)
        manager.wait_for("STOPPING=1")
    assert manager.heard == ["READY=1", "STOPPING=1"]  # no watchdog was asked for


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_says_that_it_stops_before_it_turns_clients_away(tmp_path, manager, number):
    with manager.of(FeedkeepProcess(tmp_path, drain_seconds="300"), WATCHDOG_USEC) as process:
        manager.wait_for("READY=1")
        process.process.send_signal(number)
        manager.wait_for("STOPPING=1")
        until(lambda: status_of(process) == 503)
        manager.forget()
        assert manager.is_silent_for()  # whose watchdog is over by then


def test_an_abstract_name_is_understood_and_another_process_has_its_watchdog(tmp_path):
    manager = Manager(f"\0feedkeep-test-{os.getpid()}")
    process = manager.of(FeedkeepProcess(tmp_path), WATCHDOG_USEC)
    process.environment["WATCHDOG_PID"] = str(os.getpid())
    with process:
        manager.wait_for("READY=1")
        assert manager.is_silent_for()
    manager.socket.close()


@pytest.mark.parametrize("address", ["/nothing/listens/here", "vsock:2:1234"])
def test_what_a_manager_says_in_vain_keeps_no_service_from_serving(tmp_path, address):
    process = FeedkeepProcess(tmp_path)
    process.environment |= {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "not a number"}
    process.environment |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}  # of another one
    with process:
        assert status_of(process) == 200


@in_the_long_form
def test_the_watchdog_is_fed_while_the_store_does_not_answer(tmp_path, manager):
    with manager.of(FeedkeepProcess(tmp_path), WATCHDOG_USEC) as process:
        manager.wait_for("READY=1")
        file, elsewhere = tmp_path / "feedkeep.db", tmp_path / "elsewhere"
        file.rename(elsewhere)
        until(lambda: status_of(process) == 503)
        manager.forget()
        for _ in range(3):
            manager.wait_for("WATCHDOG=1")
        assert status_of(process) == 503
        hold(process.process.pid)
        manager.forget()
        assert manager.is_silent_for(1)
        os.kill(process.process.pid, signal.SIGCONT)
        elsewhere.rename(file)
        manager.wait_for("WATCHDOG=1")
    assert manager.heard.count("READY=1") == 1


def test_a_worker_that_hangs_is_replaced_and_the_watchdog_is_fed(tmp_path, manager):
    process = FeedkeepProcess(tmp_path, workers="2")
    process.run_first("hung_workers_end_soon")
    with manager.of(process, WATCHDOG_USEC):
        manager.wait_for("READY=1")
        hung, _ = process.workers()
        hold(hung)
        manager.forget()
        manager.wait_for("WATCHDOG=1")
        # On a busy machine, the other worker can seem to hang, too.
        process.wait_for_line("worker hangs; killing it", f'"pid":{hung}')
        process.wait_for_line("worker died")
        manager.wait_for("READY=1")  # all of them are, once another one has taken its place
        process.wait_for_workers(2)
        assert hung not in process.workers()
        process.process.send_signal(signal.SIGTERM)
        manager.wait_for("STOPPING=1")


class Activated(FeedkeepProcess):
    """A service that is started with a socket, as systemd starts it."""

    def __init__(self, folder, handed, *, count="1", **settings):
        super().__init__(folder, **settings)
        self.handed = handed
        self.environment["LISTEN_FDS"] = count

    def _launched(self, *arguments):
        number = str(self.handed.fileno())
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", WITH_A_SOCKET, number, FEEDKEEP, *arguments],
                env=self.environment,
                pass_fds=[self.handed.fileno()],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )


@pytest.fixture
def listener():
    """Socket that systemd holds open."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def asked(listener):
    """Return a connection that has sent a request, and is in no process yet."""
    client = socket.create_connection(listener.getsockname(), timeout=30)
    client.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return client


def is_answered(client):
    with client:
        return rest(client).startswith(b"HTTP/1.1 200 ")


def test_what_waits_at_the_socket_before_and_between_starts_is_answered(tmp_path, listener):
    process = Activated(tmp_path, listener)
    for _ in range(2):
        client = asked(listener)
        with process:
            assert is_answered(client)
            host, port = listener.getsockname()
            assert process.base_url == f"http://{host}:{port}"


@in_the_long_form
def test_several_workers_share_the_socket_that_was_handed_over(tmp_path, listener):
    process = Activated(tmp_path, listener, workers="2")
    client = asked(listener)
    with process:
        process.wait_for_workers(2)
        assert is_answered(client)
        for pid in process.workers():  # each of them answers, if it is alone
            hold(pid)
            assert is_answered(asked(listener))
            os.kill(pid, signal.SIGCONT)
    client = asked(listener)
    with process:
        assert is_answered(client)


def test_the_socket_that_was_handed_over_speaks_tls_as_its_own_would(tmp_path, listener):
    authority = trustme.CA()
    certificate = tmp_path / "both.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with Activated(tmp_path, listener, tls_cert=str(certificate)) as process:
        assert process.base_url.startswith("https://")
        assert httpx.get(f"{process.base_url}/readyz", verify=context).status_code == 200


def test_what_is_not_one_listening_socket_is_refused_with_a_reason(tmp_path, listener):
    assert "Started with 2 sockets" in refused_start(Activated(tmp_path, listener, count="2"))
    with socket.socket() as deaf:
        assert "does not listen" in refused_start(Activated(tmp_path, deaf))
    with socket.socket(socket.AF_UNIX) as local:
        local.bind(str(tmp_path / "local"))
        local.listen()
        assert "not one of TCP" in refused_start(Activated(tmp_path, local))
    with (tmp_path / "file").open("w") as file:
        process = Activated(tmp_path, listener)
        process.handed = file
        assert "without the socket that was promised" in refused_start(process)
