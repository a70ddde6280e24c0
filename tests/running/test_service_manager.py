"""What the service tells its service manager, and what it takes from it: signs, and a socket."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import trustme
from feedkeep_process import FEEDKEEP, DidNotStart, FeedkeepProcess
from forms import in_the_long_form
from postgres_server import PostgresServer

INTERVAL_SECONDS = 0.25
WATCHDOG_USEC = str(int(2 * INTERVAL_SECONDS * 1_000_000))

# As systemd does, it leaves the number of the process that is to take the socket.
WITH_A_SOCKET = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


class Manager:
    """Stands for systemd: it hears the signs of a service."""

    def __init__(self, address: str) -> None:
        self.heard: list[str] = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(30)

    def wait_for(self, sign: str) -> None:
        """Take signs until there is this one."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.heard.append(self.socket.recv(100).decode())
            if self.heard[-1] == sign:
                return
        pytest.fail(f"it never said {sign}, but {self.heard}")

    def forget(self) -> None:
        """Take all signs that are there."""
        self.socket.setblocking(False)
        try:
            while True:
                self.socket.recv(100)
        except BlockingIOError:
            self.socket.settimeout(30)

    def is_silent_for(self, seconds: float) -> bool:
        self.socket.settimeout(seconds)
        try:
            self.socket.recv(100)
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(30)
        return False


@pytest.fixture
def manager(tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    yield manager
    manager.socket.close()


def managed(process: FeedkeepProcess, address: str, watchdog: str = "") -> FeedkeepProcess:
    process.environment["NOTIFY_SOCKET"] = address
    if watchdog:
        process.environment["WATCHDOG_USEC"] = watchdog
    return process


def status_of(process: FeedkeepProcess, path: str) -> int:
    return httpx.get(process.base_url + path).status_code


def until_not_ready(process: FeedkeepProcess) -> None:
    deadline = time.monotonic() + 20
    while status_of(process, "/readyz") != 503:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def hold(pid: int) -> None:
    """Stop a process for a while; it does nothing more once this returns (proc(5))."""
    os.kill(pid, signal.SIGSTOP)
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.001)


def test_it_is_ready_when_it_answers_and_says_when_it_stops(tmp_path, manager):
    process = managed(FeedkeepProcess(tmp_path, is_from_nothing=True), str(tmp_path / "notify"))
    with process:
        manager.wait_for("READY=1")
        assert status_of(process, "/readyz") == 200
        process.process.send_signal(signal.SIGTERM)
        manager.wait_for("STOPPING=1")
    assert manager.heard == ["READY=1", "STOPPING=1"]  # no watchdog was asked for


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_says_that_it_stops_before_it_turns_clients_away(tmp_path, manager, number):
    process = FeedkeepProcess(tmp_path, drain_seconds="300")
    with managed(process, str(tmp_path / "notify"), WATCHDOG_USEC):
        manager.wait_for("READY=1")
        process.process.send_signal(number)
        manager.wait_for("STOPPING=1")
        until_not_ready(process)
        manager.forget()
        assert manager.is_silent_for(2 * INTERVAL_SECONDS)  # whose watchdog is over by then


def test_an_abstract_name_is_understood(tmp_path):
    name = f"feedkeep-test-{os.getpid()}"
    manager = Manager(f"\0{name}")
    with managed(FeedkeepProcess(tmp_path), f"@{name}"):
        manager.wait_for("READY=1")
    manager.socket.close()


@pytest.mark.parametrize("address", ["/nothing/listens/here", "vsock:2:1234"])
def test_a_manager_that_cannot_be_told_does_not_keep_it_from_serving(tmp_path, address):
    with managed(FeedkeepProcess(tmp_path), address, "not a number") as process:
        assert status_of(process, "/readyz") == 200


@in_the_long_form
def test_the_watchdog_of_another_process_is_not_its_own(tmp_path, manager):
    process = managed(FeedkeepProcess(tmp_path), str(tmp_path / "notify"), WATCHDOG_USEC)
    process.environment["WATCHDOG_PID"] = str(os.getpid())
    with process:
        manager.wait_for("READY=1")
        assert manager.is_silent_for(2 * INTERVAL_SECONDS)


@in_the_long_form
def test_the_watchdog_is_fed_while_the_store_does_not_answer(tmp_path, manager):
    process = managed(FeedkeepProcess(tmp_path), str(tmp_path / "notify"), WATCHDOG_USEC)
    with process:
        manager.wait_for("READY=1")
        file, elsewhere = tmp_path / "feedkeep.db", tmp_path / "elsewhere"
        file.rename(elsewhere)
        until_not_ready(process)
        manager.forget()
        for _ in range(3):
            manager.wait_for("WATCHDOG=1")
        assert status_of(process, "/readyz") == 503
        hold(process.process.pid)
        manager.forget()
        assert manager.is_silent_for(4 * INTERVAL_SECONDS)
        os.kill(process.process.pid, signal.SIGCONT)
        elsewhere.rename(file)
        manager.wait_for("WATCHDOG=1")
    assert manager.heard.count("READY=1") == 1


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_worker_that_hangs_is_replaced_and_the_watchdog_is_fed_all_the_while(
    tmp_path, manager, request, store
):
    database = request.getfixturevalue("postgres") if store == "postgres" else ""
    process = FeedkeepProcess(tmp_path, database, workers="2")
    process.run_first("hung_workers_end_soon")
    with managed(process, str(tmp_path / "notify"), WATCHDOG_USEC):
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

    def __init__(
        self, folder: Path, handed: socket.socket, *, count: str = "1", **more: str
    ) -> None:
        super().__init__(folder, more.pop("database", ""), **more)
        self.handed = handed
        self.environment["LISTEN_FDS"] = count

    def _launched(self, *arguments: str) -> subprocess.Popen[str]:
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
    """What systemd holds open."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def asked(listener: socket.socket) -> socket.socket:
    """Return a connection that has sent a request, and is in no process yet."""
    client = socket.create_connection(listener.getsockname(), timeout=30)
    client.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return client


def answer(client: socket.socket) -> bytes:
    with client:
        return b"".join(iter(lambda: client.recv(65_536), b""))


def test_what_waits_at_the_socket_before_and_between_starts_is_answered(tmp_path, listener):
    process = Activated(tmp_path, listener)
    for _ in range(2):
        client = asked(listener)
        with process:
            assert answer(client).startswith(b"HTTP/1.1 200 ")
            host, port = listener.getsockname()
            assert process.base_url == f"http://{host}:{port}"


@in_the_long_form
def test_several_workers_share_the_socket_that_was_handed_over(tmp_path, listener):
    with PostgresServer() as server:
        process = Activated(tmp_path, listener, database=server.url, workers="2")
        client = asked(listener)
        with process:
            process.wait_for_workers(2)
            assert answer(client).startswith(b"HTTP/1.1 200 ")
            one, other = process.workers()
            for pid in (one, other):  # each of them answers, if it is alone
                hold(pid)
                assert answer(asked(listener)).startswith(b"HTTP/1.1 200 ")
                os.kill(pid, signal.SIGCONT)
        assert answer_after_a_start(process, asked(listener)).startswith(b"HTTP/1.1 200 ")


def answer_after_a_start(process: FeedkeepProcess, client: socket.socket) -> bytes:
    with process:
        return answer(client)


def test_the_socket_that_was_handed_over_speaks_tls_as_its_own_would(tmp_path, listener):
    authority = trustme.CA()
    certificate = tmp_path / "both.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with Activated(tmp_path, listener, tls_cert=str(certificate)) as process:
        assert process.base_url.startswith("https://")
        assert httpx.get(f"{process.base_url}/readyz", verify=context).status_code == 200


def test_a_socket_for_another_process_is_left_alone(tmp_path, listener):
    process = FeedkeepProcess(tmp_path)
    process.environment |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
    with process:
        assert status_of(process, "/readyz") == 200


def refusal(process: FeedkeepProcess) -> str:
    with pytest.raises(DidNotStart) as refused:
        process.start()
    assert process.wait() == 1
    return str(refused.value)


def test_what_is_not_one_listening_socket_is_refused_with_a_reason(tmp_path, listener):
    assert "Started with 2 sockets" in refusal(Activated(tmp_path, listener, count="2"))
    with socket.socket() as deaf:
        assert "does not listen" in refusal(Activated(tmp_path, deaf))
    with socket.socket(socket.AF_UNIX) as local:
        local.bind(str(tmp_path / "local"))
        local.listen()
        assert "not one of TCP" in refusal(Activated(tmp_path, local))
    with (tmp_path / "file").open("w") as file:
        process = Activated(tmp_path, listener)
        process.handed = file  # type: ignore[assignment]
        assert "without the socket that was promised" in refusal(process)
