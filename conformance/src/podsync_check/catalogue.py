"""All checks: each is one file in `checks/`, found by being there."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache

import podsync_check.checks
from podsync_check.checking import Check, Level


@cache
def all_checks() -> Sequence[Check]:
    """Return all checks, the gravest levels first, each level in the order of its names."""
    found = []
    for module in pkgutil.walk_packages(podsync_check.checks.__path__, "podsync_check.checks."):
        if module.ispkg:
            continue
        things = vars(importlib.import_module(module.name)).values()
        found += [thing.__check__ for thing in things if hasattr(thing, "__check__")]
    order = list(Level)
    return sorted(found, key=lambda check: (order.index(check.level), check.name))
