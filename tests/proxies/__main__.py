"""Runs the examples of deploy/proxy: Caddy and nginx before feedkeep, with a certificate.

Through HAProxy and nginx, it sends requests that may be framed in two ways. It takes the three
programs, and tests those that there are. `make test-proxies` runs it, and CI does not.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import smuggling
import trustme
from feedkeep_process import FeedkeepProcess

from feedkeep.config.settings import Settings

EXAMPLES = Path(__file__).parents[2] / "deploy" / "proxy"
NAME, PASSWORD, HOST, CLIENT = "anna", "correct horse battery", "feeds.example", "127.0.0.5"
LONGEST_BYTES = Settings().max_body_bytes
PATIENCE_SECONDS = 20
_NGINX = """\
{user}pid {folder}/pid; error_log {folder}/error; daemon off;
events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""
_HAPROXY = """\
defaults
    mode http
    timeout client 20s
    timeout server 20s
    timeout connect 5s
    option forwardfor
    http-reuse always
frontend all
    bind 127.0.0.1:{port}
    default_backend feedkeep
backend feedkeep
    server one {upstream}
"""
_PLAIN_NGINX = """\
upstream feedkeep {{ server {upstream}; keepalive 4; }}
server {{
    listen 127.0.0.1:{port};
    location / {{
        proxy_pass http://feedkeep;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }}
}}
"""


def main() -> int:
    """Run the checks of the proxies; return 0 if everything passed."""
    missing = [name for name in ("caddy", "nginx", "haproxy") if not shutil.which(name)]
    with tempfile.TemporaryDirectory(prefix="feedkeep-proxies-") as folder:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(f"{folder}/authority.pem")
        issued = authority.issue_cert(HOST)
        issued.private_key_pem.write_to_path(f"{folder}/key.pem")
        issued.cert_chain_pems[0].write_to_path(f"{folder}/certificate.pem")
        for name, proxy in {"caddy": _caddy, "nginx": _nginx}.items():
            if name not in missing:
                _check_example(Path(folder) / name, proxy)
                _say(f"{name}: its example works.")
        for name, plain in {"haproxy": _plain_haproxy, "nginx": _plain_nginx}.items():
            if name not in missing:
                count = _check_framing(Path(folder) / f"plain-{name}", plain)
                _say(f"{name}: of {count} requests, each ended where it ends for feedkeep.")
    if missing:
        _say(f"Not all proxies were tested. What is missing here: {', '.join(missing)}.")
    return len(missing)


def _check_example(home: Path, proxy: Callable[[str, Path], tuple[list[str], str, str]]) -> None:
    home.mkdir()
    process = FeedkeepProcess(home, trusted_proxies="127.0.0.1", public_url=f"https://{HOST}")
    process.must("account", "create", NAME, "--password-stdin", stdin=PASSWORD)
    with process:
        _check(process, home, proxy(process.base_url, home))


def _check_framing(home: Path, proxy: Callable[[str, Path], tuple[list[str], str]]) -> int:
    home.mkdir()
    with FeedkeepProcess(home, trusted_proxies="127.0.0.1") as process:
        command, port = proxy(process.base_url, home)
        with _running(command, home, port):
            return smuggling.check(process, int(port), CLIENT)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _caddy(upstream: str, home: Path) -> tuple[list[str], str, str]:
    """Return the command for Caddy with its example, and where it then answers."""
    plain, tls = _free_port(), _free_port()
    text = (EXAMPLES / "Caddyfile").read_text().replace("127.0.0.1:8080", upstream.split("//")[1])
    pems = f"{home.parent}/certificate.pem {home.parent}/key.pem"
    text = text.replace(f"{HOST} {{", f"{HOST} {{\n\ttls {pems}")
    options = f"{{\n\tadmin off\n\thttp_port {plain}\n\thttps_port {tls}\n}}\n"
    (home / "Caddyfile").write_text(options + text)
    command = ["caddy", "run", "--config", f"{home}/Caddyfile", "--adapter", "caddyfile"]
    return command, plain, tls


def _nginx(upstream: str, home: Path) -> tuple[list[str], str, str]:
    """Return the command for nginx with its example, and where it then answers."""
    plain, tls = _free_port(), _free_port()
    text = (EXAMPLES / "nginx.conf").read_text().replace("http://127.0.0.1:8080", upstream)
    text = re.sub(r"listen +\[::\].*\n", "", text)
    text = text.replace("listen 80", f"listen 127.0.0.1:{plain}")
    text = text.replace("listen 443", f"listen 127.0.0.1:{tls}")
    text = re.sub(r"/etc/letsencrypt/\S+/fullchain.pem", f"{home.parent}/certificate.pem", text)
    text = re.sub(r"/etc/letsencrypt/\S+/privkey.pem", f"{home.parent}/key.pem", text)
    (home / "site.conf").write_text(text)
    user = "user root; " if os.geteuid() == 0 else ""  # another one may not write to this folder
    (home / "nginx.conf").write_text(_NGINX.format(folder=home, user=user))
    return ["nginx", "-p", str(home), "-e", f"{home}/error", "-c", f"{home}/nginx.conf"], plain, tls


def _plain_haproxy(upstream: str, home: Path) -> tuple[list[str], str]:
    """Return the command for HAProxy with as little as it takes, and its port."""
    port = _free_port()
    (home / "haproxy.cfg").write_text(_HAPROXY.format(port=port, upstream=upstream.split("//")[1]))
    return ["haproxy", "-db", "-f", f"{home}/haproxy.cfg"], port


def _plain_nginx(upstream: str, home: Path) -> tuple[list[str], str]:
    """Return the command for nginx with as little as it takes, and its port."""
    port = _free_port()
    site = _PLAIN_NGINX.format(port=port, upstream=upstream.split("//")[1])
    (home / "site.conf").write_text(site)
    user = "user root; " if os.geteuid() == 0 else ""
    (home / "nginx.conf").write_text(_NGINX.format(folder=home, user=user))
    return ["nginx", "-p", str(home), "-e", f"{home}/error", "-c", f"{home}/nginx.conf"], port


def _free_port() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return str(unused.getsockname()[1])


@contextmanager
def _running(command: list[str], home: Path, port: str) -> Iterator[None]:
    environment = {**os.environ, "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    with (home / "told").open("wb") as told:
        proxy = subprocess.Popen(command, stdout=told, stderr=told, env=environment)
    try:
        ends = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", int(port))).close()
                break
            except OSError:
                if proxy.poll() is not None or time.monotonic() > ends:
                    raise SystemExit((home / "told").read_text()) from None
                time.sleep(0.05)
        yield
    finally:
        proxy.terminate()
        proxy.wait(PATIENCE_SECONDS)


def _check(process: FeedkeepProcess, home: Path, proxy: tuple[list[str], str, str]) -> None:
    command, plain, tls = proxy
    trusted = httpx.create_ssl_context(verify=f"{home.parent}/authority.pem")
    with (
        _running(command, home, tls),
        httpx.Client(
            transport=httpx.HTTPTransport(verify=trusted, local_address=CLIENT),
            base_url=f"https://127.0.0.1:{tls}",
            headers={"Host": HOST},
            event_hooks={"request": [_name_the_host]},
            timeout=PATIENCE_SECONDS,
        ) as client,
    ):
        moved = client.get(f"http://127.0.0.1:{plain}/apps?x=1")
        assert moved.status_code == 308, moved
        assert re.fullmatch(rf"https://{HOST}(:{tls})?/apps\?x=1", moved.headers["Location"])
        assert client.get("/readyz").status_code == 200
        forged = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "http"}
        wrong = client.get("/subscriptions", auth=(NAME, "wrongpassword"), headers=forged)
        assert wrong.status_code == 401, wrong
        refused = process.wait_for_line("login refused")
        assert refused["address"] == CLIENT, refused
        login = f"/api/2/auth/{NAME}/login.json"
        signed_in = client.post(login, auth=(NAME, PASSWORD), headers=forged)
        assert signed_in.status_code == 200, signed_in
        assert "; Secure" in signed_in.headers["Set-Cookie"]
        token = {"Authorization": f"Bearer {process.new_token(NAME)}"}
        # feedkeep says both: that it is no JSON, which the interface has 405 for, and too long.
        for length, status in ((LONGEST_BYTES, 405), (LONGEST_BYTES + 1, 413)):
            reply = client.post("/subscriptions", content=b"x" * length, headers=token)
            assert reply.status_code == status, (length, reply)


def _name_the_host(request: httpx.Request) -> None:
    request.extensions["sni_hostname"] = HOST


if __name__ == "__main__":
    sys.exit(main())
