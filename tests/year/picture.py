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

Curve = Callable[[Mapping[str, float]], float]

_CURVES: dict[str, Curve] = {
    "memory of the service, MiB": lambda month: month["memory_bytes"] / 2**20,
    "database, MiB": lambda month: month["file_bytes"] / 2**20,
    "former states, thousands": lambda month: month["former_states"] / 1e3,
    "poll with nothing new,\nprocessor time, µs": lambda month: month["poll_processor_us"],
    "change, processor time, µs": lambda month: month["change_processor_us"],
    "change, time, µs": lambda month: month["change_wall_us"],
}


def draw(years: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw what was measured at the end of each month, for each store."""
    figure, axes = plt.subplots(2, 3, figsize=(11, 6), layout="constrained")
    for place, (name, curve) in zip(axes.flat, _CURVES.items(), strict=True):
        for year in years:
            months = year["months"]
            place.plot(
                [month["month"] for month in months],
                [curve(month) for month in months],
                marker=".",
                color=_COLOURS[year["store"]],
                label=_NAMES[year["store"]],
            )
        place.set_title(name)
        place.set_ylim(bottom=0)
        place.set_xlabel("month")
    axes.flat[0].legend()
    figure.savefig(path, dpi=120)
