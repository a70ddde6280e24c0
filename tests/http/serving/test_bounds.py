"""What a client may send, and how long it may take: no client fills the memory or stops others."""

import select
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
import trustme
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, first_of
from process_memory import memory_bytes

from feedkeep.http.serving.server import OTHER_FILES, connections_within

HEAD = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
LARGEST = 16 * 1024
CONNECTIONS = 1_500 if IS_FULL else 500


@contextmanager
def connected(process: FeedkeepProcess) -> Iterator[socket.socket]:
    url = httpx.URL(process.base_url)
    with socket.create_connection((url.host, url.port or 80), timeout=20) as connection:
        yield connection


def reply_to(process: FeedkeepProcess, sent: bytes) -> bytes:
    """Send bytes, and return all that comes back until the service closes the connection."""
    with connected(process) as connection:
        with suppress(ConnectionError):
            connection.sendall(sent)
        return until_closed(connection)


def until_closed(connection: socket.socket) -> bytes:
    reply = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            reply += piece
    return reply


# C1.6
def test_headers_up_to_the_bound_are_read(feedkeep):
    filler = b"X-Filler: " + b"x" * (LARGEST - 200) + b"\r\n"
    reply = reply_to(feedkeep, HEAD + filler + b"Connection: close\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 200 ")


# C1.6
def test_headers_up_to_their_maximum_number_are_read(feedkeep):
    most = HEAD + b"a:b\r\n" * 98
    assert reply_to(feedkeep, most + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert reply_to(feedkeep, most + b"a:b\r\n" * 2 + b"\r\n").startswith(b"HTTP/1.1 431 ")


# C1.6
@pytest.mark.parametrize(
    "sent",
    [
        HEAD + b"X-Filler: " + b"x" * LARGEST + b"\r\n\r\n",
        HEAD + b"X-Filler: x\r\n" * (LARGEST // 10) + b"\r\n",
        b"GET /" + b"x" * LARGEST + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        HEAD + b"X-Filler: " + b"x" * (10 * LARGEST),
    ],
    ids=["one header", "many headers", "a URL", "a header without an end"],
)
def test_larger_heads_are_refused_in_the_shape_of_errors(feedkeep, sent):
    reply = reply_to(feedkeep, sent)
    assert reply.startswith(b"HTTP/1.1 431 ")
    assert reply.endswith(
        b'{"code":"431","message":"The request\'s headers are too large.'
        b' At most 100 of them are read, and 16,384 bytes."}'
    )
    assert httpx.get(f"{feedkeep.base_url}/livez").status_code == 200


def test_a_trailer_without_an_end_is_refused(feedkeep):
    token = feedkeep.new_token(feedkeep.new_account())
    head = (
        f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nX-Filler: "
    )
    reply = reply_to(feedkeep, head.encode() + b"x" * (40 * LARGEST))
    assert reply.startswith(b"HTTP/1.1 431 ") or reply == b""  # cut while it was sending


# C1.7
def test_clients_that_keep_it_waiting_are_cut_and_the_others_are_not(impatient):
    name = impatient.new_account()
    token = impatient.new_token(name)
    slow = [
        b"",
        b"GET /livez HTT",
        HEAD,
        b"\r\n",
        f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        'Content-Length: 99\r\n\r\n{"subscriptions":['.encode(),
        HEAD + b"\r\n" + HEAD,  # after a whole request, half of the next one
    ]
    started = time.monotonic()
    with ExitStack() as stack, impatient.client(name) as patient:
        connections = [stack.enter_context(connected(impatient)) for _ in slow]
        for connection, sent in zip(connections, slow, strict=True):
            connection.sendall(sent)
        assert patient.get("/subscriptions").status_code == 200
        for connection in connections:
            until_closed(connection)
        assert 1 <= time.monotonic() - started < 6
        used = patient.get("/subscriptions")
        assert used.status_code == 200


def test_a_defect_in_looking_for_slow_clients_is_logged_and_spares_none_of_the_others(tmp_path):
    process = FeedkeepProcess(tmp_path)
    process.run_first("patience_is_short", "looking_for_slow_replies_fails")
    with process, connected(process) as connection:
        connection.sendall(HEAD)
        assert until_closed(connection).startswith(b"HTTP/1.1 408 ")
    log = process.log.read_text()
    assert '"event":"cannot abort a connection"' in log
    assert "ZeroDivisionError" in log


def test_a_client_that_sends_a_little_all_the_time_is_cut_too(impatient):
    started = time.monotonic()
    with connected(impatient) as connection, suppress(ConnectionError):
        while time.monotonic() - started < 10:
            connection.sendall(b"X")
            time.sleep(0.1)
    assert time.monotonic() - started < 6


# C1.7
def test_a_client_that_does_not_read_its_reply_is_cut(impatient):
    name = impatient.new_account()
    items = [{"feed_url": f"https://{number}.example/{'x' * 4_000}"} for number in range(900)]
    with impatient.client(name) as client:
        assert client.post("/subscriptions", json={"subscriptions": items}).status_code == 200
    request = (
        "GET /subscriptions?per_page=1000 HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {impatient.new_token(name)}\r\n\r\n"
    ).encode()
    with connected(impatient) as connection:
        connection.sendall(request * 4)
        was_cut = select.poll()
        was_cut.register(connection, select.POLLERR | select.POLLHUP)  # whatever can be read
        assert was_cut.poll(20_000)
        assert len(until_closed(connection)) < 4 * 3_600_000


def test_a_client_that_reads_a_little_all_the_time_is_not_cut(impatient):
    url = httpx.URL(impatient.base_url)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)  # before it connects
        connection.settimeout(20)
        connection.connect((url.host, url.port))
        get = b"GET /docs HTTP/1.1\r\nHost: x\r\n\r\n"
        connection.sendall(get * 4)
        for _ in range(30):  # for three times as long as others may read nothing
            assert connection.recv(2_000)
            time.sleep(0.1)


def test_a_reply_without_room_is_logged_as_what_was_sent(tmp_path):
    bounds = {"max_body_bytes": "1500000", "max_in_flight_bytes": "2000000"}
    with FeedkeepProcess(tmp_path, **bounds) as process, connected(process) as unread:
        name = process.new_account()
        path = "/subscriptions?per_page=1000"
        items = [{"feed_url": f"https://{n}.example/{'x' * 4_000}"} for n in range(300)]
        with process.client(name) as client:
            assert client.post("/subscriptions", json={"subscriptions": items}).status_code == 200
            unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
            unread.sendall(f"{head}{process.new_token(name)}\r\n\r\n".encode())
            assert unread.recv(1)
            # One is refused when it is made, and one when its texts are known.
            for asked in (path, f"/subscriptions/{name}.txt"):
                refused = client.get(asked, headers={"Accept-Encoding": "identity"})
                assert refused.status_code == 503
                line = process.wait_for_line(refused.headers["X-Request-Id"])
                assert (line["status"], line["level"]) == (503, "warning")
                assert "max_in_flight_bytes" in str(line["reason"])


def test_idle_clients_make_room_when_there_is_none_left(tmp_path):
    process = FeedkeepProcess(tmp_path)
    process.run_first("few_places")
    with process, ExitStack() as stack:
        name = process.new_account()
        first = stack.enter_context(process.client(name))
        assert first.get("/subscriptions").status_code == 200
        for _ in range(400):
            stack.enter_context(connected(process))
        assert httpx.get(f"{process.base_url}/livez").status_code == 200
        with process.client(name) as last:
            assert last.get("/subscriptions").status_code == 200


@pytest.mark.parametrize("files", [64, 100, 256, 1_024, 65_536])
def test_connections_within_a_file_limit_leave_files_for_the_rest(files):
    connections = connections_within(files, postgres_connections=8)
    assert files // 2 <= connections <= max(files // 2, files - OTHER_FILES - 8)


def test_a_huge_body_is_refused_without_being_kept(feedkeep):
    token = feedkeep.new_token(feedkeep.new_account())
    head = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    announced = reply_to(feedkeep, f"{head}Content-Length: {2**30}\r\n\r\n".encode() + b"x" * 99)
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    chunked = reply_to(feedkeep, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 8)
    assert announced.startswith(b"HTTP/1.1 413 ")
    assert chunked.startswith(b"HTTP/1.1 413 ") or chunked == b""  # the reply was not waited for


def test_few_requests_of_a_connection_wait_for_the_one_that_is_answered(feedkeep):
    # Each that waits takes some kilobytes: who sent thousands, and read nothing, took 80 MB.
    reply = reply_to(feedkeep, (HEAD + b"\r\n") * 5_000)
    assert reply.count(b"HTTP/1.1 200 ") < 100
    assert reply.count(b"HTTP/1.1 503 ") <= 1  # a client that sends on may see the end alone
    few = reply_to(feedkeep, (HEAD + b"\r\n") * 9 + HEAD + b"Connection: close\r\n\r\n")
    assert few.count(b"HTTP/1.1 200 ") == 10


def test_a_download_that_is_not_read_holds_no_file_besides_its_connection(tmp_path):
    with FeedkeepProcess(tmp_path) as process, ExitStack() as stack:
        files = Path(f"/proc/{process.process.pid}/fd")
        connections = [stack.enter_context(connected(process)) for _ in range(40)]
        for connection in connections:
            connection.sendall(b"GET /docs HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(8) == b"HTTP/1.1"
        assert len(list(files.iterdir())) < 2 * len(connections)


# HTTPS


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def certificate(authority, tmp_path):
    issued = authority.issue_cert("127.0.0.1")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    for pem in issued.cert_chain_pems:
        pem.write_to_path(cert, append=True)
    issued.private_key_pem.write_to_path(key)
    return cert, key


def test_it_serves_https_by_itself(tmp_path, authority, certificate):
    cert, key = certificate
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with FeedkeepProcess(tmp_path, tls_cert=str(cert), tls_key=str(key)) as process:
        assert process.base_url.startswith("https://")
        with httpx.Client(verify=trusting, timeout=30) as client:
            token = process.new_token(process.new_account())
            reply = client.get(
                f"{process.base_url}/subscriptions", headers={"Authorization": f"Bearer {token}"}
            )
            assert reply.json()["total"] == 0
            assert reply.http_version == "HTTP/1.1"
        with pytest.raises(httpx.HTTPError):
            httpx.get(process.base_url.replace("https", "http") + "/livez")


@pytest.mark.parametrize("has_tls", first_of(True, False))
def test_connections_that_are_closed_leave_no_more_memory_in_use_than_a_first_crowd(
    tmp_path, authority, certificate, has_tls
):
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    cert, key = map(str, certificate)
    request = HEAD + b"".join(b"%02x:%02x\r\n" % (n, n) for n in range(99)) + b"\r\n"
    settings = {"tls_cert": cert, "tls_key": key} if has_tls else {}
    with FeedkeepProcess(tmp_path, **settings) as process:
        while_open = []
        for _ in range(3):
            with ExitStack() as stack:
                for _ in range(CONNECTIONS):
                    client = stack.enter_context(connected(process))
                    if has_tls:
                        wrapped = trusting.wrap_socket(client, server_hostname="127.0.0.1")
                        client = stack.enter_context(wrapped)
                    client.sendall(request)
                    assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")
                while_open.append(memory_bytes(process, "VmRSS"))
        ends = time.monotonic() + 10  # a second is usual
        while memory_bytes(process, "VmRSS") > while_open[0]:
            assert time.monotonic() < ends, while_open
            time.sleep(0.1)


def test_a_stop_does_not_wait_for_idle_clients_to_agree_to_the_end_of_tls(
    tmp_path, authority, certificate
):
    cert, key = certificate
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with ExitStack() as stack:
        with FeedkeepProcess(tmp_path, tls_cert=str(cert), tls_key=str(key)) as process:
            connection = stack.enter_context(connected(process))
            idle = stack.enter_context(
                trusting.wrap_socket(connection, server_hostname="127.0.0.1")
            )
            idle.sendall(HEAD + b"\r\n")
            assert idle.recv(65_536)
            told_at = time.monotonic()
        assert time.monotonic() - told_at < 5  # the grace period is 8 seconds


def test_the_last_reply_ends_a_connection_of_tls_at_once(tmp_path, authority, certificate):
    """A client that reads to the end cannot see sooner that all has come."""
    cert, key = certificate
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    heads = [f"{method} /livez HTTP/1.1\r\nHost: x\r\n" for method in ("POST", "GET", "GET")]
    heads[0] += "Content-Length: 100000\r\n"
    heads[-1] += "Connection: close\r\n"
    sent = "\r\n".join([heads[0], "x" * 100_000 + "\r\n".join([*heads[1:], ""])])
    with (
        FeedkeepProcess(tmp_path, tls_cert=str(cert), tls_key=str(key)) as process,
        connected(process) as connection,
        trusting.wrap_socket(connection, server_hostname="127.0.0.1") as client,
    ):
        began_at = time.monotonic()
        client.sendall(sent.encode())
        assert until_closed(client).count(b"HTTP/1.1 ") == len(heads)
        assert time.monotonic() - began_at < 4  # where it cannot tell, it waits 5 seconds


def test_a_certificate_that_cannot_be_used_is_told_in_one_sentence(tmp_path, certificate):
    cert, key = certificate
    other = trustme.CA().issue_cert("127.0.0.1").private_key_pem
    other.write_to_path(tmp_path / "other.pem")
    for arguments, reason in (
        (["--tls-cert", "nowhere.pem"], "No such file"),
        (["--tls-key", str(key)], "tls_key is set without a certificate"),
        (["--tls-cert", str(cert), "--tls-key", str(tmp_path / "other.pem")], "belong together"),
        (["--tls-cert", str(key), "--tls-key", str(key)], "not PEM"),
    ):
        done = FeedkeepProcess(tmp_path).run("serve", "--port", "0", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert reason in done.stderr


# Places


def test_silent_handshakes_are_the_first_to_go_when_there_is_no_place_left(
    tmp_path, authority, certificate
):
    cert, key = certificate
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    process = FeedkeepProcess(tmp_path, tls_cert=str(cert), tls_key=str(key))
    process.run_first("few_places")
    with process, ExitStack() as stack:
        name = process.new_account()
        headers = {"Authorization": f"Bearer {process.new_token(name)}"}
        first, last = (
            stack.enter_context(
                httpx.Client(
                    base_url=process.base_url, verify=trusting, headers=headers, timeout=10
                )
            )
            for _ in range(2)
        )
        assert first.get("/subscriptions").status_code == 200
        for _ in range(300):
            stack.enter_context(connected(process))
        assert last.get("/subscriptions").status_code == 200
        assert first.get("/subscriptions").status_code == 200


@pytest.mark.parametrize("sent", first_of("{", ""))
def test_owed_bodies_are_the_first_to_go_when_there_is_no_place_left(tmp_path, sent):
    process = FeedkeepProcess(tmp_path)
    process.run_first("few_places")
    with process, ExitStack() as stack:
        name = process.new_account()
        token = process.new_token(name)
        head = f"POST /subscriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        owing = f"{head}Content-Length: 99\r\n\r\n{sent}".encode()
        with process.client(name) as first:
            assert first.get("/subscriptions").status_code == 200
            connections = [stack.enter_context(connected(process)) for _ in range(250)]
            for connection in connections:
                with suppress(ConnectionError):  # it had to go already
                    connection.sendall(owing)
            with process.client(name) as last:
                assert last.get("/subscriptions").status_code == 200
            assert first.get("/subscriptions").status_code == 200
