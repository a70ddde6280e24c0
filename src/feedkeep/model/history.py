"""The states of entries between their changes."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.model.entries import Entry
from feedkeep.model.values import Stamp, Value


class EntryState(Value, frozen=True):
    """An entry as it was between two of its changes.

    A change of stamps alone does not count: the state continues.

    Attributes:
        began: Stamp of the change that began this state; None if that was not loaded.
        author: Author of that change, as `service/authors` writes it; "" if unknown.
        ended: Stamp of the change that ended this state; None while it lasts.
    """

    entry: Entry
    began: Stamp | None = None
    author: str = ""
    ended: Stamp | None = None


class History(Value, frozen=True):
    """States of a list's entries, in any order.

    Attributes:
        known_from: Stamp from which every state of the list is stored.
    """

    states: Sequence[EntryState]
    known_from: Stamp


class HistoryPage(Value, frozen=True):
    """Consecutive changes of a list.

    Attributes:
        stamps: Stamps of the changes, newest first.
        states: All states that one of these changes began or ended.
        known_from: Stamp from which every state of the list is stored.
    """

    stamps: Sequence[Stamp]
    states: Sequence[EntryState]
    known_from: Stamp
