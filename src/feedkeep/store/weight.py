"""The weight of a change: its loaded rows, not the guids that it names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sized

from feedkeep.model import KnownDocument
from feedkeep.runtime.cooperative import LONG_BYTES

MAX_ROWS_IN_A_BATCH = 2_000
"""Maximum number of rows that changes of several accounts load in a shared transaction."""

FEW_ROWS = 100
"""Maximum number of guids or rows of a change decided on the event loop, within 1 ms."""


def is_light(named: Sized | None, rows: int, documents: Iterable[KnownDocument]) -> bool:
    """Whether a change is decided on the event loop, by its guids and its loaded rows.

    A thousand pointers may resolve to one guid, and one document may name every feed of an app. A
    change of a whole account names no guids, and may add any number.
    """
    if named is None or max(len(named), rows) > FEW_ROWS:
        return False
    return sum(len(document.body or "") for document in documents) <= LONG_BYTES
