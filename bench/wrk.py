"""Runs of wrk, which sends the load, and their results."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import count
from pathlib import Path

import msgspec

_SCRIPT = Path(__file__).with_name("load.lua")
_PACED = Path(__file__).with_name("paced.lua")
_numbers = count(int.from_bytes(os.urandom(4), "big"))


class Run(msgspec.Struct, frozen=True):
    """Result of one run of wrk."""

    requests: int
    duration_us: int
    p50_us: int
    p99_us: int
    failures: int

    @property
    def per_second(self) -> float:
        """Answered requests per second."""
        return self.requests / self.duration_us * 1e6


def check_installed() -> None:
    """Exit with instructions if wrk is not installed."""
    if shutil.which("wrk") is None:
        raise SystemExit("The bench needs wrk, which sends the load: on Debian, `apt install wrk`.")


def load(
    url: str,
    case: str,
    sample: Path,
    connections: int,
    seconds: float,
    delay_ms: int | None = None,
    feeds_at: str = "https://feeds.example.net",
    script: Path = _SCRIPT,
) -> Run:
    """Send requests of one case to a server for `seconds`; new feeds are at `feeds_at`.

    Each connection pauses `delay_ms` between requests, on average; None means no pause.

    Raises:
        RuntimeError: wrk failed, or a reply was an error.
    """
    sending = script if delay_ms is None else _PACED
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "-s", str(sending), url]
    done = subprocess.run(
        [*command, "--", case, str(sample), str(next(_numbers))],
        env={
            **os.environ,
            "BENCH_LOAD": str(_SCRIPT),
            "BENCH_DELAY_MS": str(delay_ms),
            "BENCH_FEEDS_AT": feeds_at,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    _, found, result = done.stdout.partition("\nRESULT ")
    if not found:
        raise RuntimeError(f"wrk failed: {done.stdout}{done.stderr}")
    run = msgspec.json.decode(result, type=Run)
    if run.failures:
        raise RuntimeError(f"{run.failures} of {run.requests} requests of {case} failed")
    return run
