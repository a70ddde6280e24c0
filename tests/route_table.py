"""All routes of all protocols, as tests that go through them need them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from stores import service_on

from feedkeep.config.settings import Settings
from feedkeep.edges import edges
from feedkeep.http.routing import Target, targets
from feedkeep.runtime import wall_clock

_NAME = re.compile(r"{(\w+)(?::((?:[^{}]|{[0-9]+})+))?}")


def all_routes() -> Iterator[Target]:
    """Yield every route that is no page; none of them can be asked, since there is no store."""
    return (target for target in _targets() if not target.edge.is_for_own_pages)


def all_pages() -> Iterator[Target]:
    """Yield the route of every page, and of every form on one."""
    return (target for target in _targets() if target.edge.is_for_own_pages)


def _targets() -> Iterator[Target]:
    return targets(edges(service_on(cast("Any", None), wall_clock.now), Settings()))


def bare(template: str) -> str:
    """Return a template without what its names stand for."""
    return _NAME.sub(r"{\1}", template)


def choices(template: str) -> dict[str, list[str]]:
    """Return the values of a template's parameters that list them."""
    return {
        name: stands_for.split("|")
        for name, stands_for in _NAME.findall(template)
        if "|" in stands_for
    }


def names_of(template: str) -> list[str]:
    """Return the names of a template that stand for any text without a slash."""
    return [name for name, stands_for in _NAME.findall(template) if not stands_for]


def path_of(template: str, values: Mapping[str, object]) -> str:
    """Return a path that a template matches."""
    return bare(template).format_map(values)
