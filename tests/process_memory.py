"""Memory of a process, as reported by the kernel (proc_pid_status(5))."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol


class _Running(Protocol):
    pid: int


class _Started(Protocol):
    @property
    def process(self) -> _Running: ...


def memory_bytes(started: _Started, name: str) -> int:
    """Return a size of a process's memory, such as "VmRSS" or "VmHWM"."""
    status = Path(f"/proc/{started.process.pid}/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    assert found
    return int(found[1]) * 1024
