"""Peak memory of processes, as reported by the kernel (proc_pid_status(5))."""

import re
from pathlib import Path


def bytes_of(pid, name):
    """Return a size of a process's memory, such as "VmRSS" or "VmHWM"."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024


class Peak:
    """The most that a process takes from now on."""

    def __init__(self, pid):
        self._pid = pid
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins anew
        self._before = bytes_of(pid, "VmRSS")

    @property
    def added_bytes(self):
        return bytes_of(self._pid, "VmHWM") - self._before
