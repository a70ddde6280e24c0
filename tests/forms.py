"""Forms of the tests: the short one of `make test`, a longer one in CI, and the full one."""

from __future__ import annotations

import os
from typing import Any

import pytest

_FORM = os.environ.get("FEEDKEEP_PROVE", "short")
IS_FULL = _FORM == "full"
IS_LONG = IS_FULL or _FORM == "long"

in_the_long_form = pytest.mark.long_form
"""Marks tests that the short form skips, since a cheaper test shows the same."""


def first_of(first: object, *others: object) -> list[Any]:
    """Return the values of a parameter of which the short form takes the first one alone."""
    return [first, *(pytest.param(other, marks=in_the_long_form) for other in others)]
