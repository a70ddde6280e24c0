"""Size limits and timeouts of requests: no client fills the memory or stops others."""

import select
import socket
import ssl
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
import trustme
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, first_of
from process_memory import memory_bytes
from served import connected, reply_to, until_closed

from feedkeep.http.serving.server import OTHER_FILES, connections_within

HEAD = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
LAST = b"Connection: close\r\n\r\n"
LARGEST = 16 * 1024
CONNECTIONS = 1_500 if IS_FULL else 500


def head_by(process: FeedkeepProcess, name: str, asked: str = "POST /subscriptions") -> bytes:
    """Return the head of a request of an account, without its end."""
    bearer = f"Authorization: Bearer {process.new_token(name)}"
    return f"{asked} HTTP/1.1\r\nHost: x\r\n{bearer}\r\n".encode()


def add_long_feeds(client: httpx.Client, count: int) -> None:
    items = [{"feed_url": f"https://{number}.example/{'x' * 4_000}"} for number in range(count)]
    assert client.post("/subscriptions", json={"subscriptions": items}).status_code == 200


# C1.6
def test_heads_up_to_their_bounds_are_read(feedkeep):
    for most in (b"X-Filler: " + b"x" * (LARGEST - 200) + b"\r\n", b"a:b\r\n" * 98):
        assert reply_to(feedkeep, HEAD + most + LAST).startswith(b"HTTP/1.1 200 ")


# C1.6
@pytest.mark.parametrize(
    "sent",
    [
        HEAD + b"a:b\r\n" * 100 + b"\r\n",
        HEAD + b"X-Filler: " + b"x" * LARGEST + b"\r\n\r\n",
        HEAD + b"X-Filler: x\r\n" * (LARGEST // 10) + b"\r\n",
        b"GET /" + b"x" * LARGEST + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        HEAD + b"X-Filler: " + b"x" * (10 * LARGEST),
    ],
    ids=["one header too many", "one header", "many headers", "a URL", "a header without an end"],
)
def test_larger_heads_are_refused_in_the_shape_of_errors(feedkeep, sent):
    reply = reply_to(feedkeep, sent)
    assert reply.startswith(b"HTTP/1.1 431 ")
    assert reply.endswith(
        b'{"code":"431","message":"The request\'s headers are too large.'
        b' At most 100 of them are read, and 16,384 bytes."}'
    )
    assert httpx.get(f"{feedkeep.base_url}/livez").status_code == 200


def test_bodies_and_trailers_without_an_end_are_refused(feedkeep):
    head = head_by(feedkeep, feedkeep.new_account())
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
    trailer = chunked + b"1\r\n{\r\n0\r\nX-Filler: " + b"x" * (40 * LARGEST)
    announced = head + b"Content-Length: %d\r\n\r\n" % 2**30 + b"x" * 99
    assert reply_to(feedkeep, announced).startswith(b"HTTP/1.1 413 ")
    chunks = chunked + (b"100000\r\n" + b"x" * 0x100000 + b"\r\n") * 8
    for sent, status in ((trailer, b"431"), (chunks, b"413")):
        reply = reply_to(feedkeep, sent)  # none if it was cut while it was sending
        assert reply.startswith(b"HTTP/1.1 %b " % status) or reply == b"", status


# C1.7
def test_clients_that_keep_it_waiting_are_cut_and_the_others_are_not(impatient):
    name = impatient.new_account()
    slow = [
        *(b"", b"GET /livez HTT", HEAD, b"\r\n"),
        head_by(impatient, name) + b'Content-Length: 99\r\n\r\n{"subscriptions":[',
        HEAD + b"\r\n" + HEAD,  # after a whole request, half of the next one
        b"X",  # and then a little more all the time
    ]
    started = time.monotonic()
    with ExitStack() as stack, impatient.client(name) as patient:
        connections = [stack.enter_context(connected(impatient)) for _ in slow]
        for connection, sent in zip(connections, slow, strict=True):
            connection.sendall(sent)
        assert patient.get("/subscriptions").status_code == 200
        with suppress(ConnectionError):
            while time.monotonic() - started < 10:
                connection.sendall(b"X")
                time.sleep(0.1)
        for connection in connections[:-1]:
            until_closed(connection)
        assert 1 <= time.monotonic() - started < 6
        assert patient.get("/subscriptions").status_code == 200


def test_defect_in_looking_for_slow_clients_is_logged_and_spares_none_of_the_others(tmp_path):
    process = FeedkeepProcess(tmp_path)
    process.run_first("patience_is_short", "looking_for_slow_replies_fails")
    with process:
        assert reply_to(process, HEAD).startswith(b"HTTP/1.1 408 ")
    assert "ZeroDivisionError" in process.log.read_text()
    assert '"event":"cannot abort a connection"' in process.log.read_text()


# C1.7
def test_client_that_does_not_read_its_reply_is_cut(impatient):
    name = impatient.new_account()
    with impatient.client(name) as client:
        add_long_feeds(client, 900)
    get = head_by(impatient, name, "GET /subscriptions?per_page=1000")
    with connected(impatient) as connection:
        connection.sendall((get + b"\r\n") * 4)
        was_cut = select.poll()
        was_cut.register(connection, select.POLLERR | select.POLLHUP)  # whatever can be read
        assert was_cut.poll(20_000)
        assert len(until_closed(connection)) < 4 * 3_600_000


def test_client_that_reads_a_little_all_the_time_is_not_cut(impatient):
    url = httpx.URL(impatient.base_url)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)  # before it connects
        connection.settimeout(20)
        connection.connect((url.host, url.port))
        connection.sendall(b"GET /docs HTTP/1.1\r\nHost: x\r\n\r\n" * 4)
        for _ in range(30):  # for three times as long as others may read nothing
            assert connection.recv(2_000)
            time.sleep(0.1)


def test_reply_without_room_is_logged_as_what_was_sent(tmp_path):
    bounds = {"max_body_bytes": "1500000", "max_in_flight_bytes": "2000000"}
    with FeedkeepProcess(tmp_path, **bounds) as process, connected(process) as unread:
        name = process.new_account()
        path = "/subscriptions?per_page=1000"
        with process.client(name) as client:
            add_long_feeds(client, 300)
            unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            unread.sendall(head_by(process, name, f"GET {path}") + b"\r\n")
            assert unread.recv(1)
            # One is refused when it is made, and one when its texts are known.
            for asked in (path, f"/subscriptions/{name}.txt"):
                refused = client.get(asked, headers={"Accept-Encoding": "identity"})
                assert refused.status_code == 503
                line = process.wait_for_line(refused.headers["X-Request-Id"])
                assert (line["status"], line["level"]) == (503, "warning")
                assert "max_in_flight_bytes" in str(line["reason"])


def test_few_requests_of_a_connection_wait_for_the_one_that_is_answered(feedkeep):
    # Each that waits takes some kilobytes: who sent thousands, and read nothing, took 80 MB.
    reply = reply_to(feedkeep, (HEAD + b"\r\n") * 5_000)
    assert reply.count(b"HTTP/1.1 200 ") < 100
    assert reply.count(b"HTTP/1.1 503 ") <= 1  # a client that sends on may see the end alone
    few = reply_to(feedkeep, (HEAD + b"\r\n") * 9 + HEAD + LAST)
    assert few.count(b"HTTP/1.1 200 ") == 10


def test_download_that_is_not_read_holds_no_file_besides_its_connection(tmp_path):
    with FeedkeepProcess(tmp_path) as process, ExitStack() as stack:
        files = Path(f"/proc/{process.process.pid}/fd")
        connections = [stack.enter_context(connected(process)) for _ in range(40)]
        for connection in connections:
            connection.sendall(b"GET /docs HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(8) == b"HTTP/1.1"
        assert len(list(files.iterdir())) < 2 * len(connections)


# HTTPS

AUTHORITY = trustme.CA()
TRUSTING = ssl.create_default_context()
AUTHORITY.configure_trust(TRUSTING)


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """The settings of a service with a certificate."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    issued = AUTHORITY.issue_cert("127.0.0.1")
    for pem in issued.cert_chain_pems:
        pem.write_to_path(cert, append=True)
    issued.private_key_pem.write_to_path(key)
    return {"tls_cert": cert, "tls_key": key}


def secured(connection: socket.socket) -> ssl.SSLSocket:
    return TRUSTING.wrap_socket(connection, server_hostname="127.0.0.1")


def test_https_is_served_and_its_connections_end_at_once(tmp_path, settings):
    with ExitStack() as stack:
        with FeedkeepProcess(tmp_path, **settings) as process:
            assert process.base_url.startswith("https://")
            bearer = {"Authorization": f"Bearer {process.new_token(process.new_account())}"}
            with httpx.Client(verify=TRUSTING, timeout=30, headers=bearer) as client:
                reply = client.get(f"{process.base_url}/subscriptions")
            assert (reply.json()["total"], reply.http_version) == (0, "HTTP/1.1")
            with pytest.raises(httpx.HTTPError):
                httpx.get(process.base_url.replace("https", "http") + "/livez")

            # A client that reads to the end cannot see sooner that all has come.
            body = b"Content-Length: 100000\r\n\r\n" + b"x" * 100_000
            sent = HEAD.replace(b"GET", b"POST") + body + HEAD + b"\r\n" + HEAD + LAST
            with connected(process) as connection, secured(connection) as client:
                began_at = time.monotonic()
                client.sendall(sent)
                assert until_closed(client).count(b"HTTP/1.1 ") == 3
                assert time.monotonic() - began_at < 4  # where it cannot tell, it waits 5 seconds

            idle = stack.enter_context(secured(stack.enter_context(connected(process))))
            idle.sendall(HEAD + b"\r\n")
            assert idle.recv(65_536)
            told_at = time.monotonic()
        assert time.monotonic() - told_at < 5  # the grace period is 8 seconds


@pytest.mark.parametrize("has_tls", first_of(True, False))
def test_closed_connections_leave_no_more_memory_in_use(tmp_path, settings, has_tls):
    request = HEAD + b"".join(b"%02x:%02x\r\n" % (n, n) for n in range(99)) + b"\r\n"
    with FeedkeepProcess(tmp_path, **(settings if has_tls else {})) as process:
        while_open = []
        for _ in range(3):
            with ExitStack() as stack:
                for _ in range(CONNECTIONS):
                    client = stack.enter_context(connected(process))
                    if has_tls:
                        client = stack.enter_context(secured(client))
                    client.sendall(request)
                    assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")
                while_open.append(memory_bytes(process, "VmRSS"))
        ends = time.monotonic() + 10  # a second is usual
        while memory_bytes(process, "VmRSS") > while_open[0]:
            assert time.monotonic() < ends, while_open
            time.sleep(0.1)


def test_certificate_that_cannot_be_used_is_told_in_one_sentence(tmp_path, settings):
    cert, key = settings["tls_cert"], settings["tls_key"]
    other = str(tmp_path / "other.pem")
    trustme.CA().issue_cert("127.0.0.1").private_key_pem.write_to_path(other)
    for arguments, reason in (
        (["--tls-cert", "nowhere.pem"], "No such file"),
        (["--tls-key", key], "tls_key is set without a certificate"),
        (["--tls-cert", cert, "--tls-key", other], "belong together"),
        (["--tls-cert", key, "--tls-key", key], "not PEM"),
    ):
        done = FeedkeepProcess(tmp_path).run("serve", "--port", "0", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert reason in done.stderr


# Places


@pytest.mark.parametrize("files", [64, 100, 256, 1_024, 65_536])
def test_connections_within_a_file_limit_leave_files_for_the_rest(files):
    connections = connections_within(files, postgres_connections=8)
    assert files // 2 <= connections <= max(files // 2, files - OTHER_FILES - 8)


def test_idle_connections_and_owed_bodies_are_the_first_to_go_without_places(tmp_path):
    process = FeedkeepProcess(tmp_path)
    process.run_first("few_places")
    with process:
        name = process.new_account()
        owing = head_by(process, name) + b"Content-Length: 99\r\n\r\n"
        for count, sent in ((400, b""), (250, owing), (250, owing + b"{")):
            with ExitStack() as stack, process.client(name) as first:
                assert first.get("/subscriptions").status_code == 200
                for connection in [stack.enter_context(connected(process)) for _ in range(count)]:
                    with suppress(ConnectionError):  # it had to go already
                        connection.sendall(sent)
                assert httpx.get(f"{process.base_url}/livez").status_code == 200
                with process.client(name) as last:
                    assert last.get("/subscriptions").status_code == 200
                if sent:
                    assert first.get("/subscriptions").status_code == 200


def test_silent_handshakes_are_the_first_to_go_without_places(tmp_path, settings):
    process = FeedkeepProcess(tmp_path, **settings)
    process.run_first("few_places")
    with process, ExitStack() as stack:
        bearer = {"Authorization": f"Bearer {process.new_token(process.new_account())}"}
        usual = {"base_url": process.base_url, "verify": TRUSTING, "headers": bearer}
        first, last = (stack.enter_context(httpx.Client(**usual, timeout=10)) for _ in range(2))
        assert first.get("/subscriptions").status_code == 200
        for _ in range(300):
            stack.enter_context(connected(process))
        for client in (last, first):
            assert client.get("/subscriptions").status_code == 200
