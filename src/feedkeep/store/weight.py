"""How much a change has to deal with: rows that are loaded, not guids that are named. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sized

from feedkeep.model import KnownDocument
from feedkeep.runtime.cooperative import LONG_BYTES

MAX_ROWS_IN_A_BATCH = 2_000
"""How many rows the changes of several accounts load at most in a transaction that they share."""

FEW_ROWS = 100
"""Up to how many guids, or rows, a change is decided on the event loop: within a millisecond."""


def is_light(named: Sized | None, rows: int, documents: Iterable[KnownDocument]) -> bool:
    """Say whether a change is decided at once, by the guids it names and by what was loaded for it.

    One guid may lead to a thousand pointers, and one document name every feed that an app knows. A
    change of a whole account names no guids, and may add any number.
    """
    if named is None or max(len(named), rows) > FEW_ROWS:
        return False
    return sum(len(document.body or "") for document in documents) <= LONG_BYTES
