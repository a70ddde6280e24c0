"""Builds the image, runs it hardened, signs up in it, restarts it, and weighs it.

It takes buildah, podman, and debootstrap or a base of one's own: nothing is fetched from a registry
of images. `make test-container` runs it, and CI does not.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
from base import make_base
from engine import HARDENED, PATIENCE_SECONDS, PROJECT, Engine, Failed
from postgres_server import PostgresServer

IMAGE, BASE = "localhost/feedkeep-under-test", "localhost/feedkeep-base"
RELEASED = "localhost/feedkeep:latest"
MAX_BYTES = 120_000_000
NAME, PASSWORD = "anna", "correct horse battery"
FEED = "https://podnews.net/rss"
TITLE = "A show of ours"
BUILD = PROJECT / "build" / "container"
_LINK = re.compile(r"http://\S+(/sign-up/\S+)")
_LOOKS = "import os; print(open('/proc/1/status').read()); print(*os.statvfs('/')[8:9])"


def main() -> int:
    """Run the test of the image; return 0 if everything passed."""
    options = _options()
    missing = [name for name in ("buildah", "podman", "gzip", "tar") if not shutil.which(name)]
    if not options.base and not shutil.which("debootstrap"):
        missing.append("debootstrap")
    if not missing and not options.base and os.geteuid():
        missing.append("the rights of root, which debootstrap needs (or name a base)")
    if missing:
        _say(f"The container was NOT tested. What is missing here: {', '.join(missing)}.")
        return 1
    try:
        with (
            tempfile.TemporaryDirectory(prefix="feedkeep-container-") as folder,
            Engine(Path(folder) / "storage") as engine,
        ):
            _check_all(engine, options, Path(folder))
    except Failed as error:
        _say(f"FAILED: {error}")
        return 1
    _say("Not shown: docker, rootless podman, compose, a HEALTHCHECK's timer, other processors.")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="trixie", help="which Debian debootstrap makes")
    parser.add_argument("--base", help="an image, or an archive of files, instead of debootstrap's")
    parser.add_argument("--archive", type=Path, help="where to write the image, and try it again")
    return parser.parse_args()


def _check_all(engine: Engine, options: argparse.Namespace, folder: Path) -> None:
    began = time.monotonic()
    base = _base(engine, options)
    _say(f"base:     {base} after {time.monotonic() - began:.1f} s")
    began = time.monotonic()
    isolation = engine.build(base, IMAGE)
    _say(f"build:    {time.monotonic() - began:.1f} s (isolation: {isolation})")
    _check_what_it_says(engine)
    way = engine.find_a_way_to_run(IMAGE)
    told = engine.command(IMAGE, "version").strip()
    _say(f"run:      {told}; {' '.join(HARDENED)}; limits and runtime: {way}")
    _check_first_run(engine)
    _check_secrets(engine, folder)
    _check_postgres(engine, folder)
    count = engine.compressed_bytes(IMAGE)
    if count > MAX_BYTES:
        raise Failed(f"The image has {count:,} bytes, compressed; {MAX_BYTES:,} are allowed.")
    _say(f"size:     {count / 1e6:.1f} MB compressed, of at most {MAX_BYTES / 1e6:.0f}")
    if options.archive:
        _write_archive(engine, options.archive, folder)


def _write_archive(engine: Engine, archive: Path, folder: Path) -> None:
    """Write the image as users load it, and start it in a storage that knows nothing of it."""
    archive.unlink(missing_ok=True)
    engine.podman("tag", IMAGE, RELEASED)
    engine.podman("save", "--quiet", "--format=oci-archive", f"--output={archive}", RELEASED)
    with Engine(folder / "elsewhere") as other:
        other.podman("load", "--quiet", f"--input={archive}")
        other.find_a_way_to_run(RELEASED)
        seconds = other.start("released", RELEASED)
    _say(f"archive:  {archive.name}, loaded and ready after {seconds:.1f} s")


def _base(engine: Engine, options: argparse.Namespace) -> str:
    """Return the name of the base's image."""
    if options.base and not Path(options.base).is_file():
        return str(options.base)
    archive = Path(options.base or BUILD / f"base-{options.suite}.tar")
    if not archive.is_file():
        make_base(options.suite, archive)
    engine.podman("import", str(archive), BASE)
    return BASE


def _check_what_it_says(engine: Engine) -> None:
    """Look at what engines read of the image."""
    says = engine.of_image(IMAGE)
    wanted = {
        "User": "65532:65532", "Entrypoint": ["feedkeep"], "Cmd": ["serve"],
        "Volumes": {"/data": {}}, "StopSignal": "SIGTERM", "ExposedPorts": {"8080/tcp": {}},
    }  # fmt: skip
    _assert_same({key: says.get(key) for key in wanted}, wanted)
    healthcheck = says.get("Healthcheck")
    assert isinstance(healthcheck, dict)
    _assert_same(healthcheck["Test"], ["CMD", "feedkeep", "health"])
    labels = says.get("Labels")
    assert isinstance(labels, dict)
    _assert_same(labels["org.opencontainers.image.title"], "feedkeep")
    if not labels["org.opencontainers.image.base.name"]:
        raise Failed("It does not say on which base it was built.")


def _check_first_run(engine: Engine) -> None:
    """Sign up by the link in the log, subscribe, restart, and find it all again."""
    seconds = engine.start("first", IMAGE, "--volume=first:/data", "--publish=127.0.0.1::8080")
    engine.podman("healthcheck", "run", "first")
    status = engine.in_it("first", "python", "-c", _LOOKS)
    if not re.search(r"^Uid:(\s+65532){4}$", status, re.MULTILINE):
        raise Failed(f"It does not run as 65532:\n{status}")
    for line in (*(f"Cap{kind}:\t0000000000000000" for kind in ("Prm", "Eff", "Bnd")),
                 "NoNewPrivs:\t1"):  # fmt: skip
        if line not in status:
            raise Failed(f"It has more rights than it should, no line {line!r}:\n{status}")
    if not int(status.split()[-1]) & os.ST_RDONLY:
        raise Failed("Its root can be written.")
    link = _LINK.search(engine.log_of("first"))
    if link is None:
        raise Failed(f"The log has no link:\n{engine.log_of('first')}")
    with httpx.Client(base_url=engine.address_of("first"), follow_redirects=True) as browser:
        browser.get(link[1]).raise_for_status()
        page = browser.post("/sign-up", data={"name": NAME, "password": PASSWORD})
        page.raise_for_status()
        _assert_same(page.url.path, "/")
    _subscribe(engine.address_of("first"))
    began = time.monotonic()
    engine.podman("stop", "first")
    stopped = time.monotonic() - began
    _assert_same(engine.podman("inspect", "--format={{.State.ExitCode}}", "first").strip(), "0")
    lines = engine.log_of("first").count("sign-up")
    began = time.monotonic()
    engine.podman("start", "first")
    again = engine.wait_until_ready("first", began)
    _assert_same(_feeds(engine.address_of("first")), {FEED})
    _assert_same(engine.log_of("first").count("sign-up"), lines)
    engine.in_it("first", "feedkeep", "backup", "/data/backup.db")
    engine.podman("rm", "--force", "first")
    _say(f"first:    ready after {seconds:.1f} s; signed up by the link in the log; subscribed")
    _say(f"restart:  stopped by SIGTERM in {stopped:.1f} s, ready again after {again:.1f} s")


def _check_secrets(engine: Engine, folder: Path) -> None:
    """Begin without a link, with a password in a secret, which is in no environment."""
    engine.start(
        "secret", IMAGE, "--volume=secret:/data", "--publish=127.0.0.1::8080",
        _secrets(folder / "own", admin=PASSWORD), f"--env=FEEDKEEP_ADMIN_NAME={NAME}",
        "--env=FEEDKEEP_ADMIN_PASSWORD_FILE=/run/secrets/admin",
    )  # fmt: skip
    _subscribe(engine.address_of("secret"))
    log = engine.log_of("secret")
    if "created just now" not in log or "sign-up" in log or PASSWORD in log:
        raise Failed(f"The log is not as it has to be:\n{log}")
    if PASSWORD in engine.podman("inspect", "secret"):
        raise Failed("The engine shows the password.")
    engine.podman("rm", "--force", "secret")
    _say("secrets:  the first account by FEEDKEEP_ADMIN_NAME and ..._PASSWORD_FILE")


def _check_postgres(engine: Engine, folder: Path) -> None:
    """Serve a PostgreSQL database whose URL is a secret, with two processes; look up a title."""
    with PostgresServer() as server, _feed_server() as feed_port:
        own = _free_port()
        seconds = engine.start(
            "postgres", IMAGE, "--network=host", f"--env=FEEDKEEP_PORT={own}",
            "--env=FEEDKEEP_HOST=127.0.0.1", "--env=FEEDKEEP_WORKERS=2", "--env=FEEDKEEP_DATABASE=",
            _secrets(folder / "postgres", url=server.url, admin=PASSWORD),
            "--env=FEEDKEEP_DATABASE_FILE=/run/secrets/url", f"--env=FEEDKEEP_ADMIN_NAME={NAME}",
            "--env=FEEDKEEP_ADMIN_PASSWORD_FILE=/run/secrets/admin", "--env=FEEDKEEP_FETCH=all",
            "--env=FEEDKEEP_FETCH_ALLOWED=127.0.0.0/8", f"--env=FEEDKEEP_FETCH_PORTS={feed_port}",
        )  # fmt: skip
        _subscribe(f"http://127.0.0.1:{own}", f"http://127.0.0.1:{feed_port}/")
        began = time.monotonic()
        while TITLE not in engine.in_it("postgres", "feedkeep", "list", NAME):
            if time.monotonic() > began + PATIENCE_SECONDS:
                raise Failed(f"The feed has no title:\n{engine.log_of('postgres')}")
        engine.podman("rm", "--force", "postgres")
    _say(
        f"postgres: ready after {seconds:.1f} s, two processes; the URL is a secret; the title of a"
        " feed was found"
    )


@contextmanager
def _feed_server() -> Iterator[int]:
    """Serve a feed on a port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<rss><channel><title>{TITLE}</title><item/></channel></rss>".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Suppress the log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever).start()
        yield server.server_address[1]
        server.shutdown()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _secrets(folder: Path, **contents: str) -> str:
    """Return the option that mounts secrets, which become the files of the image's user alone."""
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_text(f"{content}\n")
        (folder / name).chmod(0o400)
    return f"--volume={folder}:/run/secrets:ro,U"


def _subscribe(base: str, feed: str = FEED) -> None:
    body = {"subscriptions": [{"feed_url": feed}]}
    httpx.post(f"{base}/subscriptions", json=body, auth=(NAME, PASSWORD)).raise_for_status()
    _assert_same(_feeds(base), {feed})


def _feeds(base: str) -> set[str]:
    reply = httpx.get(f"{base}/subscriptions", auth=(NAME, PASSWORD)).raise_for_status()
    return {one["feed_url"] for one in reply.json()["subscriptions"]}


def _assert_same(found: object, wanted: object) -> None:
    if found != wanted:
        raise Failed(f"There is {str(found)[:1_000]}, and there should be {str(wanted)[:1_000]}.")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
