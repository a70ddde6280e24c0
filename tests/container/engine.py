"""Wrapper of buildah and podman for the test of the image, with a storage of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

PROJECT = Path(__file__).parents[2]
HARDENED = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges")
PATIENCE_SECONDS = 60
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_DEFAULTS = Path("/etc/pip.conf")


class Failed(Exception):
    """Something is not as it has to be; `str()` of it says what."""


def run(*command: str, stdin: bytes = b"", with_errors: bool = False) -> str:
    """Run a program to its end; return what it printed, with its standard error if wanted.

    Raises:
        Failed: It exited with another status than 0.
    """
    done = subprocess.run(command, input=stdin, capture_output=True, check=False)
    if done.returncode:
        told = (done.stdout + done.stderr).decode(errors="replace")
        raise Failed(f"{' '.join(command)} exited with {done.returncode}:\n{told[-4_000:]}")
    printed = done.stdout + done.stderr if with_errors else done.stdout
    return printed.decode(errors="replace")


class Engine:
    """Images and containers between entering and leaving, and nothing of them afterwards."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._storage = [f"--root={folder / 'root'}", f"--runroot={folder / 'run'}"]
        self._options: list[str] = []
        self._limits: list[str] = []

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        for arguments in (
            ["rm", "--all", "--force", "--volumes"], ["rmi", "--all", "--force"],
            ["volume", "rm", "--all", "--force"],
        ):  # fmt: skip
            subprocess.run(["podman", *self._storage, *arguments], capture_output=True, check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def podman(self, *arguments: str, stdin: bytes = b"") -> str:
        return run("podman", *self._storage, *self._options, *arguments, stdin=stdin)

    def build(self, base: str, image: str) -> str:
        """Build the Containerfile on a base; return in which isolation that was done."""
        secrets = self._folder / "secrets"
        secrets.mkdir(exist_ok=True)
        (secrets / "pip.conf").write_text(_pip_configuration())
        failure = Failed("")
        for isolation in ("oci", "chroot"):
            try:
                run(
                    "buildah", *self._storage, "build", f"--isolation={isolation}",
                    "--network=host", "--format=docker", f"--build-arg=BASE={base}",
                    f"--secret=id=pip_conf,src={secrets / 'pip.conf'}",
                    f"--secret=id=authorities,src={_AUTHORITIES}", f"--tag={image}", str(PROJECT),
                )  # fmt: skip
            except Failed as error:
                failure = error
            else:
                return isolation
        raise failure

    def find_a_way_to_run(self, image: str) -> str:
        """Find out with which runtime containers run here; return the options that it takes."""
        limits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096"]
        failures = []
        for runtime in ("", "crun", "runc"):
            for own_limits in ([], limits):  # who may not raise limits cannot take podman's own
                self._options = [f"--runtime={runtime}"] if runtime else []
                self._limits = own_limits
                try:
                    self.command(image, "version")
                except Failed as error:
                    failures.append(str(error))
                else:
                    return " ".join([*self._options, *own_limits]) or "the usual"
        raise Failed("No container can be run here:\n" + "\n".join(failures))

    def command(self, image: str, *arguments: str, options: Sequence[str] = ()) -> str:
        """Run a command of feedkeep in a container of its own, to its end."""
        return self.podman(
            "run", "--rm", "--no-healthcheck", *HARDENED, *self._limits, *options, image, *arguments
        )

    def write(self, image: str, volume: str, name: str, content: bytes) -> None:
        """Put a file into a volume, as the user of the image."""
        code = f"import sys; open('/data/{name}', 'wb').write(sys.stdin.buffer.read())"
        self.podman(
            "run", "--rm", "--interactive", "--no-healthcheck", *HARDENED, *self._limits,
            f"--volume={volume}:/data", "--entrypoint=python", image, "-c", code, stdin=content,
        )  # fmt: skip

    def start(self, name: str, image: str, *options: str) -> float:
        """Start the service, and wait until it is ready; return after how many seconds it was."""
        began = time.monotonic()
        fetches = any(option.startswith("--env=FEEDKEEP_FETCH") for option in options)
        asking = [] if fetches else ["--env=FEEDKEEP_FETCH=off"]  # no test asks the internet
        self.podman(
            "run", "--detach", f"--name={name}", *HARDENED, *self._limits, *asking, *options, image
        )
        return self.wait_until_ready(name, began)

    def wait_until_ready(self, name: str, began: float) -> float:
        while True:
            try:
                self.in_it(name, "feedkeep", "health")
            except Failed as error:
                state = self.podman("inspect", "--format={{.State.Status}}", name).strip()
                if state != "running" or time.monotonic() > began + PATIENCE_SECONDS:
                    raise Failed(f"{name} is {state}: {error}\n{self.log_of(name)}") from error
            else:
                return time.monotonic() - began

    def in_it(self, name: str, *command: str) -> str:
        return self.podman("exec", name, *command)

    def log_of(self, name: str) -> str:
        """Return the output of a service, including its log."""
        return run("podman", *self._storage, "logs", name, with_errors=True)

    def address_of(self, name: str) -> str:
        """Return the URL of the service on this machine."""
        return "http://" + self.podman("port", name, "8080/tcp").strip()

    def of_image(self, image: str) -> dict[str, object]:
        """Return an image's configuration, with its health check."""
        (found,) = json.loads(self.podman("image", "inspect", image))
        return {"Healthcheck": found.get("Healthcheck"), **found["Config"]}

    def compressed_bytes(self, image: str) -> int:
        """Return the download size of an image, compressed with gzip."""
        saving = subprocess.Popen(
            ["podman", *self._storage, "save", image],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        packing = subprocess.Popen(["gzip", "-6"], stdin=saving.stdout, stdout=subprocess.PIPE)
        assert saving.stdout is not None
        assert packing.stdout is not None
        saving.stdout.close()
        with packing.stdout:
            count = sum(len(chunk) for chunk in iter(lambda: packing.stdout.read(1 << 20), b""))
        if packing.wait() or saving.wait():
            raise Failed(f"{image} cannot be saved.")
        return count


def _pip_configuration() -> str:
    """Return this machine's configuration of pip for the build, which alone sees it."""
    lines = ["[global]", "cert = /run/authorities.pem"]
    lines += [
        line
        for line in (_DEFAULTS.read_text() if _DEFAULTS.is_file() else "").splitlines()
        if not line.startswith("[global]") and line.partition("=")[0].strip() != "cert"
    ]
    names = {"PIP_INDEX_URL": "index-url", "PIP_EXTRA_INDEX_URL": "extra-index-url",
             "PIP_TRUSTED_HOST": "trusted-host", "PIP_DEFAULT_TIMEOUT": "timeout"}  # fmt: skip
    lines += [f"{key} = {os.environ[name]}" for name, key in names.items() if name in os.environ]
    return "\n".join(lines) + "\n"
