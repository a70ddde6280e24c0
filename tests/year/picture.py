"""The picture of a year: what grows, and what a request costs from month to month."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

_COLOURS = {"sqlite": "#0072b2", "postgres": "#d55e00"}
_NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}

Curve = Callable[[Mapping[str, float], int], float]

_CURVES: dict[str, Curve] = {
    "memory of the service, MiB": lambda month, _: month["memory_bytes"] / 2**20,
    "database, KiB an account": lambda month, accounts: month["file_bytes"] / 2**10 / accounts,
    "entries an account": lambda month, accounts: month["entries"] / accounts,
    "former states an account": lambda month, accounts: month["former_states"] / accounts,
    "poll with nothing new,\nµs of a processor": lambda month, _: month["poll_processor_us"],
    "change, µs of a processor": lambda month, _: month["change_processor_us"],
}


def draw(years: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the measurements at the end of each month, for each store."""
    figure, axes = plt.subplots(2, 3, figsize=(11, 6), layout="constrained")
    for place, (name, curve) in zip(axes.flat, _CURVES.items(), strict=True):
        for year in years:
            place.plot(
                [month["month"] for month in year["months"]],
                [curve(month, year["accounts"]) for month in year["months"]],
                marker=".",
                color=_COLOURS[year["store"]],
                label=f"{_NAMES[year['store']]}, {year['accounts']:,} accounts",
            )
        place.set_title(name)
        place.set_ylim(bottom=0)
        place.set_xlabel("month")
    axes.flat[0].legend(loc="lower left")
    figure.savefig(path, dpi=100)
