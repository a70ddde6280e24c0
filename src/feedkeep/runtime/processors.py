"""The number of processors that this process may use."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def count_processors(
    own_groups: Path = Path("/proc/self/cgroup"), groups: Path = Path("/sys/fs/cgroup")
) -> int:
    """Return the number of processors that this process may use, at least one.

    Its CPU affinity and the quotas of its control group and of the groups above (cgroup v2,
    `cpu.max`, rounded up) limit the number: to 1 in a container with `--cpus 1`.
    """
    affinity = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min([affinity, *map(math.ceil, _quotas(own_groups, groups))]))


def _quotas(own_groups: Path, groups: Path) -> Iterator[float]:
    own = ""
    with suppress(OSError):  # not on other systems
        for line in own_groups.read_text().splitlines():
            if line.startswith("0::/"):
                own = line.removeprefix("0::/")
    for group in (groups / own, *(groups / own).parents):
        with suppress(OSError, ValueError, ZeroDivisionError):  # "max" is no limit
            quota, period = (group / "cpu.max").read_text().split()
            yield int(quota) / int(period)
