"""Which form tests have: the short one of `make test`, a longer one in CI, or the full one."""

from __future__ import annotations

import os

import pytest

_FORM = os.environ.get("FEEDKEEP_PROVE", "short")
IS_FULL = _FORM == "full"
IS_LONG = IS_FULL or _FORM == "long"

in_the_long_form = pytest.mark.long_form
"""Marks what a cheaper test shows, too: the short form does without it."""
