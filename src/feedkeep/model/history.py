"""The states that entries were in, from one change to the next.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model.entries import Entry
from feedkeep.model.values import Stamp, Value


class EntryState(Value, frozen=True):
    """An entry as it was from one change of it to the next.

    A change of stamps alone is none: the entry then goes on in the same state.

    Attributes:
        entry: The entry.
        began: Stamp of the change that brought it to this state; None if that was not loaded.
        author: Who made that change, as `service/authors` writes it; "" if that is not known.
        ended: Stamp of the change that ended this state; None while it lasts.
    """

    entry: Entry
    began: Stamp | None = None
    author: str = ""
    ended: Stamp | None = None


class History(Value, frozen=True):
    """States of a list's entries, in any order.

    Attributes:
        states: The states.
        known_from: The stamp from which on every state of the list is known.
    """

    states: Sequence[EntryState]
    known_from: Stamp


class HistoryPage(Value, frozen=True):
    """Some changes of a list that follow each other.

    Attributes:
        stamps: The stamps of the changes, newest first.
        states: Every state that one of these changes began or ended.
        known_from: The stamp from which on every state of the list is known.
    """

    stamps: Sequence[Stamp]
    states: Sequence[EntryState]
    known_from: Stamp
