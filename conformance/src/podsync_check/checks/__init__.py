"""All checks and hard cases, found in the modules of this package, one for each topic."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from podsync_check.checking import Check, Level
from podsync_check.watching.hard_cases import HardCase


@cache
def all_checks() -> Sequence[Check]:
    """Return all checks of servers, by severity of the level, then by name."""
    order = list(Level)
    found: list[Check] = list(_marked("__check__"))
    return sorted(found, key=lambda check: (order.index(check.level), check.name))


@cache
def all_hard_cases() -> Sequence[HardCase]:
    """Return all hard cases for apps, starting with the ones that need only a sync."""
    found: list[HardCase] = list(_marked("__hard_case__"))
    return sorted(found, key=lambda case: (not case.asks.startswith("Let "), case.asks, case.name))


def _marked(name: str) -> Iterator[Any]:
    for module in pkgutil.walk_packages(__path__, "podsync_check.checks."):
        if not module.ispkg:
            things = vars(importlib.import_module(module.name)).values()
            yield from (getattr(thing, name) for thing in things if hasattr(thing, name))
