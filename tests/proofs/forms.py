"""Which form the proofs have: the short one of `make test`, or the full one of `make prove`."""

from __future__ import annotations

import os

IS_FULL = os.environ.get("FEEDKEEP_PROVE") == "full"
