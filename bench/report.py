"""Results as Markdown tables and plots."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import apsw
import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from bench.growth import CASES, Grown
from bench.throughput import Calm, Result

_COLOURS = {"SQLite": "#0072b2", "PostgreSQL": "#d55e00"}
_PACKAGES = ("uvicorn", "httptools", "uvloop", "msgspec", "apsw", "asyncpg")


def machine() -> str:
    """Describe the machine and the versions of software."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{datetime.now(UTC):%Y-%m-%d}; {os.cpu_count()} processors, {model};"
        f" Python {platform.python_version()}, SQLite {apsw.sqlitelibversion()}, {packages}."
    )


def throughput_table(results: Sequence[Result]) -> str:
    """Return the ratios to the floor, with the values behind them."""
    rows = [
        (
            result.name,
            result.store,
            f"**{result.ratio:.2f}**",
            f"{min(result.ratios):.2f} to {max(result.ratios):.2f}",
            f"{result.per_second:,.0f}",
            f"{result.floor_per_second:,.0f}",
            f"{result.p50_us / 1e3:.1f} / {result.p99_us / 1e3:.1f}",
            f"{result.processor_us:.0f}",
        )
        for result in results
    ]
    names = ("case", "store", "ratio", "of all rounds", "requests/s", "floor, requests/s",
             "p50 / p99, ms", "processor, µs")  # fmt: skip
    return _table(names, rows)


def calm_table(results: Sequence[Calm]) -> str:
    """Return the delays at half of the maximum throughput."""
    rows = [
        (r.name, r.store, f"{r.per_second:,.0f}", f"{r.p50_us / 1e3:.2f}", f"{r.p99_us / 1e3:.2f}")
        for r in results
    ]
    return _table(("case", "store", "requests/s", "p50, ms", "p99, ms"), rows)


def growth_table(grown: Sequence[Grown]) -> str:
    """Return the costs of growth as a table."""
    rows = [
        (
            one.size,
            one.store,
            *(f"{one.costs[case.name]:.2f}" for case in CASES),
            f"{one.entry_bytes:.0f}",
            f"{one.memory_mib:.0f}",
            f"{one.start_seconds:.2f}",
        )
        for one in grown
    ]
    names = ("database", "store", *(case.name for case in CASES), "bytes an entry", "memory, MiB",
             "start, s")  # fmt: skip
    return _table(names, rows)


def plot_growth(grown: Sequence[Grown], path: Path) -> None:
    """Plot the cost of each request by size of the database."""
    figure, all_axes = plt.subplots(
        1, len(CASES), figsize=(11, 3.8), sharey=True, layout="constrained"
    )
    for axes, case in zip(all_axes, CASES, strict=True):
        for store, colour in _COLOURS.items():
            some = [one for one in grown if one.store == store]
            axes.plot(
                ["10,000 entries", *(one.size for one in some)],
                [1, *(one.costs[case.name] for one in some)],
                marker="o",
                color=colour,
                label=store,
            )
        axes.axhline(1.3, color="black", linewidth=1, linestyle="--")
        axes.set_title(case.name)
        axes.set_ylim(0, 2)
        axes.tick_params(axis="x", rotation=30)
    all_axes[0].set_ylabel("time of a request, 10,000 entries = 1")
    all_axes[0].legend()
    figure.savefig(path, dpi=120)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
