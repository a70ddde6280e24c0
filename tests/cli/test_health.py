"""`feedkeep health` says whether the service is ready: in a sentence, and by its exit status."""

import resource
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import httpx
import pytest
import trustme
from command_line import refusal
from feedkeep_process import FeedkeepProcess
from other_servers import listening
from postgres_server import free_port

NO_FEEDKEEP = (
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK",
    b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{"status": "up"}',
    b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 1_000_000,
    b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    b"SSH-2.0-OpenSSH\r\n",
    b"",
)


@contextmanager
def something_else(answer):
    """Run another HTTP server on loopback that sends `answer`."""

    class Another(BaseHTTPRequestHandler):
        def do_GET(self):
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with listening(Another) as url:
        yield url


def test_a_ready_service_is_found_by_its_settings_or_its_address(feedkeep):
    port = str(httpx.URL(feedkeep.base_url).port)
    ready = f"feedkeep at http://127.0.0.1:{port} is ready.\n"
    for host in ("127.0.0.1", "0.0.0.0"):  # noqa: S104 - it is asked, not bound
        feedkeep.environment |= {"FEEDKEEP_PORT": port, "FEEDKEEP_HOST": host}
        try:
            assert feedkeep.must("health") == ready
        finally:
            del feedkeep.environment["FEEDKEEP_PORT"], feedkeep.environment["FEEDKEEP_HOST"]
    for end in ("", "/"):
        assert feedkeep.must("health", "--url", feedkeep.base_url + end) == ready


def test_an_address_where_nothing_listens_or_that_is_not_valid_is_told(offline):
    port = offline.environment["FEEDKEEP_PORT"] = str(free_port())
    assert refusal(offline, "health") == (
        f"No feedkeep answers at http://127.0.0.1:{port}. There is no connection to 127.0.0.1:"
        " connection refused."
    )
    for url, named, said in (
        ([], "0", "name the address"),
        (["--url", "127.0.0.1:8080"], "8080", "http://"),
        (["--url", "http://127.0.0.1:x"], "8080", "host"),
    ):
        offline.environment["FEEDKEEP_PORT"] = named
        assert said in refusal(offline, "health", *url)


def test_a_service_that_cannot_write_is_not_ready_and_is_again_later(tmp_path):
    with FeedkeepProcess(tmp_path) as process:
        process.new_account()
        httpx.get(f"{process.base_url}/livez").raise_for_status()  # it has opened its files by then
        pid = process.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4_096, before[1]))  # no file grows any more
        told = refusal(process, "health", "--url", process.base_url)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        assert told == (
            f"feedkeep at {process.base_url} is not ready: it cannot use its database now, or is"
            " about to stop."
        )
        process.wait_until_ready()
        process.must("health", "--url", process.base_url)


@pytest.mark.parametrize("answer", NO_FEEDKEEP)
def test_another_server_is_not_taken_for_feedkeep(offline, answer):
    with something_else(answer) as url:
        told = refusal(offline, "health", "--url", url)
    assert told.startswith(("What answers at ", "No feedkeep answers "))


def test_with_a_certificate_it_is_asked_by_https_whatever_name_that_is_for(tmp_path):
    certificate = tmp_path / "certificate.pem"
    issued = trustme.CA().issue_cert("feeds.example").private_key_and_cert_chain_pem
    certificate.write_bytes(issued.bytes())
    with FeedkeepProcess(tmp_path, tls_cert=str(certificate)) as process:
        assert process.base_url.startswith("https://")
        process.environment["FEEDKEEP_PORT"] = str(httpx.URL(process.base_url).port)
        assert process.must("health") == f"feedkeep at {process.base_url} is ready.\n"
        # An address that is named has to have a certificate for it.
        assert "certificate" in refusal(process, "health", "--url", process.base_url)
